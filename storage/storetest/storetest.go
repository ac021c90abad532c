// SPDX-License-Identifier: Apache-2.0

// Package storetest contains the tests that an implementation of [storage.Driver] must pass:
//
//	func TestDriver(t *testing.T) {
//		storetest.Run(t, "a", "b", func(t *testing.T) storetest.Open {
//			records := newRecords(t)
//			return func(namespace string) storage.Driver { return records.driver(namespace) }
//		})
//	}
package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Open returns a driver for a namespace, "" for all. All drivers of one Open use the same
// records, which begin empty and are removed after the test.
type Open func(namespace string) storage.Driver

// Run runs the tests. The namespaces a and b must exist and contain no records, and nothing
// else may use them. setup is called once for each test.
func Run(t *testing.T, a, b string, setup func(t *testing.T) Open) {
	t.Helper()
	suite{a: a, b: b, summaries: true}.run(t, setup)
}

// RunWithoutSummaries runs the tests for a driver that stores only the data that Helm stores:
// its lists have no summaries, and its records no holders.
func RunWithoutSummaries(t *testing.T, a, b string, setup func(t *testing.T) Open) {
	t.Helper()
	suite{a: a, b: b}.run(t, setup)
}

type suite struct {
	a, b      string
	summaries bool
}

func (s suite) run(t *testing.T, setup func(t *testing.T) Open) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"Read returns what Create wrote", s.roundTrip},
		{"Create of an existing key fails", s.createTwice},
		{"one of several concurrent Creates succeeds", s.createRace},
		{"a missing record is not found", s.missing},
		{"Update replaces the whole record", s.update},
		{"a pending record has a holder and a heartbeat", s.heartbeats},
		{"List filters by name, status and namespace", s.list},
		{"the newest and the deployed revision are found", s.newest},
		{"the newest revision of each release is listed", s.releases},
		{"a takeover changes the holder", s.takeOver},
		{"Update fails if the record has changed since it was read", s.guarded},
		{"a record that was deleted and created again has another version", s.recreated},
		{"concurrent updates do not mix", s.writers},
		{"History returns every revision with its summary", s.history},
		{"the oldest revisions are pruned", s.prune},
		{"a record may have many megabytes", s.large},
		{"List returns many records", s.many},
		{"a cancelled context ends calls", s.cancelled},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "_"), func(t *testing.T) { test.run(t, setup(t)) })
	}
}

// holder returns the Holder that the driver is expected to return for name.
func (s suite) holder(name string) string {
	if !s.summaries {
		return ""
	}
	return name
}

// Release returns a small release.
func Release(namespace, name string, revision int, status release.Status) *release.Release {
	r := release.New(name, namespace, revision, &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "nginx", Version: "1.2.3", AppVersion: "4.5"},
		Values:   map[string]any{"port": 80.0},
	})
	r.Info = release.Info{
		Status:        status,
		FirstDeployed: time.Unix(1700000000, 0).UTC(),
		LastDeployed:  time.Unix(1700000000+int64(revision), 5000).UTC(),
		Description:   fmt.Sprintf("revision %d of <%s>", revision, name),
	}
	r.Manifest = "---\n# Source: nginx/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name +
		"\n"
	return r
}

// Record encodes r, with a summary, or without as Helm does.
func Record(t *testing.T, r *release.Release, withSummary bool) storage.Record {
	t.Helper()
	data, err := release.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	rec := storage.Record{
		Key:    storage.Key{Namespace: r.Namespace, Name: r.Name, Revision: r.Revision},
		Status: r.Info.Status, Labels: r.Labels, Data: data,
	}
	if withSummary {
		sum, err := r.Summary()
		if err != nil {
			t.Fatal(err)
		}
		rec.Summary = &sum
	}
	return rec
}

// Create calls d.Create without returning the Version.
func Create(ctx context.Context, d storage.Driver, r storage.Record) error {
	_, err := d.Create(ctx, r)
	return err
}

// Update calls d.Update without returning the Version.
func Update(ctx context.Context, d storage.Driver, r storage.Record) error {
	_, err := d.Update(ctx, r)
	return err
}

