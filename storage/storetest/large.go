// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Noise returns n bytes of base64 text, which compression cannot make smaller than three
// quarters.
func Noise(n int) string {
	raw := make([]byte, n*3/4)
	_, _ = rand.Read(raw) // never fails
	return base64.StdEncoding.EncodeToString(raw)
}

// Large returns a record of about the given size. It is not compressed, which readers accept,
// to make tests fast.
func Large(t *testing.T, r *release.Release, size int) storage.Record {
	t.Helper()
	c, err := r.Chart()
	must(t, err)
	c.Files = nil
	rec := Record(t, r, true)
	text, err := json.Marshal(r)
	must(t, err)
	plain := len(text) * 4 / 3
	c.Files = []*chart.File{{Name: "noise", Data: []byte(Noise((size - plain) * 9 / 16))}}
	text, err = json.Marshal(r)
	must(t, err)
	rec.Data = []byte(base64.StdEncoding.EncodeToString(text))
	return rec
}

func (s suite) large(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	r := Release(s.a, "big", 1, release.PendingInstall)
	r.Labels = map[string]string{"team": "blue"}
	c, err := r.Chart()
	must(t, err)
	c.Files = []*chart.File{{Name: "noise", Data: []byte(Noise(large))}}
	must(t, storage.New(d, s.a).Create(ctx, r))
	// Read with another driver, whose cache is empty.
	got, err := storage.New(open(s.a), s.a).Get(ctx, "big", 1)
	must(t, err)
	if whole, err := got.Chart(); err != nil || !bytes.Equal(whole.Files[0].Data, c.Files[0].Data) ||
		got.Manifest != r.Manifest || got.Labels["team"] != "blue" {
		t.Errorf("read back another release, %v", err)
	}
	if err := storage.New(d, s.a).Create(ctx, Release(s.a, "big", 1, release.Failed)); !errors.Is(err, storage.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	r.Info.Status = release.Deployed
	for i, size := range []int{2 << 20, 100 << 10, 5 << 19, 3 << 19} {
		rec := Large(t, r, size)
		if i == 2 {
			d = open(s.a)
		}
		must(t, Update(ctx, d, rec))
		if back, err := open(s.a).Read(ctx, rec.Key, ""); err != nil || !bytes.Equal(back.Data, rec.Data) ||
			back.Status != release.Deployed {
			t.Errorf("%d bytes: read back %d, %v", size, len(back.Data), err)
		}
	}
	must(t, Create(ctx, d, Large(t, Release(s.a, "big", 2, release.Deployed), 6<<18)))
	unread := storage.New(unread{open(s.a)}, s.a)
	if !s.summaries {
		unread = storage.New(open(s.a), s.a)
	}
	if list, err := unread.List(ctx, storage.Filter{AllRevisions: true}); err != nil || len(list) != 2 ||
		list[0].Revision != 1 || list[0].Chart != "nginx" {
		t.Errorf("listed %+v, %v", list, err)
	}
	must(t, unread.Prune(ctx, "big", 1, nil))
	if _, err := d.Read(ctx, storage.Key{Namespace: s.a, Name: "big", Revision: 1}, ""); !errors.Is(err,
		storage.ErrNotFound) {
		t.Errorf("read what was pruned: %v", err)
	}
	must(t, d.Delete(ctx, storage.Key{Namespace: s.a, Name: "big", Revision: 2}, ""))
}
