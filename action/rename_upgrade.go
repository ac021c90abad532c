// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// nextUpgrade returns warnings about what the next upgrade does because templates use the name of the
// release: it creates objects under other names and deletes those of today, and it fails where a selector
// has the name.
func (w *renameOperation) nextUpgrade(ctx context.Context) []string {
	before, err := w.render(ctx, w.from.name)
	if err != nil {
		return w.nextUpgradeByName(err)
	}
	after, err := w.render(ctx, w.to.name)
	if err != nil {
		return w.nextUpgradeByName(err)
	}
	out := w.recreated(before, after)
	if len(out) > 0 {
		out = append(out, advisedMove)
	}
	var fixed []string
	for _, o := range before {
		if same := findObject(after, o); same != nil && changesSelector(o, same) {
			fixed = append(fixed, o.String())
		}
	}
	if len(fixed) > 0 {
		out = append(out, "the next upgrade fails, because it changes fields that cannot be changed, the selectors with the "+
			"name of the release: "+strings.Join(fixed, ", ")+advisedPatch)
	}
	return out
}

const (
	nextUpgrade  = "with the next upgrade "
	advisedMove  = "an entry of moved in Chart.yaml with recreate: false has an upgrade keep an object and its name"
	advisedPatch = "; a patch (--patch) can keep their values, --force-replace deletes the objects and creates them again"
)

// nextUpgradeByName is nextUpgrade for a chart that cannot be rendered because of err: the manifest says
// what has the name.
func (w *renameOperation) nextUpgradeByName(err error) []string {
	objects, parseErr := recordedObjects(w.from.before)
	if parseErr != nil {
		return []string{nextUpgrade + "objects may be deleted and created under other names: " + summaryOf(parseErr)}
	}
	var named, fixed []string
	for _, o := range objects {
		switch {
		case hasWord(o.Name, w.from.name):
			named = append(named, o.String()+losses(o))
		case hasValue(selectorOf(o), w.from.name):
			fixed = append(fixed, o.String())
		}
	}
	why := fmt.Sprintf("(the chart in the record cannot be rendered: %s)", summaryOf(err))
	var out []string
	if len(named) > 0 {
		out = append(out, fmt.Sprintf("%sthese objects may be deleted and created under other names, because their names "+
			"contain %q %s: %s", nextUpgrade, w.from.name, why, strings.Join(named, ", ")), advisedMove)
	}
	if len(fixed) > 0 {
		out = append(out, fmt.Sprintf("the next upgrade may fail, because selectors that cannot be changed have the value "+
			"%q %s: %s%s", w.from.name, why, strings.Join(fixed, ", "), advisedPatch))
	}
	return out
}

// recreated returns a warning for each object that is deleted, and created under another name if the
// same template makes another of its kind.
func (w *renameOperation) recreated(before, after []*manifest.Object) []string {
	fresh := map[string][]string{} // the new objects of each template and kind
	for _, o := range after {
		if findObject(before, o) == nil {
			at := o.Source + " " + o.Kind
			fresh[at] = append(fresh[at], o.Name)
		}
	}
	kept := map[string]string{} // the names of objects that have kept an old one
	for _, m := range movesOf(w.from.before) {
		if !m.Recreate {
			kept[m.To.String()] = m.From.String()
		}
	}
	var out []string
	for _, o := range before {
		if findObject(after, o) != nil {
			continue
		}
		at := o.Source + " " + o.Kind
		text := nextUpgrade + cmp.Or(kept[o.String()], o.String()) + " is deleted"
		if len(fresh[at]) > 0 {
			text += fmt.Sprintf(" and created as %s/%s", o.Kind, fresh[at][0])
			fresh[at] = fresh[at][1:]
		}
		out = append(out, text+losses(o))
	}
	return out
}

func findObject(objects []*manifest.Object, o *manifest.Object) *manifest.Object {
	i := slices.IndexFunc(objects, func(other *manifest.Object) bool {
		return other.Kind == o.Kind && other.Name == o.Name && other.Namespace == o.Namespace &&
			manifest.Group(other.APIVersion) == manifest.Group(o.APIVersion)
	})
	if i < 0 {
		return nil
	}
	return objects[i]
}

// losses returns what is lost if an object is deleted, in parentheses, or "".
func losses(o *manifest.Object) string {
	object, err := o.Map()
	if err != nil {
		return ""
	}
	if why := plan.LostBy(o.Kind, object); why != "" {
		return " (" + why + ")"
	}
	return ""
}

// selectorOf returns the fields of an object that name pods by labels and cannot be changed, or nil.
func selectorOf(o *manifest.Object) any {
	object, err := o.Map()
	if err != nil {
		return nil
	}
	spec, _ := object["spec"].(map[string]any)
	switch manifest.Group(o.APIVersion) + "/" + o.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet":
		return spec["selector"]
	case "batch/Job":
		return spec["template"]
	}
	return nil
}

func changesSelector(before, after *manifest.Object) bool {
	return !reflect.DeepEqual(selectorOf(before), selectorOf(after))
}

// hasValue reports whether a value of v, at any depth, is the text.
func hasValue(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case map[string]any:
		for _, item := range v {
			if hasValue(item, text) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasValue(item, text) })
	}
	return false
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

// render returns the objects of the record's chart for a release of the given name. Scripts and patches
// do not run.
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
