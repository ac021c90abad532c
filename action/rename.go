// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Rename gives a release another name: its records, and the labels and annotations of its objects
// that say which release they belong to. The objects keep their names.
type Rename struct{ *Config }

// A RenameRequest is the request of [Rename]. Both names are required.
type RenameRequest struct {
	Name, NewName string
	TransferOptions
}

// Plan returns what Run would change, and writes nothing. Errors are those of Run before anything is
// written.
func (r Rename) Plan(ctx context.Context, req RenameRequest) (*Transfer, error) {
	return r.operation(req).plan(ctx)
}

// Run renames the release, as a new revision, and takes its history along. If it fails, the release
// has its old name. Errors are those of [Disown.Run] except [*NotInReleaseError], and
// [*NameInUseError].
func (r Rename) Run(ctx context.Context, req RenameRequest) (*Transfer, error) {
	return r.operation(req).run(ctx)
}

type renameOperation struct{ *transfer }

func (r Rename) operation(req RenameRequest) *renameOperation {
	w := &renameOperation{r.newTransfer(release.TransferRename, req.Name, req.NewName, req.TransferOptions)}
	w.prepare = w.planChange
	return w
}

func (w *renameOperation) planChange(ctx context.Context) error {
	from, to := w.from, w.to
	if err := from.requireDeployed(ctx, w.verb); err != nil {
		return err
	}
	if last := to.history.last; last != nil {
		return &NameInUseError{Name: to.name, Status: last.Info.Status, Deployed: to.history.deployed != nil, Renaming: true}
	}
	record, err := from.readRecord(ctx)
	if err != nil {
		return err
	}
	if err := w.leave(record.items); err != nil {
		return err
	}
	for _, o := range w.out.Objects {
		if o.Exists && o.Was == o.Will {
			w.out.Warnings = append(w.out.Warnings, fmt.Sprintf("%s does not belong to release %s, and its labels and "+
				"annotations stay", o, from.name))
		}
	}
	text := from.before.Manifest
	from.newRevision(from.before, w.verb, "")
	to.newRevision(from.before, w.verb, text)
	to.release.Revision = from.release.Revision
	to.release.Manifest = ""
	w.out.Warnings = append(w.out.Warnings, w.otherNames(ctx)...)
	if w.out.From, err = Compare(from.before, from.release); err != nil {
		return err
	}
	w.out.To, err = Compare(nil, to.release)
	return err
}

// otherNames returns warnings about objects that the next upgrade creates under other names, because
// templates use the name of the release.
func (w *renameOperation) otherNames(ctx context.Context) []string {
	const next = "with the next upgrade "
	recreated, err := w.recreated(ctx)
	if err == nil && len(recreated) == 0 {
		return nil
	}
	if err == nil {
		var out []string
		for _, r := range recreated {
			out = append(out, next+r)
		}
		return out
	}
	// The record has no subcharts, so that their templates cannot be rendered.
	var names []string
	for _, o := range w.out.Objects {
		if strings.Contains(o.Name, w.from.name) {
			names = append(names, o.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%sthese objects may be deleted and created under other names, because their names "+
		"contain %q (the chart in the record cannot be rendered: %s): %s", next, w.from.name, summaryOf(err),
		strings.Join(names, ", "))}
}

// recreated returns a sentence for each object of the record's chart that has another name when the
// chart is rendered for a release of the new name.
func (w *renameOperation) recreated(ctx context.Context) ([]string, error) {
	before, err := w.render(ctx, w.from.name)
	if err != nil {
		return nil, err
	}
	after, err := w.render(ctx, w.to.name)
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	fresh := map[string][]string{} // the new objects of each template and kind
	for _, o := range before {
		have[o.String()] = true
	}
	kept := map[string]bool{}
	for _, o := range after {
		if kept[o.String()] = have[o.String()]; !have[o.String()] {
			at := o.Source + " " + o.Kind
			fresh[at] = append(fresh[at], o.Name)
		}
	}
	var out []string
	for _, o := range before {
		at := o.Source + " " + o.Kind
		switch {
		case kept[o.String()]:
		case len(fresh[at]) > 0:
			out = append(out, fmt.Sprintf("%s is deleted and created as %s/%s", o, o.Kind, fresh[at][0]))
			fresh[at] = fresh[at][1:]
		default:
			out = append(out, fmt.Sprintf("%s is deleted", o))
		}
	}
	return out, nil
}

// hasSubcharts reports whether an object is of a subchart. A chart need not list those in its
// directory charts/.
func (w *renameOperation) hasSubcharts() bool {
	objects, err := manifest.ParseManifest(w.from.before.Manifest)
	return err != nil || slices.ContainsFunc(objects, func(o *manifest.Object) bool {
		_, file, _ := strings.Cut(o.Source, "/")
		return strings.HasPrefix(file, "charts/")
	})
}

// render returns the objects of the record's chart for a release of the given name.
func (w *renameOperation) render(ctx context.Context, name string) ([]*manifest.Object, error) {
	c, err := w.from.before.Chart()
	if err != nil || c == nil {
		return nil, err
	}
	if len(c.Metadata.Dependencies) > 0 || w.hasSubcharts() {
		return nil, errors.New("it has subcharts, which are not recorded")
	}
	resolved, err := resolveValues(c, w.from.before.Config, nil)
	if err != nil {
		return nil, err
	}
	caps, err := w.Cluster.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	out, err := engine.Render(ctx, engine.Input{
		Chart: resolved.Chart, Values: resolved.Values, Capabilities: caps,
		Release: engine.Release{Name: name, Namespace: w.namespace(), Revision: w.from.release.Revision,
			Service: releaseService, IsUpgrade: true},
		Lookup: lookupIn(ctx, w.Cluster),
	})
	if err != nil {
		return nil, err
	}
	objects, err := parseObjects(out.Files)
	if err != nil {
		return nil, err
	}
	_, _, rest := splitHooks(objects)
	return manifest.Flatten(rest)
}
