// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/plan/patch"
	"github.com/moonhelm/moonhelm/release"
)

// PatchOptions are the patches of rendered objects that a request has beside those in the charts'
// patches/.
type PatchOptions struct {
	// Patches apply in their order, after those of the charts. They are recorded, and an upgrade
	// takes those of the last revision as it takes its values: see [Reuse].
	Patches []patch.File
	// AllowMissing accepts patches whose target matches no object.
	AllowMissing bool
	// ResetPatches has an upgrade ignore the patches of the last revision.
	ResetPatches bool
}

// files returns the patches with the options that they are recorded with.
func (o PatchOptions) files() []patch.File {
	out := slices.Clone(o.Patches)
	for i := range out {
		out[i].AllowMissing = out[i].AllowMissing || o.AllowMissing
	}
	return out
}

// Patched is what a patch has changed in an object.
type Patched struct {
	// Patch is the place of the patch, "fix.yaml:3".
	Patch string `json:"patch"`
	patch.Change
}

// String returns the change as a line: "fix.yaml:3 Deployment/web: spec.replicas".
func (p Patched) String() string { return p.Patch + " " + p.Change.String() }

// patch applies the patches of the charts, subcharts first, and then those of the user. Scripts have
// changed the objects before; the post-renderer gets them patched, because it may not say which
// template an object is from.
func (r rendering) patch(ctx context.Context, e *event.PostRender) ([]Patched, error) {
	patches, err := r.allPatches(e.Chart)
	if err != nil {
		return nil, err
	}
	var done []Patched
	var missing []error
	w := patch.New(e.Objects, r.release.Namespace)
	observed := r.events.Observed()
	for _, p := range patches {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if r.explanation != nil {
			r.explanation.patch = p
		}
		err := r.events.HandleCoreAt(ctx, e, event.Patches, p.String(), func(context.Context) error {
			changes, err := w.Apply(p)
			var none *patch.NoTargetError
			if errors.As(err, &none) { // the others may miss theirs too
				missing = append(missing, none)
				return nil
			}
			if err == nil && observed {
				e.Objects, err = w.Objects()
			}
			for _, c := range changes {
				done = append(done, Patched{Patch: p.String(), Change: c})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	if len(done) > 0 {
		e.Objects, err = w.Objects()
	}
	return done, err
}

// allPatches returns the patches of a tree of charts, and those of the user.
func (r rendering) allPatches(root *chart.Chart) ([]*patch.Patch, error) {
	all, err := patch.OfCharts(root)
	if err != nil {
		return nil, err
	}
	if r.patches.AllowMissing {
		for _, p := range all {
			p.AllowMissing()
		}
	}
	for _, f := range r.patches.files() {
		patches, err := f.Patches()
		if err != nil {
			return nil, err
		}
		all = append(all, patches...)
	}
	return all, nil
}

// reusePatches sets the patches of an upgrade: its own, those of the last revision, or both, as
// Reuse selects.
func (w *upgradeOperation) reusePatches(last *release.Release) error {
	if w.req.ResetPatches || w.req.Reuse == ResetValues {
		return nil
	}
	old, err := patch.Recorded(last.Patches)
	if err != nil {
		return fmt.Errorf("revision %d of release %s: %w", last.Revision, last.Name, err)
	}
	own := w.req.files()
	if w.req.Reuse == ReuseIfNone && len(own) > 0 || len(old) == 0 {
		return nil
	}
	w.req.Patches = patch.Merge(old, own)
	var names []string
	for _, f := range old {
		names = append(names, f.Name)
	}
	w.config.step(fmt.Sprintf("applying the patches of revision %d: %s", last.Revision, strings.Join(names, ", ")))
	return nil
}

// recordPatches sets the patches in the record of the revision.
func (d *deployment) recordPatches(o PatchOptions) (err error) {
	d.release.Patches, err = patch.Record(o.files())
	return err
}
