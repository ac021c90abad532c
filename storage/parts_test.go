// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/internal/storagetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

func TestSecrets(t *testing.T)    { testAPI(t, storage.Secrets) }
func TestConfigMaps(t *testing.T) { testAPI(t, storage.ConfigMaps) }

func testAPI(t *testing.T, driver func(storage.API, string) *storage.Cluster) {
	var all []*storagetest.API
	storetest.Run(t, "a", "b", func(t *testing.T) storetest.Open {
		api := storagetest.NewAPI(time.Now)
		all = append(all, api)
		return func(namespace string) storage.Driver { return driver(api, namespace) }
	})
	for _, api := range all {
		records := map[string]bool{}
		for _, p := range api.Paths() {
			if record, _, part := cutPart(p); part && !records[record] {
				t.Errorf("left behind: %s", p)
			} else {
				records[p] = true
			}
		}
	}
}

// cutPart cuts ".generation.n" from a part's path.
func cutPart(path string) (record, rest string, ok bool) {
	head, rev, _ := strings.Cut(path, ".v1.")
	fields := strings.Split(rev, ".")
	if len(fields) != 4 {
		return path, "", false
	}
	return head + ".v1." + fields[0] + "." + fields[1], fields[2], true
}

// partSize is small, which makes tests with many parts fast.
const partSize = 4 << 10

// large returns a record of n Secrets.
func large(t *testing.T, status release.Status, secrets int) storage.Record {
	t.Helper()
	rec := storetest.Large(t, storetest.Release("a", "web", 1, status), secrets*partSize-partSize/2)
	if need := (len(rec.Data) + partSize - 1) / partSize; need != secrets {
		t.Fatalf("a record for %d Secrets takes %d", secrets, need)
	}
	return rec
}

func secrets(api storage.API) *storage.Cluster {
	return storage.SmallParts(storage.Secrets(api, "a"), partSize)
}

func create(t *testing.T, api storage.API, r storage.Record) {
	t.Helper()
	if err := storetest.Create(t.Context(), secrets(api), r); err != nil {
		t.Fatal(err)
	}
}

var web1 = storage.Key{Namespace: "a", Name: "web", Revision: 1}

var errKilled = errors.New("killed")

// kill lets n requests pass and fails later ones, as if the client had died. It returns a
// counter of the requests.
func kill(api *storagetest.API, n int) (requests func() int) {
	var count atomic.Int32
	api.Intercept(func(string, string) error {
		if count.Add(1) > int32(n) {
			return errKilled
		}
		return nil
	}, nil)
	return func() int { return int(count.Load()) }
}

func TestUpdateKilled(t *testing.T) {
	for _, test := range []struct{ from, to int }{{1, 3}, {3, 1}, {3, 2}, {2, 4}} {
		t.Run(fmt.Sprintf("from %d to %d Secrets", test.from, test.to), func(t *testing.T) {
			old, next := large(t, release.Deployed, test.from), large(t, release.Superseded, test.to)
			switched := false
			for n, done := 0, false; !done; n++ {
				api := storagetest.NewAPI(time.Now)
				create(t, api, old)
				requests := kill(api, n)
				failed := storetest.Update(t.Context(), secrets(api), next)
				done = requests() <= n
				api.Intercept(nil, nil)
				got, err := secrets(api).Read(t.Context(), web1, "")
				if err != nil {
					t.Fatalf("killed after request %d: %v", n, err)
				}
				want := old
				if got.Status == next.Status {
					want, switched = next, true
				} else if switched || failed == nil {
					t.Errorf("killed after request %d: the old record again, %v", n, failed)
				}
				if !bytes.Equal(got.Data, want.Data) {
					t.Errorf("killed after request %d: half of each record", n)
				}
				if list, err := secrets(api).List(t.Context(), storage.Query{}); err != nil || len(list) != 1 || list[0].Status != got.Status {
					t.Errorf("killed after request %d: listed %+v, %v", n, list, err)
				}
				if err := storetest.Update(t.Context(), secrets(api), next); err != nil {
					t.Errorf("killed after request %d: the next update: %v", n, err)
				}
			}
			if !switched {
				t.Error("the update never got through")
			}
		})
	}
}

