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

// diary is what has happened, in order, in every fake of one test.
type diary struct {
	mu    sync.Mutex
	lines []string
	// fail gives a step its error; at is called before a step is taken.
	fail map[string]error
	at   func(step string)
	// now is called at every moment at which a client may die.
	now func(moment string)
}

// step notes what happens, and reports whether it fails. Like a server, it
// refuses those whose context is done.
func (d *diary) step(ctx context.Context, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	d.moment(line)
	if d.at != nil {
		d.at(line)
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

func (d *diary) moment(what string) {
	if d.now != nil {
		d.now(what)
	}
}

func (d *diary) want(t testing.TB, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("what happened:\n  %s\nwanted:\n  %s", strings.Join(d.lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantWrites is want for the steps that change something.
func (d *diary) wantWrites(t testing.TB, want ...string) {
	t.Helper()
	if got := d.writes(); !slices.Equal(got, want) {
		t.Errorf("what was written:\n  %s\nwanted:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// writes are the steps that change something.
func (d *diary) writes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, l := range d.lines {
		switch verb, _, _ := strings.Cut(l, " "); verb {
		case "capabilities", "lookup", "missing", "plan", "plan-crds", "permissions", "lock", "unlock", "guard", "judge":
		default:
			out = append(out, l)
		}
	}
	return out
}

// did reports whether a step was taken.
func (d *diary) did(step string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.lines, step)
}

// forget begins a new page.
func (d *diary) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = nil
}

// records keeps releases as text, as a server does.
type records struct {
	*diary
	Lister
	HistoryReader
	lock.Records
	mu   sync.Mutex
	kept map[string]*release.Release
	// listed are the statuses that lists show where the records say another.
	listed map[string]release.Status
	// changed are the records that another client has changed since they were read.
	changed map[string]bool
}

// change is what another client does to a record.
func (r *records) change(key string, how func(*release.Release)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how(r.kept[key])
	r.changed[key] = true
}

func newRecords(d *diary, have ...*release.Release) *records {
	r := &records{diary: d, kept: map[string]*release.Release{}, changed: map[string]bool{}}
	for _, rel := range have {
		r.kept[key(rel.Name, rel.Revision)] = throughText(rel)
	}
	return r
}

// throughText is a release as it comes out of a record again.
func throughText(rel *release.Release) *release.Release {
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

func (r *records) all(name string) []int {
	var out []int
	for _, rel := range r.kept {
		if rel.Name == name {
			out = append(out, rel.Revision)
		}
	}
	slices.Sort(out)
	return out
}

func (r *records) Get(ctx context.Context, name string, revision int) (*release.Release, error) {
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
		return throughText(rel), nil
	}
	return nil, &storage.NotFoundError{Key: storage.Key{Name: name, Namespace: "ns", Revision: revision}}
}

func (r *records) Create(ctx context.Context, rel *release.Release) error {
	if err := r.step(ctx, "create %s %s", key(rel.Name, rel.Revision), rel.Info.Status); err != nil {
		return err
	}
	r.mu.Lock()
	if r.kept[key(rel.Name, rel.Revision)] != nil {
		r.mu.Unlock()
		return fmt.Errorf("%w: %s", storage.ErrExists, key(rel.Name, rel.Revision))
	}
	r.kept[key(rel.Name, rel.Revision)] = throughText(rel)
	r.mu.Unlock()
	r.moment("created " + key(rel.Name, rel.Revision))
	return nil
}

func (r *records) Update(ctx context.Context, rel *release.Release) error {
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
	r.kept[key(rel.Name, rel.Revision)] = throughText(rel)
	delete(r.listed, key(rel.Name, rel.Revision))
	r.mu.Unlock()
	r.moment("updated " + key(rel.Name, rel.Revision))
	return nil
}

func (r *records) Resource() string { return "secrets" }

func (r *records) Namespace() string { return "" }

func (r *records) Delete(ctx context.Context, name string, revision int, _ string) error {
	if err := r.step(ctx, "forget %s", key(name, revision)); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.kept, key(name, revision))
	r.mu.Unlock()
	r.moment("forgot " + key(name, revision))
	return nil
}

func (r *records) Revisions(ctx context.Context, name string) ([]storage.Record, error) {
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

func (r *records) Prune(ctx context.Context, name string, most int, keep func(storage.Record) bool) error {
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

// state is what the record of a revision says of itself.
func (r *records) state(name string, revision int) string {
	rel := r.kept[key(name, revision)]
	if rel == nil {
		return "no record"
	}
	return string(rel.Info.Status) + ": " + rel.Info.Description
}

// history is how the revisions of web stand: "1 superseded, 2 deployed".
func (r *records) history() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, n := range r.all("web") {
		out = append(out, fmt.Sprintf("%d %s", n, r.kept[key("web", n)].Info.Status))
	}
	return strings.Join(out, ", ")
}

// locker locks releases, and knows who is at work on pending ones.
type locker struct {
	*diary
	alive error // what is known of whoever wrote a pending record; nil: is gone
	lose  context.CancelCauseFunc
	held  bool
}

func (l *locker) Lock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error) {
	if err := l.step(ctx, "lock %s, %s", name, doing); err != nil {
		return nil, nil, err
	}
	ctx, l.lose = context.WithCancelCause(ctx)
	l.held = true
	return ctx, held{l, name}, nil
}

type held struct {
	*locker
	name string
}

func (h held) Holder() string { return "anna" }
func (h held) Guard(revision int) {
	_ = h.step(context.Background(), "guard %s", key(h.name, revision))
}
func (h held) Finish() {}
func (h held) Abandoned(ctx context.Context, revision int) error {
	if err := h.step(ctx, "judge %s", key(h.name, revision)); err != nil {
		return err
	}
	return h.alive
}
func (h held) Unlock() {
	_ = h.step(context.Background(), "unlock %s", h.name)
	h.locker.held = false
	h.lose(nil)
}

// lostLock is what a lock says when it is lost.
type lostLock struct{}

func (lostLock) Error() string  { return "the lock was lost" }
func (lostLock) LockLost() bool { return true }

// newChart makes a chart named web out of files, given as name, text, name, text.
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

// kind is the text of an object that says nothing but what it is.
func kind(kind, name string, annotations ...string) string {
	text := fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
	for i := 0; i < len(annotations); i += 2 {
		if i == 0 {
			text += "  annotations:\n"
		}
		text += fmt.Sprintf("    %s: %q\n", annotations[i], annotations[i+1])
	}
	return text
}

// conf is the text of ConfigMaps that say something, given as name=what.
func conf(all ...string) string {
	text := ""
	for _, c := range all {
		name, what, _ := strings.Cut(c, "=")
		text += kind("ConfigMap", name) + fmt.Sprintf("data: {v: %q}\n", what)
	}
	return text
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }
