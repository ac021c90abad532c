// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// yieldFields is a manifest that is merged on this side, with the live values of those
// fields that its annotation leaves to others and that others have changed: what is
// there is not what any old manifest says.
func (s *Step) yieldFields(m *merger, own ownership, want map[string]any, olds []map[string]any) map[string]any {
	if !slices.ContainsFunc(own, func(o ownedPath) bool { return o.resolution == Yield }) {
		return want
	}
	y := yielding{merger: m, own: own, ref: s.Ref}
	y.fields(nil, "", m.rootField(s.Ref), olds, s.Live, want)
	slices.SortFunc(y.found, func(a, b claim) int { return cmp.Compare(a.Path, b.Path) })
	for _, c := range y.found {
		want = edit(want, [][]step{c.at}, func(any) (any, bool) { return c.Live, true }).(map[string]any)
	}
	s.Conflicts = conflictsOf(y.found)
	return want
}

// yielding finds what is left to others.
type yielding struct {
	*merger
	own   ownership
	ref   Ref
	found []claim
}

func (y *yielding) fields(at []step, name string, f field, olds []map[string]any, live, want map[string]any) {
	for key, w := range want {
		have := live[key]
		if f.skips(key) || have == nil {
			continue
		}
		here, below := append(at, step{element: element{name: key}}), f.below(key)
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
		here, below := append(at, step{element: element{name: key}}), f.below(key)
		if h, ok := have.(map[string]any); ok && !below.replace {
			y.fields(here, key, below, mapsAt(olds, key), h, nil)
		} else {
			y.field(here, name, olds, have, nil)
		}
	}
}

// field looks at one value.
func (y *yielding) field(at []step, parent string, olds []map[string]any, live, want any) {
	key := at[len(at)-1].name
	if y.own.of(at) != Yield || y.same(parent, key, want, live) {
		return
	}
	unchanged := func(o map[string]any) bool { return o[key] != nil && y.same(parent, key, o[key], live) }
	if slices.ContainsFunc(olds, unchanged) {
		return
	}
	y.found = append(y.found, claim{Conflict{
		Path: stepsText(at), Live: live, Chart: want, Resolution: Yield, Reason: "annotation " + OwnershipAnnotation,
		Annotated: true,
		Secret:    secretField(y.ref, at),
	}, slices.Clone(at)})
}

func (y *yielding) items(at []step, f field, olds [][]any, live, want []any) {
	ids, err := f.identify(want)
	liveIDs, liveErr := f.identify(live)
	if err != nil || liveErr != nil {
		return // the merge says what is wrong
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
			keys[k.name] = k.of(w)
		}
		y.fields(append(at, step{element{id.String(), true, i}, keys}), "", field{node: f.node}, former, h, w)
	}
}
