// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/store"
)

// Who may write Secrets in one namespace must not make an operation there work
// on another release, by a record that says that it is of that one.
func TestARecordIsOfTheReleaseThatItStandsAt(t *testing.T) {
	ctx := t.Context()
	memory := store.NewMemory("mine")
	data, err := release.Encode(release.New("theirs", "kube-system", 9, nil))
	if err != nil {
		t.Fatal(err)
	}
	forged := store.Record{Key: store.Key{Namespace: "mine", Name: "web", Revision: 1}, Status: release.Deployed, Data: data}
	if err := memory.Create(ctx, forged); err != nil {
		t.Fatal(err)
	}
	s := store.New(memory, "mine")
	for name, read := range map[string]func() (*release.Release, error){
		"by revision": func() (*release.Release, error) { return s.Get(ctx, "web", 1) },
		"the last":    func() (*release.Release, error) { return s.Last(ctx, "web") },
	} {
		r, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != "web" || r.Namespace != "mine" || r.Revision != 1 {
			t.Errorf("%s: it is revision %d of %s in %s", name, r.Revision, r.Name, r.Namespace)
		}
	}
}

func TestARecordThatNobodyCanReadHidesNoOther(t *testing.T) {
	ctx := t.Context()
	memory := store.NewMemory("mine")
	s := store.New(memory, "mine")
	if err := s.Create(ctx, release.New("good", "mine", 1, nil)); err != nil {
		t.Fatal(err)
	}
	spoiled := store.Record{Key: store.Key{Namespace: "mine", Name: "bad", Revision: 3}, Status: release.Failed, Data: []byte("?!")}
	if err := memory.Create(ctx, spoiled); err != nil {
		t.Fatal(err)
	}
	found, err := s.List(ctx, store.Filter{})
	if err != nil || len(found) != 2 || found[0].Name != "bad" || found[0].Status != release.Failed || found[0].Revision != 3 || found[1].Name != "good" {
		t.Errorf("listed %+v (%v)", found, err)
	}
	history, err := s.History(ctx, "bad", 0)
	if err != nil || len(history) != 1 || !strings.Contains(history[0].Description, "cannot be read: read release") {
		t.Errorf("history %+v (%v)", history, err)
	}
	if _, err := s.Last(ctx, "bad"); err == nil {
		t.Error("was read")
	}
}
