// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/render"
	"github.com/moonhelm/moonhelm/values"
)

// diary is what has happened, in order, in every fake of one test.
type diary struct {
	mu    sync.Mutex
	lines []string
	// fail gives a step its error; at is called before a step is taken.
	fail map[string]error
	at   func(step string)
}

// step notes what happens, and tells whether it fails. Like a server, it
// refuses those whose context is done.
func (d *diary) step(ctx context.Context, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
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

func (d *diary) want(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("what happened:\n  %s\nwanted:\n  %s", strings.Join(d.lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// writes are the steps that change something.
func (d *diary) writes() []string {
	var out []string
	for _, l := range d.lines {
		switch verb, _, _ := strings.Cut(l, " "); verb {
		case "capabilities", "lookup", "missing", "check":
		default:
			out = append(out, l)
		}
	}
	return out
}

// cluster is a cluster that holds nothing but lacking CRDs.
type cluster struct {
	*diary
	caps    render.Capabilities
	missing map[string]bool // names of CRDs that are not there
	objects map[string]map[string]any
}

func newCluster(d *diary) *cluster {
	return &cluster{diary: d, caps: *render.DefaultCapabilities(), missing: map[string]bool{}}
}

func (c *cluster) Capabilities(ctx context.Context) (*render.Capabilities, error) {
	return &c.caps, c.step(ctx, "capabilities")
}

func (c *cluster) Lookup(ctx context.Context, _, kind, _, name string) (map[string]any, error) {
	return c.objects[kind+"/"+name], c.step(ctx, "lookup %s/%s", kind, name)
}

func (c *cluster) Check(ctx context.Context, objects []*manifest.Object, owner Owner, take bool) error {
	return c.step(ctx, "check %s for %s/%s%s", names(objects), owner.Namespace, owner.Release, map[bool]string{true: ", taking"}[take])
}

func (c *cluster) Apply(ctx context.Context, objects []*manifest.Object, _ Owner) error {
	return c.step(ctx, "apply %s", names(objects))
}

func (c *cluster) CreateNamespace(ctx context.Context, name string) error {
	return c.step(ctx, "namespace %s", name)
}

func (c *cluster) MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, o := range crds {
		if c.missing[o.Name] {
			out = append(out, o)
		}
	}
	return out, c.step(ctx, "missing %s", names(crds))
}

func (c *cluster) InstallCRDs(ctx context.Context, crds []*manifest.Object) error {
	if err := c.step(ctx, "crds %s", names(crds)); err != nil {
		return err
	}
	c.caps.APIVersions = append(c.caps.APIVersions, served(crds)...)
	clear(c.missing)
	return nil
}

func (c *cluster) WaitReady(ctx context.Context, objects []*manifest.Object, _ string, jobs bool) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a wait without an end")
	}
	return c.step(ctx, "wait %s%s", names(objects), map[bool]string{true: ", jobs too"}[jobs])
}

func (c *cluster) Delete(ctx context.Context, objects []*manifest.Object, _ Owner, cascade Cascade) error {
	return c.step(ctx, "delete %s, %s", names(objects), cascade)
}

func (c *cluster) WaitGone(ctx context.Context, objects []*manifest.Object, _ string) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a wait without an end")
	}
	return c.step(ctx, "gone %s", names(objects))
}

func names(objects []*manifest.Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, o.String())
	}
	return "[" + strings.Join(out, " ") + "]"
}

// records keeps copies of releases, as a server does.
type records struct {
	*diary
	mu   sync.Mutex
	kept map[string]*release.Release
}

func newRecords(d *diary, have ...*release.Release) *records {
	r := &records{diary: d, kept: map[string]*release.Release{}}
	for _, rel := range have {
		r.kept[key(rel.Name, rel.Revision)] = rel.Clone()
	}
	return r
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

func (r *records) Revision(ctx context.Context, name string, revision int) (*release.Release, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.all(name); revision == 0 && len(all) > 0 {
		revision = all[len(all)-1]
	}
	if rel := r.kept[key(name, revision)]; rel != nil {
		return rel.Clone(), nil
	}
	return nil, &NotFoundError{Name: name, Namespace: "ns", Revision: revision}
}

func (r *records) Create(ctx context.Context, rel *release.Release) error {
	if err := r.step(ctx, "create %s %s", key(rel.Name, rel.Revision), rel.Info.Status); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept[key(rel.Name, rel.Revision)] != nil {
		return fmt.Errorf("%w: %s", ErrRevisionExists, key(rel.Name, rel.Revision))
	}
	r.kept[key(rel.Name, rel.Revision)] = rel.Clone()
	return nil
}

func (r *records) Update(ctx context.Context, rel *release.Release) error {
	if err := r.step(ctx, "update %s %s", key(rel.Name, rel.Revision), rel.Info.Status); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[key(rel.Name, rel.Revision)] = rel.Clone()
	return nil
}

func (r *records) Delete(ctx context.Context, name string, revision int) error {
	if err := r.step(ctx, "forget %s", key(name, revision)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, key(name, revision))
	return nil
}

func (r *records) Revisions(_ context.Context, name string) ([]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.all(name); len(all) > 0 {
		return all, nil
	}
	return nil, &NotFoundError{Name: name}
}

// state is what the record of a revision says of itself.
func (r *records) state(name string, revision int) string {
	rel := r.kept[key(name, revision)]
	if rel == nil {
		return "no record"
	}
	return string(rel.Info.Status) + ": " + rel.Info.Description
}

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

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }
