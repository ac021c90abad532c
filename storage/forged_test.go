// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/storagetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

// A user who may write Secrets in a namespace must not make an operation change another release
// with a record that claims to be that one's.
func TestKeyOverridesData(t *testing.T) {
	ctx := t.Context()
	memory := storage.NewMemory("mine")
	data, err := release.Encode(release.New("theirs", "kube-system", 9, nil))
	if err != nil {
		t.Fatal(err)
	}
	forged := storage.Record{Key: storage.Key{Namespace: "mine", Name: "web", Revision: 1}, Status: release.Deployed, Data: data}
	if err := storetest.Create(ctx, memory, forged); err != nil {
		t.Fatal(err)
	}
	s := storage.New(memory, "mine")
	for name, read := range map[string]func() (*release.Release, error){
		"by revision": func() (*release.Release, error) { return s.Get(ctx, "web", 1) },
		"the last":    func() (*release.Release, error) { return s.Get(ctx, "web", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := read()
			if err != nil {
				t.Fatal(err)
			}
			if r.Name != "web" || r.Namespace != "mine" || r.Revision != 1 {
				t.Errorf("%s: it is revision %d of %s in %s", name, r.Revision, r.Name, r.Namespace)
			}
		})
	}
}

func TestListUnreadableRecord(t *testing.T) {
	ctx := t.Context()
	memory := storage.NewMemory("mine")
	s := storage.New(memory, "mine")
	if err := s.Create(ctx, release.New("good", "mine", 1, nil)); err != nil {
		t.Fatal(err)
	}
	spoiled := storage.Record{Key: storage.Key{Namespace: "mine", Name: "bad", Revision: 3}, Status: release.Failed, Data: []byte("?!")}
	if err := storetest.Create(ctx, memory, spoiled); err != nil {
		t.Fatal(err)
	}
	found, err := s.List(ctx, storage.Filter{})
	if err != nil || len(found) != 2 || found[0].Name != "bad" || found[0].Status != release.Failed || found[0].Revision != 3 || found[1].Name != "good" {
		t.Errorf("listed %+v (%v)", found, err)
	}
	history, err := s.History(ctx, "bad", 0)
	if err != nil || len(history) != 1 || !strings.Contains(history[0].Description, "damaged: read release") {
		t.Errorf("history %+v (%v)", history, err)
	}
	if _, err := s.Get(ctx, "bad", 0); err == nil {
		t.Error("was read")
	}
}

// A heartbeat in the future would lock a pending release until then.
func TestFutureTimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		labels string
		want   time.Time
	}{
		"its labels tell":                 {`"modifiedAt":"` + fmt.Sprint(now.Add(-time.Minute).Unix()) + `"`, now.Add(-time.Minute)},
		"a clock that is a little ahead":  {`"modifiedAt":"` + fmt.Sprint(now.Add(30*time.Second).Unix()) + `"`, now},
		"changed in the future":           {`"modifiedAt":"4102444800"`, now.Add(-10 * time.Minute)},
		"made in the future":              {`"createdAt":"4102444800"`, now.Add(-10 * time.Minute)},
		"changed beyond all times":        {`"modifiedAt":"9223372036854775807"`, now.Add(-10 * time.Minute)},
		"made in the future, changed now": {`"createdAt":"4102444800","modifiedAt":"` + fmt.Sprint(now.Unix()) + `"`, now},
		"no numbers":                      {`"createdAt":"soon","modifiedAt":""`, now.Add(-10 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			clock := now.Add(-10 * time.Minute)
			api := storagetest.NewAPI(func() time.Time { return clock })
			body := `{"metadata":{"name":"sh.helm.release.v1.web.v1","labels":{"name":"web","owner":"helm","version":"1","status":"pending-upgrade",` + c.labels + `}},"data":{}}`
			if _, err := api.Call(t.Context(), http.MethodPost, "/api/v1/namespaces/a/secrets", nil, nil, []byte(body)); err != nil {
				t.Fatal(err)
			}
			secrets := storage.Secrets(api, "a")
			storage.ClusterClock(secrets, func() time.Time { return now })
			p, err := secrets.Heartbeat(t.Context(), storage.Key{Namespace: "a", Name: "web", Revision: 1})
			if err != nil || !p.Changed.Equal(c.want) {
				t.Errorf("changed at %s, want %s, %v", p.Changed.UTC(), c.want, err)
			}
		})
	}
}

// The largest revision number hides no revision, and is shown unchanged.
func TestInvalidRevisions(t *testing.T) {
	ctx, memory := t.Context(), storage.NewMemory("mine")
	s := storage.New(memory, "mine")
	for _, n := range []int{1, 2, math.MaxInt, -1, 0} {
		if err := s.Create(ctx, release.New("web", "mine", n, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := s.Get(ctx, "web", 0); err != nil || last.Revision != 2 {
		t.Errorf("the newest is %+v, %v", last, err)
	}
	if found, err := s.List(ctx, storage.Filter{}); err != nil || len(found) != 1 || found[0].Revision != 2 {
		t.Errorf("listed %+v, %v", found, err)
	}
	history, err := s.History(ctx, "web", 0)
	if err != nil || len(history) != 5 {
		t.Fatalf("history %+v, %v", history, err)
	}
	for _, h := range history {
		if damaged := strings.HasPrefix(h.Description, "damaged: "); damaged == release.ValidRevision(h.Revision) {
			t.Errorf("revision %d: %q", h.Revision, h.Description)
		}
	}
}

// A record that exceeds the memory of a command is shown as damaged, and others are not
// affected.
func TestListTooLargeRecord(t *testing.T) {
	ctx, memory := t.Context(), storage.NewMemory("mine")
	s := storage.New(memory, "mine")
	if err := s.Create(ctx, release.New("good", "mine", 1, nil)); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	fmt.Fprintf(gz, `{"name":"bad","info":{"description":"%s"}}`, strings.Repeat("A", 20<<20))
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	data := []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))
	rec := storage.Record{Key: storage.Key{Namespace: "mine", Name: "bad", Revision: 3}, Status: release.Deployed, Data: data}
	if err := storetest.Create(ctx, memory, rec); err != nil {
		t.Fatal(err)
	}
	found, err := s.List(ctx, storage.Filter{})
	if err != nil || len(found) != 2 || found[1].Name != "good" || !strings.HasPrefix(found[0].Description, "damaged: ") || !found[0].Damaged || found[1].Damaged || found[0].Status != release.Deployed {
		t.Errorf("listed %+v (%v)", found, err)
	}
}
