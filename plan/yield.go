// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// yieldFields returns a manifest for client-side merge with the live values of the fields that
// its annotation yields to other managers and that other managers have changed, so that they
// differ from all old manifests.
func (s *Step) yieldFields(m *merger, rules ownership, want map[string]any, olds []map[string]any) map[string]any {
	if !slices.ContainsFunc(rules, func(o ownedPath) bool { return o.resolution == Yield }) {
		return want
	}
	y := yieldFinder{merger: m, own: rules, ref: s.Ref}
	y.fields(nil, "", m.rootField(s.Ref), olds, s.Live, want)
	slices.SortFunc(y.found, func(a, b fieldConflict) int { return cmp.Compare(a.Path, b.Path) })
	for _, c := range y.found {
		want = editFields(want, [][]pathStep{c.path}, func(any) (any, bool) { return c.Live, true }).(map[string]any)
	}
	s.Conflicts = conflictsOf(y.found)
	return want
}

// yieldFinder finds the fields to yield.
type yieldFinder struct {
	*merger
	own   ownership
	ref   Ref
	found []fieldConflict
}

func (y *yieldFinder) fields(path []pathStep, name string, f field, olds []map[string]any, live, want map[string]any) {
	for key, w := range want {
		have := live[key]
		if f.skips(key) || have == nil {
			continue
		}
		here, below := append(path, pathStep{element: element{name: key}}), f.subfield(key)
		switch w := w.(type) {
		case map[string]any:
			if h, ok := have.(map[string]any); ok && !below.replace {
				y.fields(here, key, below, mapsAt(olds, key), h, w)
				continue
			}
		case []any:
			if h, ok := have.([]any); ok && below.merge && below.key != "" {
				y.items(here, below, listsAt(olds, key), h, w)
				continue
			}
		}
		y.field(here, name, olds, have, w)
	}
	for key, have := range live {
		_, wanted := want[key]
		dropped := !wanted && slices.ContainsFunc(olds, func(o map[string]any) bool { return o[key] != nil })
		if f.skips(key) || have == nil || !dropped {
			continue
		}
		here, below := append(path, pathStep{element: element{name: key}}), f.subfield(key)
		if h, ok := have.(map[string]any); ok && !below.replace {
			y.fields(here, key, below, mapsAt(olds, key), h, nil)
		} else {
			y.field(here, name, olds, have, nil)
		}
	}
}

// field adds a field if it yields.
func (y *yieldFinder) field(path []pathStep, parent string, olds []map[string]any, live, want any) {
	key := path[len(path)-1].name
	if y.own.resolutionOf(path) != Yield || y.sameValue(parent, key, want, live) {
		return
	}
	unchanged := func(o map[string]any) bool { return o[key] != nil && y.sameValue(parent, key, o[key], live) }
	if slices.ContainsFunc(olds, unchanged) {
		return
	}
	y.found = append(y.found, fieldConflict{Conflict{
		Path: formatPath(path), Live: live, Chart: want, Resolution: Yield, Reason: "annotation " + OwnershipAnnotation,
		Annotated: true,
		Secret:    secretField(y.ref, path),
	}, slices.Clone(path)})
}

func (y *yieldFinder) items(path []pathStep, f field, olds [][]any, live, want []any) {
	ids, err := f.identify(want)
	liveIDs, liveErr := f.identify(live)
	if err != nil || liveErr != nil {
		return // the merge returns the error
	}
	for i, id := range ids {
		j := slices.Index(liveIDs, id)
		if j < 0 {
			continue
		}
		w, h := want[i].(map[string]any), live[j].(map[string]any)
		var former []map[string]any
		for _, old := range olds {
			for _, o := range old {
				if item, ok := o.(map[string]any); ok && f.sameItem(item, w) {
					former = append(former, item)
				}
			}
		}
		keys := map[string]any{f.key: f.keyOf(w)}
		for _, k := range f.more {
			keys[k.name] = k.valueIn(w)
		}
		y.fields(append(path, pathStep{element{id.String(), true, i}, keys}), "", field{node: f.node}, former, h, w)
	}
}