func TestCreateKilled(t *testing.T) {
	r := large(t, release.PendingInstall, 3)
	r.Holder = "someone"
	for n, done := 0, false; !done; n++ {
		api := storagetest.NewAPI(time.Now)
		requests := kill(api, n)
		failed := storetest.Create(t.Context(), secrets(api), r)
		done = requests() <= n
		api.Intercept(nil, nil)
		fresh := storage.New(secrets(api), "a")
		got, err := fresh.Get(t.Context(), "web", 0)
		switch {
		case errors.Is(err, storage.ErrNotFound) && failed != nil:
			continue
		case err != nil:
			t.Errorf("killed after request %d: %v", n, err)
			continue
		}
		whole, err := got.Chart()
		if err != nil || failed == nil && len(whole.Files) != 1 {
			t.Errorf("killed after request %d: half a record, %v", n, err)
		}
		if got.Info.Status != release.PendingInstall || got.Holder != "someone" || got.Manifest == "" || whole.Metadata.Name != "nginx" {
			t.Errorf("killed after request %d: %+v", n, got)
		}
		got.Info.Status, got.Holder = release.Failed, ""
		if err := fresh.Update(t.Context(), got); err != nil {
			t.Errorf("killed after request %d: marking it as failed: %v", n, err)
		}
	}
}

func TestCreateFails(t *testing.T) {
	api := storagetest.NewAPI(time.Now)
	var posts atomic.Int32
	api.Intercept(func(method, _ string) error {
		if method == http.MethodPost && posts.Add(1) == 3 {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("quota"))
		}
		return nil
	}, nil)
	err := storetest.Create(t.Context(), secrets(api), large(t, release.PendingInstall, 4))
	if !apierrors.IsForbidden(err) || len(api.Paths()) != 0 {
		t.Errorf("%v, left: %q", err, api.Paths())
	}
}

func TestUpdateLostResponse(t *testing.T) {
	api := storagetest.NewAPI(time.Now)
	create(t, api, large(t, release.PendingInstall, 2))
	api.Intercept(nil, func(method, _ string) error {
		if method == http.MethodPut {
			return errors.New("connection reset")
		}
		return nil
	})
	next := large(t, release.Deployed, 3)
	if err := storetest.Update(t.Context(), secrets(api), next); err == nil {
		t.Error("no error")
	}
	api.Intercept(nil, nil)
	if got, err := secrets(api).Read(t.Context(), web1, ""); err != nil || !bytes.Equal(got.Data, next.Data) {
		t.Errorf("%v", err)
	}
}

func TestConcurrentLargeUpdates(t *testing.T) {
	api := storagetest.NewAPI(time.Now)
	create(t, api, large(t, release.PendingInstall, 2))
	var wg sync.WaitGroup
	wrote := make([]storage.Record, 4)
	for i := range wrote {
		wrote[i] = large(t, release.Deployed, 1+i)
		wg.Go(func() {
			for range 3 {
				err := storetest.Update(t.Context(), secrets(api), wrote[i])
				for errors.Is(err, storage.ErrChanged) { // another writer was faster
					err = storetest.Update(t.Context(), secrets(api), wrote[i])
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if _, err := secrets(api).Read(t.Context(), web1, ""); err != nil {
			t.Errorf("read meanwhile: %v", err)
		}
	}
	wg.Wait()
	got, err := secrets(api).Read(t.Context(), web1, "")
	if err != nil || !slices.ContainsFunc(wrote, func(w storage.Record) bool { return bytes.Equal(w.Data, got.Data) }) {
		t.Errorf("a record that no one wrote, %v", err)
	}
}

func TestPartError(t *testing.T) {
	api := storagetest.NewAPI(time.Now)
	create(t, api, large(t, release.Deployed, 3))
	second := slices.IndexFunc(api.Paths(), func(p string) bool { return strings.HasSuffix(p, ".2") })
	path := api.Paths()[second]
	api.Remove(path)
	_, err := secrets(api).Read(t.Context(), web1, "")
	var part *storage.PartError
	if !errors.As(err, &part) || errors.Is(err, storage.ErrNotFound) || part.Part != 2 || !strings.Contains(err.Error(), path[strings.LastIndexByte(path, '/')+1:]) {
		t.Errorf("%v", err)
	}
	if list, err := secrets(api).List(t.Context(), storage.Query{}); err != nil || len(list) != 1 {
		t.Errorf("listed %+v, %v", list, err)
	}
	if err := secrets(api).Delete(t.Context(), web1, ""); err != nil || len(api.Paths()) != 0 {
		t.Errorf("delete: %v, left: %q", err, api.Paths())
	}
}

func TestLeftoverParts(t *testing.T) {
	now := time.Now()
	api := storagetest.NewAPI(func() time.Time { return now })
	create(t, api, large(t, release.Deployed, 2))
	kill(api, 4) // before the switch
	if err := storetest.Update(t.Context(), secrets(api), large(t, release.Deployed, 5)); err == nil {
		t.Fatal("not killed")
	}
	api.Intercept(nil, nil)
	left := len(api.Paths())
	if left < 3 {
		t.Fatalf("nothing was left behind: %q", api.Paths())
	}
	next := large(t, release.Deployed, 2)
	if err := storetest.Update(t.Context(), secrets(api), next); err != nil || len(api.Paths()) != left {
		t.Errorf("young parts, which may be someone's: %v, %q", err, api.Paths())
	}
	now = now.Add(2 * time.Hour)
	if err := storetest.Update(t.Context(), secrets(api), next); err != nil || len(api.Paths()) != 2 {
		t.Errorf("old parts: %v, %q", err, api.Paths())
	}
}

func TestTooLargeError(t *testing.T) {
	r := storetest.Record(t, storetest.Release("a", "big", 1, release.Deployed), true)
	r.Data = make([]byte, 65<<20)
	err := storetest.Create(t.Context(), storage.Secrets(nil, "a"), r)
	var big *storage.TooLargeError
	if !errors.As(err, &big) || big.Name != "big" || !strings.Contains(err.Error(), "65536 KiB") {
		t.Errorf("Create: %v", err)
	}
}

// Heartbeats work with the permissions that Helm needs, without patch for Secrets.
func TestHeartbeatWithoutPatchPermission(t *testing.T) {
	api := storagetest.NewAPI(time.Now)
	patches := 0
	api.Intercept(func(method, path string) error {
		if method != http.MethodPatch {
			return nil
		}
		patches++
		return fmt.Errorf("refused: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, path, errors.New("no right")))
	}, nil)
	st := storage.New(storage.Secrets(api, "a"), "a")
	r := storetest.Release("a", "web", 1, release.PendingUpgrade)
	r.Holder = "someone"
	if err := st.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		p, err := st.Heartbeat(t.Context(), "web", 1)
		if err != nil || seen[p.Token] || p.Holder != "someone" {
			t.Errorf("%+v, %v", p, err)
		}
		seen[p.Token] = true
		if err := storetest.RenewHeartbeat(t.Context(), st, "web", 1); err != nil {
			t.Error(err)
		}
	}
	if got, err := st.Get(t.Context(), "web", 1); err != nil || got.Manifest != r.Manifest || patches != 1 {
		t.Errorf("%v, %d tries to patch", err, patches)
	}
}

// A heartbeat does not overwrite a concurrent update.
func TestHeartbeatDuringUpdate(t *testing.T) {
	for _, mayPatch := range []bool{true, false} {
		api := storagetest.NewAPI(time.Now)
		st := storage.New(storage.Secrets(api, "a"), "a")
		r := storetest.Release("a", "web", 1, release.PendingUpgrade)
		r.Holder = "someone"
		if err := st.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		done := false
		api.Intercept(func(method, path string) error {
			if method == http.MethodPatch && !mayPatch {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, path, errors.New("no right"))
			}
			if (method == http.MethodPatch || method == http.MethodPut) && !done {
				done = true
				r.Info.Status, r.Holder = release.Deployed, ""
				return st.Update(context.Background(), r)
			}
			return nil
		}, nil)
		if err := storetest.RenewHeartbeat(t.Context(), st, "web", 1); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("a heartbeat on what was changed meanwhile: %v", err)
		}
		if p, err := st.Heartbeat(t.Context(), "web", 1); err != nil || p.Holder != "" || p.Token != "" || p.Status != release.Deployed {
			t.Errorf("%+v, %v", p, err)
		}
	}
}
