// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

func (s suite) newest(t *testing.T, open Open) {
	ctx, st := t.Context(), storage.New(open(s.a), s.a)
	for i, status := range []release.Status{release.Superseded, release.Deployed, release.Failed} {
		r := Release(s.a, "web", i+1, status)
		r.Labels = map[string]string{"n": fmt.Sprint(i + 1)}
		must(t, st.Create(ctx, r))
	}
	// Ten comes after nine, not after one.
	must(t, st.Create(ctx, Release(s.a, "web", 10, release.PendingUpgrade)))
	last, err := st.Get(ctx, "web", 0)
	must(t, err)
	// For Helm a negative revision is the newest: get --revision=-1.
	if negative, err := st.Get(ctx, "web", -1); err != nil || negative.Revision != last.Revision {
		t.Errorf("revision -1: got %+v, %v, want revision %d", negative, err, last.Revision)
	}
	deployed, err := st.Deployed(ctx, "web")
	must(t, err)
	if last.Revision != 10 || deployed.Revision != 2 || deployed.Labels["n"] != "2" {
		t.Errorf("newest %d, deployed %d with labels %v", last.Revision, deployed.Revision, deployed.Labels)
	}
	if revisions, err := numbers(ctx, st, "web"); err != nil || !slices.Equal(revisions, []int{1, 2, 3, 10}) {
		t.Errorf("revisions %v, %v", revisions, err)
	}
	history, err := st.History(ctx, "web", 2)
	must(t, err)
	if len(history) != 2 || history[0].Revision != 3 || history[1].Revision != 10 ||
		history[1].Status != release.PendingUpgrade {
		t.Errorf("history %+v", history)
	}
	deployed.Info.Status = release.Superseded
	must(t, st.Update(ctx, deployed))
	if _, err := st.Deployed(ctx, "web"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("still deployed: %v", err)
	}
	must(t, st.Delete(ctx, "web", 10, ""))
	if last, err := st.Get(ctx, "web", 0); err != nil || last.Revision != 3 {
		t.Errorf("newest after Delete: %+v, %v", last, err)
	}
}

func numbers(ctx context.Context, st *storage.Storage, name string) ([]int, error) {
	records, err := st.Revisions(ctx, name)
	var out []int
	for _, r := range records {
		out = append(out, r.Revision)
	}
	return out, err
}

func (s suite) releases(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	old := Release(s.a, "web", 1, release.Superseded)
	old.Labels = map[string]string{"tier": "front"}
	web := Release(s.a, "web", 2, release.Deployed)
	web.Labels = map[string]string{"tier": "back"}
	must(t, Create(ctx, d, Record(t, old, true)))
	must(t, Create(ctx, d, Record(t, web, false))) // as Helm writes it
	must(t, Create(ctx, d, Record(t, Release(s.a, "db", 4, release.Failed), true)))
	st := storage.New(d, s.a)
	names := func(f storage.Filter) string {
		list, err := st.List(ctx, f)
		must(t, err)
		var out []string
		for _, r := range list {
			if r.Namespace != s.a || r.ChartName() != "nginx-1.2.3" || r.Description == "" || r.Updated.IsZero() {
				t.Errorf("listed %+v", r)
			}
			out = append(out, fmt.Sprintf("%s.%d", r.Name, r.Revision))
		}
		return strings.Join(out, " ")
	}
	tier := func(want string) func(map[string]string) bool {
		return func(l map[string]string) bool { return l["tier"] == want }
	}
	for _, test := range []struct {
		filter storage.Filter
		want   string
	}{
		{storage.Filter{}, "db.4 web.2"},
		{storage.Filter{Statuses: []release.Status{release.Failed}}, "db.4"},
		{storage.Filter{Statuses: []release.Status{release.Superseded}}, ""},
		{storage.Filter{AllRevisions: true, Statuses: []release.Status{release.Superseded}}, "web.1"},
		{storage.Filter{Match: tier("back")}, "web.2"},
		{storage.Filter{Match: tier("front")}, ""},
		{storage.Filter{Name: func(n string) bool { return n != "web" }}, "db.4"},
	} {
		if got := names(test.filter); got != test.want {
			t.Errorf("%+v: got %q, wanted %q", test.filter, got, test.want)
		}
	}
}