// RenewHeartbeat renews the heartbeat of the current holder of a revision.
func RenewHeartbeat(ctx context.Context, st *storage.Storage, name string, revision int) error {
	seen, err := st.Heartbeat(ctx, name, revision)
	if err == nil {
		_, err = st.RenewHeartbeat(ctx, name, revision, seen, seen.Holder)
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s suite) roundTrip(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	r := Release(s.a, "web", 1, release.Deployed)
	r.Labels = map[string]string{"team": "blue"}
	want := Record(t, r, true)
	must(t, Create(ctx, d, want))
	got, err := d.Read(ctx, want.Key, "")
	must(t, err)
	if got.Key != want.Key || got.Status != want.Status || got.Labels["team"] != "blue" || len(got.Labels) != 1 ||
		!bytes.Equal(got.Data, want.Data) {
		t.Errorf("read back %+v", got)
	}
	list, err := d.List(ctx, storage.Query{})
	must(t, err)
	if len(list) != 1 || list[0].Data != nil || list[0].Key != want.Key || list[0].Labels["team"] != "blue" {
		t.Fatalf("listed %+v", list)
	}
	if again, err := d.Read(ctx, want.Key, list[0].Version); err != nil || !bytes.Equal(again.Data, want.Data) {
		t.Errorf("read what was listed: %v", err)
	}
	if sum := list[0].Summary; sum == nil && !s.summaries {
		return
	} else if sum == nil || sum.Chart != "nginx" || !sum.Updated.Equal(r.Info.LastDeployed) ||
		sum.Description != r.Info.Description || sum.AppVersion != "4.5" {
		t.Errorf("listed summary %+v", sum)
	}
}

func (s suite) createTwice(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	first := Record(t, Release(s.a, "web", 1, release.Deployed), true)
	must(t, Create(ctx, d, first))
	second := Record(t, Release(s.a, "web", 1, release.Failed), true)
	if err := Create(ctx, d, second); !errors.Is(err, storage.ErrExists) {
		t.Errorf("second Create: %v", err)
	}
	if got, err := d.Read(ctx, first.Key, ""); err != nil || got.Status != release.Deployed {
		t.Errorf("the first is gone: %+v, %v", got, err)
	}
}

func (s suite) createRace(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	rec := Record(t, Release(s.a, "web", 1, release.PendingInstall), true)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = Create(ctx, d, rec) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, storage.ErrExists):
			t.Errorf("a loser got %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d creators won", won)
	}
}

