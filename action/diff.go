// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// newChange returns the change from one revision to another. It compares hooks by text.
func newChange(from, to *release.Release, p, crds *plan.Plan) (*Change, error) {
	hooks, err := hookSteps(from, to)
	return &Change{From: from, To: to, Plan: p, CRDs: crds, Hooks: hooks}, err
}

func hookSteps(from, to *release.Release) ([]plan.Step, error) {
	old, err := hookObjects(from)
	if err != nil {
		return nil, err
	}
	after, err := hookObjects(to)
	if err != nil {
		return nil, err
	}
	return plan.Compare(old, after, to.Namespace)
}

func hookObjects(rel *release.Release) ([]*manifest.Object, error) {
	if rel == nil {
		return nil, nil
	}
	return objectsOf(rel, rel.Hooks)
}

// objectsOf returns the objects of hooks of a release.
func objectsOf(rel *release.Release, hooks []*release.Hook) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, h := range hooks {
		objects, err := manifest.Parse(h.Path, h.Manifest)
		if err != nil {
			return nil, fmt.Errorf("read hook %s of revision %d of release %s: %w", h.Name, rel.Revision, rel.Name, err)
		}
		out = append(out, objects...)
	}
	return manifest.Flatten(out)
}

// Diff compares recorded revisions. It does not read the cluster's objects.
type Diff struct {
	Releases Storage
}

