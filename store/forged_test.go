// SPDX-License-Identifier: Apache-2.0

package store_test

import (
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