func (s suite) missing(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	rec := Record(t, Release(s.a, "ghost", 7, release.Deployed), true)
	_, err := d.Read(ctx, rec.Key, "")
	_, heartbeat := d.Heartbeat(ctx, rec.Key)
	_, renewal := d.RenewHeartbeat(ctx, rec.Key, storage.Heartbeat{Status: release.PendingInstall}, "")
	for verb, err := range map[string]error{
		"Read": err, "Update": Update(ctx, d, rec), "Delete": d.Delete(ctx, rec.Key, ""), "RenewHeartbeat": renewal,
		"Heartbeat": heartbeat,
	} {
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	st := storage.New(d, s.a)
	_, last := st.Get(ctx, "ghost", 0)
	_, history := st.History(ctx, "ghost", 0)
	for verb, err := range map[string]error{"Last": last, "History": history} {
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func (s suite) update(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	r := Release(s.a, "web", 1, release.PendingInstall)
	r.Labels = map[string]string{"old": "x"}
	must(t, Create(ctx, d, Record(t, r, true)))
	r.Info.Status, r.Info.Description, r.Labels = release.Deployed, "Install complete", map[string]string{"new": "y"}
	want := Record(t, r, true)
	must(t, Update(ctx, d, want))
	got, err := d.Read(ctx, want.Key, "")
	must(t, err)
	if got.Status != release.Deployed || got.Labels["new"] != "y" || len(got.Labels) != 1 ||
		!bytes.Equal(got.Data, want.Data) {
		t.Errorf("read back %+v", got)
	}
	list, err := d.List(ctx, storage.Query{Name: "web"})
	must(t, err)
	if len(list) != 1 || s.summaries && (list[0].Summary == nil || list[0].Summary.Description != "Install complete" ||
		list[0].Summary.Status != release.Deployed) {
		t.Errorf("listed %+v", list)
	}
	must(t, Update(ctx, d, Record(t, r, false)))
	list, err = d.List(ctx, storage.Query{Name: "web"})
	must(t, err)
	if len(list) != 1 || list[0].Summary != nil {
		t.Errorf("Update without a summary left the old one: %+v", list)
	}
}

func (s suite) heartbeats(t *testing.T, open Open) {
	r := Release(s.a, "web", 1, release.PendingInstall)
	r.Holder = "ann@laptop 17"
	began := time.Now()
	h := &heartbeatTest{suite: s, t: t, st: storage.New(open(s.a), s.a)}
	must(t, h.st.Create(t.Context(), r))
	first := h.current()
	if first.Status != release.PendingInstall || first.Holder != s.holder(r.Holder) || first.Token == "" ||
		first.Changed.Before(began.Add(-time.Minute)) || first.Changed.After(time.Now().Add(time.Minute)) {
		t.Errorf("after Create: %+v", first)
	}
	if got := h.current(); got != first {
		t.Errorf("reading changed the heartbeat: got %+v, want %+v", got, first)
	}
	second := h.renew(first, r.Holder)
	if second.Token == first.Token || second.Holder != s.holder(r.Holder) || second.Status != first.Status {
		t.Errorf("after RenewHeartbeat: %+v, before: %+v", second, first)
	}
	h.refuseOthers(first, second)
	h.checkRecord(r)
	h.otherHolders(second)
}

// heartbeatTest tests the heartbeat of revision 1 of release web.
type heartbeatTest struct {
	suite
	t  *testing.T
	st *storage.Storage
}

func (h *heartbeatTest) current() storage.Heartbeat {
	h.t.Helper()
	got, err := h.st.Heartbeat(h.t.Context(), "web", 1)
	must(h.t, err)
	return got
}

func (h *heartbeatTest) renew(seen storage.Heartbeat, holder string) storage.Heartbeat {
	h.t.Helper()
	next, err := h.st.RenewHeartbeat(h.t.Context(), "web", 1, seen, holder)
	must(h.t, err)
	if current := h.current(); current != next {
		h.t.Errorf("RenewHeartbeat returned %+v, Heartbeat returns %+v", next, current)
	}
	return next
}

// refuseOthers checks that only a client that has read the current heartbeat can renew it.
func (h *heartbeatTest) refuseOthers(old, current storage.Heartbeat) {
	h.t.Helper()
	for what, seen := range map[string]storage.Heartbeat{
		"an older heartbeat": old, "another holder": {Status: current.Status, Holder: "eve", Token: current.Token},
		"another status": {Status: release.PendingUpgrade, Holder: current.Holder, Token: current.Token},
	} {
		if _, err := h.st.RenewHeartbeat(h.t.Context(), "web", 1, seen, "eve"); !errors.Is(err, storage.ErrChanged) {
			h.t.Errorf("RenewHeartbeat of %s: got error %v, want ErrChanged", what, err)
		}
		if got := h.current(); got != current {
			h.t.Errorf("RenewHeartbeat of %s changed %+v to %+v", what, current, got)
		}
	}
}

// checkRecord checks that heartbeats leave the record as it is, and the holder out of it.
func (h *heartbeatTest) checkRecord(r *release.Release) {
	h.t.Helper()
	got, err := h.st.Get(h.t.Context(), "web", 1)
	must(h.t, err)
	if got.Holder != h.holder(r.Holder) || got.Manifest != r.Manifest || len(got.Labels) != 0 {
		h.t.Errorf("read back %+v", got)
	}
	if text, err := json.Marshal(got); err != nil || bytes.Contains(text, []byte(r.Holder)) {
		h.t.Errorf("the record contains the holder: %s, %v", text, err)
	}
	if list, err := h.st.Revisions(h.t.Context(), "web"); err != nil || len(list) != 1 ||
		list[0].Holder != h.holder(r.Holder) || (list[0].Summary != nil) != h.summaries {
		h.t.Errorf("listed %+v, %v", list, err)
	}
}

// otherHolders checks the heartbeat while another client takes over, uninstalls and finishes.
func (h *heartbeatTest) otherHolders(before storage.Heartbeat) {
	h.t.Helper()
	const holder = "bob@desk 18"
	ctx, t := h.t.Context(), h.t
	rec, err := h.st.Get(ctx, "web", 1)
	must(t, err)
	rec.Holder = holder
	must(t, h.st.Update(ctx, rec))
	if got := h.current(); got.Holder != h.holder(holder) || got.Token == before.Token {
		t.Errorf("after another client's Update: %+v, before: %+v", got, before)
	}
	rec.Info.Status = release.Uninstalling
	must(t, h.st.Update(ctx, rec))
	uninstalling := h.current()
	if got := h.renew(uninstalling, holder); got.Holder != h.holder(holder) || got.Token == uninstalling.Token {
		t.Errorf("while uninstalling: %+v, before: %+v", got, uninstalling)
	}
	rec.Info.Status, rec.Holder = release.Deployed, ""
	must(t, h.st.Update(ctx, rec))
	finished := h.current()
	if _, err := h.st.RenewHeartbeat(ctx, "web", 1, finished, holder); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("RenewHeartbeat of a finished record: got error %v, want ErrChanged", err)
	}
	if got := h.current(); got != finished || got.Holder != "" || got.Status != release.Deployed {
		t.Errorf("RenewHeartbeat of a finished record changed %+v to %+v", finished, got)
	}
	if got, err := h.st.Get(ctx, "web", 1); err != nil || got.Holder != "" {
		t.Errorf("read back %+v, %v", got, err)
	}
}

func (s suite) list(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	for _, r := range []*release.Release{
		Release(s.a, "web", 1, release.Superseded), Release(s.a, "web", 2, release.Deployed),
		Release(s.a, "db", 1, release.Deployed), Release(s.b, "web", 1, release.Deployed),
	} {
		must(t, Create(ctx, open(r.Namespace), Record(t, r, true)))
	}
	for _, test := range []struct {
		namespace string
		query     storage.Query
		want      []string
	}{
		{s.a, storage.Query{}, []string{s.a + "/db 1", s.a + "/web 1", s.a + "/web 2"}},
		{s.a, storage.Query{Name: "web"}, []string{s.a + "/web 1", s.a + "/web 2"}},
		{s.a, storage.Query{Status: release.Deployed}, []string{s.a + "/db 1", s.a + "/web 2"}},
		{s.a, storage.Query{Name: "web", Status: release.Superseded}, []string{s.a + "/web 1"}},
		{s.a, storage.Query{Name: "we"}, nil},
		{"", storage.Query{Name: "web"}, []string{s.a + "/web 1", s.a + "/web 2", s.b + "/web 1"}},
	} {
		records, err := open(test.namespace).List(ctx, test.query)
		must(t, err)
		var got []string
		for _, r := range records {
			if r.Namespace == s.a || r.Namespace == s.b {
				got = append(got, fmt.Sprintf("%s/%s %d", r.Namespace, r.Name, r.Revision))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%q %+v: got %v, wanted %v", test.namespace, test.query, got, test.want)
		}
	}
	must(t, d.Delete(ctx, storage.Key{Namespace: s.a, Name: "web", Revision: 2}, ""))
	if records, err := d.List(ctx, storage.Query{Name: "web"}); err != nil || len(records) != 1 {
		t.Errorf("after Delete: %+v, %v", records, err)
	}
}

func (s suite) writers(t *testing.T, open Open) {
	ctx := t.Context()
	base := storage.New(open(s.a), s.a)
	must(t, base.Create(ctx, Release(s.a, "web", 1, release.PendingUpgrade)))
	var wg sync.WaitGroup
	for w := range 5 {
		wg.Go(func() {
			st := storage.New(open(s.a), s.a)
			r := Release(s.a, "web", 1, release.Deployed)
			r.Labels = map[string]string{"writer": fmt.Sprint(w), fmt.Sprintf("only-%d", w): "x"}
			r.Info.Description = fmt.Sprint(w)
			for range 4 {
				err := st.Update(ctx, r)
				for errors.Is(err, storage.ErrChanged) { // another writer was faster
					var current *release.Release
					if current, err = st.Get(ctx, "web", 1); err == nil {
						r.Stored = current.Stored
						err = st.Update(ctx, r)
					}
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	whole := func() {
		got, err := base.Get(ctx, "web", 1)
		must(t, err)
		if w := got.Labels["writer"]; got.Info.Status == release.Deployed && (len(got.Labels) != 2 ||
			got.Info.Description != w || got.Labels["only-"+w] == "") {
			t.Errorf("a record of several writers: %q, %v", got.Info.Description, got.Labels)
		}
	}
	for range 10 {
		whole()
	}
	wg.Wait()
	whole()
	list, err := base.History(ctx, "web", 0)
	must(t, err)
	if len(list) != 1 || list[0].Description != list[0].Labels["writer"] {
		t.Errorf("listed %+v", list)
	}
}

func (s suite) cancelled(t *testing.T, open Open) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := open(s.a)
	rec := Record(t, Release(s.a, "web", 1, release.Deployed), true)
	_, list := d.List(ctx, storage.Query{})
	for verb, err := range map[string]error{"Create": Create(ctx, d, rec), "List": list} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}