// Revisions compares two revisions of a release. If to is 0, it is the newest revision; if from
// is 0, it is the revision before to. Errors: [*ConfigError], [ErrNoName],
// [*storage.NotFoundError], [*storage.UnreadableError], and [*NoEarlierError] if there is no
// revision before to.
func (d Diff) Revisions(ctx context.Context, name string, from, to int) (*Change, error) {
	if err := requireReleases(d.Releases, "diff"); err != nil {
		return nil, err
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	b, err := d.Releases.Get(ctx, name, to)
	if err != nil {
		return nil, err
	}
	if from == 0 {
		from = b.Revision - 1
	}
	if from <= 0 {
		return nil, &NoEarlierError{Name: name, Revision: b.Revision}
	}
	a, err := d.Releases.Get(ctx, name, from)
	if err != nil {
		return nil, err
	}
	change, err := Compare(a, b)
	if err != nil {
		return nil, err
	}
	if change.CRDs, err = recordedCRDs(a, b); err != nil {
		return nil, err
	}
	if change.CRDs != nil {
		mergeDefinitions(change)
	}
	return change, d.markTransferred(ctx, change)
}

// mergeDefinitions has the CRDs that are in the manifest of one revision and in crds/ of the other stay,
// which are deletions and creations otherwise.
func mergeDefinitions(c *Change) {
	for i := range c.Plan.Steps {
		s := &c.Plan.Steps[i]
		same := func(d plan.Step) bool { return sameObject(d.Ref, s.Ref) && d.Kind == "CustomResourceDefinition" }
		switch j := slices.IndexFunc(c.CRDs.Steps, same); {
		case j < 0:
		case s.Action == plan.Delete && c.CRDs.Steps[j].Action == plan.Create:
			s.Action, s.Reason, s.After = plan.Keep, keptDefinition, s.Live
			c.CRDs.Steps = slices.Delete(c.CRDs.Steps, j, j+1)
		case s.Action == plan.Create && c.CRDs.Steps[j].Action == plan.Keep:
			c.CRDs.Steps = slices.Delete(c.CRDs.Steps, j, j+1)
		}
	}
}

// keptDefinition is the reason for which a CRD is not deleted that a revision does not have any more.
const keptDefinition = "it is a definition in crds/ now"

// recordedCRDs compares the CRDs in crds/ of the charts in two records, which do not have those of
// subcharts. It returns nil if neither has any.
func recordedCRDs(from, to *release.Release) (*plan.Plan, error) {
	was, err := from.Chart()
	if err != nil {
		return nil, err
	}
	is, err := to.Chart()
	if err != nil || is == nil {
		return nil, err
	}
	p, err := CompareChartCRDs(was, is)
	if err != nil || p == nil {
		return nil, err
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Action == plan.Delete {
			s.Action, s.After = plan.Keep, s.Live
			s.Reason = "the chart has the definition no longer, and definitions of crds/ are never deleted"
		}
	}
	return p, nil
}

// Between compares the newest revisions of two releases, which may be in different namespaces.
// Objects of the same kind match if their names are equal or differ only in the name of the
// release, or if their template has made no other object of the kind; the first release's
// namespace matches the other's. A step has the object's name in the other release as its
// [plan.Ref], and its old name in Live. Errors are those of Revisions.
func (d Diff) Between(ctx context.Context, name string, others Storage, other string) (*Change, error) {
	for _, r := range []Storage{d.Releases, others} {
		if err := requireReleases(r, "diff"); err != nil {
			return nil, err
		}
	}
	for _, n := range []string{name, other} {
		if err := CheckName(n); err != nil {
			return nil, err
		}
	}
	a, err := d.Releases.Get(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	b, err := others.Get(ctx, other, 0)
	if err != nil {
		return nil, err
	}
	if a.Name == b.Name && a.Namespace == b.Namespace {
		return Compare(a, b)
	}
	change, err := compareReleases(a, b)
	if err != nil {
		return nil, err
	}
	change.CRDs, err = recordedCRDs(a, b)
	return change, err
}

// Compare compares the records of two revisions; from may be nil, then every object is created.
// It does not read the cluster's objects. It returns a [*RequestError] if to is nil, and a
// [*manifest.SyntaxError] for a manifest that cannot be read.
func Compare(from, to *release.Release) (*Change, error) {
	if to == nil {
		return nil, &RequestError{Operation: "compare", Field: "to"}
	}
	var old []*manifest.Object
	namespace := to.Namespace
	if from != nil {
		namespace = from.Namespace
		var err error
		if old, err = recordedObjects(from); err != nil {
			return nil, err
		}
	}
	after, err := recordedObjects(to)
	if err != nil {
		return nil, err
	}
	steps, err := plan.Compare(old, after, namespace)
	if err != nil {
		return nil, err
	}
	if from != nil {
		moved := movesOf(to)
		plan.MarkKnown(moved, movesOf(from))
		markMoved(steps, moved)
	}
	change, err := newChange(from, to, &plan.Plan{Steps: steps}, nil)
	change.Stored = true
	return change, err
}

// CompareCRDs compares the CRDs in crds/ of a revision's chart with those of another chart.
// It returns nil if neither has any. from may be nil; otherwise CompareCRDs ignores CRDs of
// subcharts, which are not recorded.
func CompareCRDs(from *release.Release, to *chart.Chart) (*plan.Plan, error) {
	if from == nil || to == nil {
		return CompareChartCRDs(nil, to)
	}
	was, err := from.Chart()
	if err != nil {
		return nil, err
	}
	to = to.Shallow()
	return CompareChartCRDs(was, to)
}

// CompareChartCRDs compares the CRDs in crds/ of two charts; from may be nil. It returns nil
// if neither has any.
func CompareChartCRDs(from, to *chart.Chart) (*plan.Plan, error) {
	if err := requireChart(to, "compare"); err != nil {
		return nil, err
	}
	var old []*manifest.Object
	if from != nil {
		var err error
		if old, err = parseCRDs(from); err != nil {
			return nil, err
		}
	}
	after, err := parseCRDs(to)
	if err != nil || len(old)+len(after) == 0 {
		return nil, err
	}
	steps, err := plan.Compare(old, after, "")
	return &plan.Plan{Steps: steps}, err
}

// A NoEarlierError is returned if there is no earlier revision to compare with.
type NoEarlierError struct {
	Name     string
	Revision int
}

func (e *NoEarlierError) Error() string {
	return fmt.Sprintf("release %q has no revision before %d to compare with", e.Name, e.Revision)
}