func (s suite) history(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	for i := 1; i <= 4; i++ {
		r := Release(s.a, "web", i, release.Superseded)
		r.Info.Description = fmt.Sprintf("Jürgen’s %d. 💡\n\"<&>\"", i)
		r.Info.RollbackRevision = i - 1
		r.Labels = map[string]string{"n": fmt.Sprint(i)}
		must(t, Create(ctx, d, Record(t, r, i%2 == 0))) // half of them as Helm writes them
	}
	st := storage.New(d, s.a)
	for _, newest := range []int{0, 1, 3, 9} {
		history, err := st.History(ctx, "web", newest)
		must(t, err)
		first := 1
		if newest > 0 {
			first = max(1, 5-newest)
		}
		if len(history) != 5-first {
			t.Errorf("the newest %d are %d", newest, len(history))
			continue
		}
		for i, h := range history {
			n := first + i
			want := Release(s.a, "web", n, release.Superseded)
			if h.Revision != n || h.RollbackRevision != n-1 ||
				h.Description != fmt.Sprintf("Jürgen’s %d. 💡\n\"<&>\"", n) ||
				h.Labels["n"] != fmt.Sprint(n) ||
				!h.Updated.Equal(want.Info.LastDeployed) || h.ChartName() != "nginx-1.2.3" || h.AppVersion != "4.5" ||
				h.Namespace != s.a {
				t.Errorf("the newest %d, revision %d: %+v", newest, n, h)
			}
		}
	}
}

// unread is a driver whose Read fails.
type unread struct{ storage.Driver }

func (unread) Read(context.Context, storage.Key, string) (storage.Record, error) {
	return storage.Record{}, errors.New("a record was read")
}

func (s suite) prune(t *testing.T, open Open) {
	ctx, st := t.Context(), storage.New(unread{open(s.a)}, s.a)
	if !s.summaries {
		st = storage.New(open(s.a), s.a) // each is read before it is deleted
	}
	for i := 1; i <= 12; i++ {
		status := release.Superseded
		if i == 3 {
			status = release.Deployed // and nine failed revisions
		}
		must(t, st.Create(ctx, Release(s.a, "web", i, status)))
	}
	must(t, st.Create(ctx, Release(s.a, "web2", 1, release.Superseded)))
	deployed := func(r storage.Record) bool { return r.Status == release.Deployed }
	for _, test := range []struct {
		most int
		keep func(storage.Record) bool
		want []int
	}{
		{0, nil, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{20, nil, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{10, deployed, []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{4, deployed, []int{3, 10, 11, 12}},
		{4, nil, []int{3, 10, 11, 12}},
		{2, nil, []int{11, 12}},
		{1, func(storage.Record) bool { return true }, []int{11, 12}},
	} {
		must(t, st.Prune(ctx, "web", test.most, test.keep))
		if left, err := numbers(ctx, st, "web"); err != nil || !slices.Equal(left, test.want) {
			t.Errorf("pruned to %d: %v are left, wanted %v; %v", test.most, left, test.want, err)
		}
	}
	if left, err := numbers(ctx, st, "web2"); err != nil || len(left) != 1 {
		t.Errorf("another release lost revisions: %v, %v", left, err)
	}
	if err := st.Prune(ctx, "ghost", 1, nil); err != nil {
		t.Errorf("a release without revisions: %v", err)
	}
}

func (s suite) many(t *testing.T, open Open) {
	if testing.Short() {
		t.Skip("short: writes 600 records")
	}
	ctx, d := t.Context(), open(s.a)
	rec := Record(t, Release(s.a, "web", 1, release.Superseded), true)
	var wg sync.WaitGroup
	const n = 600 // more than one page of a cluster's list
	for w := range 8 {
		wg.Go(func() {
			for i := w + 1; i <= n; i += 8 {
				r := rec
				r.Revision = i
				if err := Create(ctx, d, r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	revisions, err := numbers(ctx, storage.New(d, s.a), "web")
	must(t, err)
	if len(revisions) != n || revisions[0] != 1 || revisions[n-1] != n {
		t.Errorf("%d revisions, wanted %d", len(revisions), n)
	}
}
