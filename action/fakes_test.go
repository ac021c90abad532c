// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// callLog logs the calls of all fakes of one test, in order.
type callLog struct {
	mu    sync.Mutex
	lines []string
	// fail contains errors by step; onStep is called before each step.
	fail   map[string]error
	onStep func(step string)
	// onMoment is called before and after each write, where a client may be killed.
	onMoment func(moment string)
}

// step logs a call, and returns its error: that of ctx if it has ended, as a server would, or
// the one in fail.
func (d *callLog) step(ctx context.Context, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	d.moment(line)
	if d.onStep != nil {
		d.onStep(line)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		d.lines = append(d.lines, line+": "+err.Error())
		return err
	}
	d.lines = append(d.lines, line)
	return d.fail[line]
}

func (d *callLog) moment(what string) {
	if d.onMoment != nil {
		d.onMoment(what)
	}
}

func (d *callLog) want(t testing.TB, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("calls:\n  %s\nwant:\n  %s", strings.Join(d.lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantWrites is want for the calls that change something.
func (d *callLog) wantWrites(t testing.TB, want ...string) {
	t.Helper()
	if got := d.writes(); !slices.Equal(got, want) {
		t.Errorf("writes:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// writes returns the calls that change something.
func (d *callLog) writes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, l := range d.lines {
		switch verb, _, _ := strings.Cut(l, " "); verb {
		case "capabilities", "lookup", "missing", "plan", "plan-crds", "compare-crds", "permissions", "lock", "unlock", "guard", "check-holder":
		default:
			out = append(out, l)
		}
	}
	return out
}

// contains reports whether a call was made.
func (d *callLog) contains(step string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.lines, step)
}

// reset clears the log.
func (d *callLog) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = nil
}

// fakeRecords stores releases in memory, encoded as a server would.
type fakeRecords struct {
	*callLog
	Lister
	HistoryReader
	lock.Records
	mu   sync.Mutex
	kept map[string]*release.Release
	// listed are the listed statuses that differ from those in the records.
	listed map[string]release.Status
	// changed are the records that another client has changed since they were read.
	changed map[string]bool
}

// change changes a record as another client would.
func (r *fakeRecords) change(key string, how func(*release.Release)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how(r.kept[key])
	r.changed[key] = true
}

func newFakeRecords(d *callLog, have ...*release.Release) *fakeRecords {
	r := &fakeRecords{callLog: d, kept: map[string]*release.Release{}, changed: map[string]bool{}}
	for _, rel := range have {
		r.kept[key(rel.Name, rel.Revision)] = roundTrip(rel)
	}
	return r
}

// roundTrip returns a release after encoding and decoding.
func roundTrip(rel *release.Release) *release.Release {
	text, err := json.Marshal(rel)
	if err != nil {
		panic(err)
	}
	out := &release.Release{}
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	out.Labels, out.Holder = maps.Clone(rel.Labels), rel.Holder
	return out
}

func key(name string, revision int) string { return fmt.Sprintf("%s.v%d", name, revision) }

func (r *fakeRecords) all(name string) []int {
	var out []int
	for _, rel := range r.kept {
		if rel.Name == name {
			out = append(out, rel.Revision)
		}
	}
	slices.Sort(out)
	return out
}

func (r *fakeRecords) Get(ctx context.Context, name string, revision int) (*release.Release, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.all(name); revision == 0 && len(all) > 0 {
		revision = all[len(all)-1]
	}
	if rel := r.kept[key(name, revision)]; rel != nil {
		delete(r.changed, key(name, revision))
		return roundTrip(rel), nil
	}
	return nil, &storage.NotFoundError{Key: storage.Key{Name: name, Namespace: "ns", Revision: revision}}
}

func (r *fakeRecords) Create(ctx context.Context, rel *release.Release) error {
	if err := r.step(ctx, "create %s %s", key(rel.Name, rel.Revision), rel.Info.Status); err != nil {
		return err
	}
	r.mu.Lock()
	if r.kept[key(rel.Name, rel.Revision)] != nil {
		r.mu.Unlock()
		return fmt.Errorf("%w: %s", storage.ErrExists, key(rel.Name, rel.Revision))
	}
	r.kept[key(rel.Name, rel.Revision)] = roundTrip(rel)
	r.mu.Unlock()
	r.moment("created " + key(rel.Name, rel.Revision))
	return nil
}

func (r *fakeRecords) Update(ctx context.Context, rel *release.Release) error {
	if err := r.step(ctx, "update %s %s", key(rel.Name, rel.Revision), rel.Info.Status); err != nil {
		return err
	}
	r.mu.Lock()
	if r.kept[key(rel.Name, rel.Revision)] == nil {
		r.mu.Unlock()
		return &storage.NotFoundError{Key: storage.Key{Name: rel.Name, Namespace: "ns", Revision: rel.Revision}}
	}
	if r.changed[key(rel.Name, rel.Revision)] {
		r.mu.Unlock()
		return storage.ErrChanged
	}
	r.kept[key(rel.Name, rel.Revision)] = roundTrip(rel)
	delete(r.listed, key(rel.Name, rel.Revision))
	r.mu.Unlock()
	r.moment("updated " + key(rel.Name, rel.Revision))
	return nil
}

func (r *fakeRecords) Resource() string { return "secrets" }

func (r *fakeRecords) Namespace() string { return "" }

func (r *fakeRecords) Delete(ctx context.Context, name string, revision int, _ string) error {
	if err := r.step(ctx, "purge %s", key(name, revision)); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.kept, key(name, revision))
	r.mu.Unlock()
	r.moment("purged " + key(name, revision))
	return nil
}

func (r *fakeRecords) Revisions(ctx context.Context, name string) ([]storage.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []storage.Record
	for _, n := range r.all(name) {
		status := r.kept[key(name, n)].Info.Status
		if other := r.listed[key(name, n)]; other != "" {
			status = other
		}
		out = append(out, storage.Record{Key: storage.Key{Namespace: "ns", Name: name, Revision: n}, Status: status})
	}
	if len(out) == 0 {
		return nil, &storage.NotFoundError{Key: storage.Key{Name: name, Namespace: "ns"}}
	}
	return out, nil
}

func (r *fakeRecords) Prune(ctx context.Context, name string, most int, keep func(storage.Record) bool) error {
	all, err := r.Revisions(ctx, name)
	if err != nil {
		return err
	}
	surplus := len(all) - most
	for _, rev := range all {
		if surplus <= 0 {
			break
		}
		if keep(rev) {
			continue
		}
		if err := r.Delete(ctx, name, rev.Revision, ""); err != nil {
			return err
		}
		surplus--
	}
	return nil
}

// state returns the status and the description of a revision.
func (r *fakeRecords) state(name string, revision int) string {
	rel := r.kept[key(name, revision)]
	if rel == nil {
		return "no record"
	}
	return string(rel.Info.Status) + ": " + rel.Info.Description
}

// history returns the statuses of web's revisions: "1 superseded, 2 deployed".
func (r *fakeRecords) history() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, n := range r.all("web") {
		out = append(out, fmt.Sprintf("%d %s", n, r.kept[key("web", n)].Info.Status))
	}
	return strings.Join(out, ", ")
}

// fakeLocker locks releases.
type fakeLocker struct {
	*callLog
	// holderErr is the error of Abandoned: nil means that the holder of a pending record
	// is not running.
	holderErr error
	lose      context.CancelCauseFunc
	held      bool
}

func (l *fakeLocker) Lock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error) {
	if err := l.step(ctx, "lock %s, %s", name, doing); err != nil {
		return nil, nil, err
	}
	ctx, l.lose = context.WithCancelCause(ctx)
	l.held = true
	return ctx, fakeLock{l, name}, nil
}

