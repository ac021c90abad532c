// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// A Transition is a change from one value to another. An empty value means none.
type Transition struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// A RevisionChange is what a revision of a release changed, compared with the recorded one before
// it. It has the names of values and objects, and nothing of their content.
type RevisionChange struct {
	// Before is the revision that it is compared with.
	Before     int         `json:"before"`
	Chart      *Transition `json:"chart,omitempty"` // NAME-VERSION
	AppVersion *Transition `json:"app_version,omitempty"`
	// Values are the paths of the user-supplied values that differ, such as "image.tag".
	Values []string `json:"values,omitempty"`
	// Images are the images of containers that were changed, added or removed.
	Images []Transition `json:"images,omitempty"`
	// Added, Changed and Removed are objects, such as "Deployment/web".
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Hooks are the hooks that differ.
	Hooks []string `json:"hooks,omitempty"`
}

// HistoryChanges reports what revisions of a release changed.
type HistoryChanges struct {
	Releases Storage
}

// Run returns the changes of each of the given revisions, in ascending order, compared with the one
// before it in the list. The first has none, nor has one whose record, or that of the one before,
// cannot be read or compared: the element is nil.
func (h HistoryChanges) Run(ctx context.Context, name string, revisions []int) ([]*RevisionChange, error) {
	if err := requireReleases(h.Releases, "history"); err != nil {
		return nil, err
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	out := make([]*RevisionChange, len(revisions))
	var before *release.Release
	for i, revision := range revisions {
		rel, err := h.Releases.Get(ctx, name, revision)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			before = nil
			continue
		}
		if before != nil {
			out[i], _ = CompareRevisions(before, rel) // what cannot be compared is left out
		}
		before = rel
	}
	return out, nil
}

// CompareRevisions returns what changed between two recorded revisions.
func CompareRevisions(from, to *release.Release) (*RevisionChange, error) {
	change, err := Compare(from, to)
	if err != nil {
		return nil, err
	}
	before, err := from.Summary()
	if err != nil {
		return nil, err
	}
	after, err := to.Summary()
	if err != nil {
		return nil, err
	}
	c := &RevisionChange{
		Before: from.Revision, Chart: transition(before.ChartName(), after.ChartName()),
		AppVersion: transition(before.AppVersion, after.AppVersion), Values: differingPaths(from.Config, to.Config),
		Images: imageChanges(change.Plan.Steps),
	}
	for _, s := range change.Plan.Steps {
		switch s.Action {
		case plan.Create:
			c.Added = append(c.Added, s.String())
		case plan.Delete, plan.Keep:
			c.Removed = append(c.Removed, s.String())
		case plan.Update, plan.Replace:
			c.Changed = append(c.Changed, s.String())
		}
	}
	for _, s := range change.Hooks {
		if s.Action != plan.Unchanged {
			c.Hooks = append(c.Hooks, s.String())
		}
	}
	return c, nil
}

func transition(from, to string) *Transition {
	if from == to {
		return nil
	}
	return &Transition{from, to}
}

// Limits for the paths of values that differ.
const (
	maxPaths     = 1000
	maxPathDepth = 64
)

// differingPaths returns the paths of the values that differ, sorted. Lists are compared as a whole.
func differingPaths(a, b map[string]any) []string {
	var out []string
	var compare func(prefix string, a, b map[string]any, depth int)
	compare = func(prefix string, a, b map[string]any, depth int) {
		keys := slices.Collect(maps.Keys(a))
		for k := range b {
			if _, both := a[k]; !both {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			path := prefix + strings.ReplaceAll(k, ".", `\.`)
			x, y := a[k], b[k]
			left, isMap := x.(map[string]any)
			right, isMapToo := y.(map[string]any)
			switch {
			case len(out) == maxPaths:
				return
			case depth < maxPathDepth && (isMap || x == nil) && (isMapToo || y == nil) && len(left)+len(right) > 0:
				compare(path+".", left, right, depth+1)
			case !reflect.DeepEqual(x, y) || inOne(a, b, k):
				out = append(out, path)
			}
		}
	}
	compare("", a, b, 0)
	return out
}

func inOne(a, b map[string]any, key string) bool {
	_, left := a[key]
	_, right := b[key]
	return left != right
}

// imageChanges returns how the images of containers changed, each pair once.
func imageChanges(steps []plan.Step) []Transition {
	var out []Transition
	add := func(t Transition) {
		if t.From != t.To && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, s := range steps {
		before, after := imagesOf(s.Live), imagesOf(s.New)
		for _, container := range slices.Sorted(maps.Keys(after)) {
			add(Transition{before[container], after[container]})
		}
		for _, container := range slices.Sorted(maps.Keys(before)) {
			if _, still := after[container]; !still {
				add(Transition{before[container], ""})
			}
		}
	}
	slices.SortFunc(out, func(a, b Transition) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From)) })
	return out
}

// imagesOf returns the images of the containers in an object, by kind and name.
func imagesOf(object map[string]any) map[string]string {
	out := map[string]string{}
	var search func(m map[string]any, depth int)
	search = func(m map[string]any, depth int) {
		for _, key := range []string{"initContainers", "containers"} {
			list, _ := m[key].([]any)
			for _, item := range list {
				c, _ := item.(map[string]any)
				name, _ := c["name"].(string)
				if image, ok := c["image"].(string); ok && image != "" {
					out[key+"/"+name] = image
				}
			}
		}
		// Pod templates are in spec.template.spec and spec.jobTemplate.spec.template.spec.
		for _, key := range []string{"spec", "template", "jobTemplate"} {
			if next, ok := m[key].(map[string]any); ok && depth < 8 {
				search(next, depth+1)
			}
		}
	}
	search(object, 0)
	return out
}