type fakeLock struct {
	*fakeLocker
	name string
}

func (h fakeLock) Holder() string { return "anna" }
func (h fakeLock) Guard(revision int) {
	_ = h.step(context.Background(), "guard %s", key(h.name, revision))
}
func (h fakeLock) Finish() {}
func (h fakeLock) Abandoned(ctx context.Context, revision int) error {
	if err := h.step(ctx, "check-holder %s", key(h.name, revision)); err != nil {
		return err
	}
	return h.holderErr
}
func (h fakeLock) Unlock() {
	_ = h.step(context.Background(), "unlock %s", h.name)
	h.fakeLocker.held = false
	h.lose(nil)
}

// lostLock is the error of a lost lock.
type lostLock struct{}

func (lostLock) Error() string  { return "the lock was lost" }
func (lostLock) LockLost() bool { return true }

// newChart returns a chart named web with files, given as name, text, name, text.
func newChart(t testing.TB, files ...string) *chart.Chart {
	t.Helper()
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"}, Values: map[string]any{}}
	for i := 0; i < len(files); i += 2 {
		f := &chart.File{Name: files[i], Data: []byte(files[i+1])}
		switch {
		case f.Name == chart.FileValues:
			vals, err := values.Parse(f.Name, f.Data)
			if err != nil {
				t.Fatal(err)
			}
			c.Values = vals
		case f.Name == chart.FileSchema:
			c.Schema = f.Data
		case strings.HasPrefix(f.Name, "templates/"):
			c.Templates = append(c.Templates, f)
		default:
			c.Files = append(c.Files, f)
		}
		c.Raw = append(c.Raw, f)
	}
	return c
}

// objectText returns the text of an object with metadata only.
func objectText(kind, name string, annotations ...string) string {
	text := fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
	for i := 0; i < len(annotations); i += 2 {
		if i == 0 {
			text += "  annotations:\n"
		}
		text += fmt.Sprintf("    %s: %q\n", annotations[i], annotations[i+1])
	}
	return text
}

// configMaps returns the text of ConfigMaps, given as "name=value".
func configMaps(all ...string) string {
	text := ""
	for _, c := range all {
		name, what, _ := strings.Cut(c, "=")
		text += objectText("ConfigMap", name) + fmt.Sprintf("data: {v: %q}\n", what)
	}
	return text
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }
