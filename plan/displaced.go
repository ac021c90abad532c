// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
	"slices"
)

// A DisplacedField is a field of the live object that the server does not accept together with
// one that the release sets, such as minAvailable and maxUnavailable of a PodDisruptionBudget.
// Server-side apply removes it only if the release is its manager.
type DisplacedField struct {
	// Path is the path of the field in the elements of managedFields: "f:spec",
	// "f:maxUnavailable".
	Path []string

	field, replacement    []pathStep // the field, and the release's field that displaces it
	live, replacementLive any        // their live values
}

// displacedFinder finds the displaced fields of an object.
type displacedFinder struct {
	*merger
	found []DisplacedField
}

// displacedFields returns the fields of live that the server does not accept together with
// those of want.
func (m *merger) displacedFields(r Ref, live, want map[string]any) []DisplacedField {
	if !m.builtIn {
		return nil
	}
	d := displacedFinder{merger: m}
	d.fields(nil, nil, m.rootField(r), live, want)
	return d.found
}

func (d *displacedFinder) fields(p []pathStep, path []string, f field, live, want map[string]any) {
	if f.node == nil {
		return
	}
	for _, u := range f.node.unions {
		for _, name := range u.excludedFields(live, want) {
			d.add(p, path, name, u.chosenField(want), live)
		}
	}
	if f.retain && len(f.node.unions) == 0 {
		d.addUnretained(p, path, live, want)
	}
	for key, w := range want {
		have, below := live[key], f.subfield(key)
		if have == nil || below.node == nil || f.skips(key) {
			continue
		}
		here, inner := append(slices.Clip(p), pathStep{element: element{name: key}}), append(slices.Clip(path), "f:"+key)
		switch w := w.(type) {
		case map[string]any:
			if h, ok := have.(map[string]any); ok {
				d.fields(here, inner, below, h, w)
			}
		case []any:
			if h, ok := have.([]any); ok && below.merge && below.key != "" {
				d.items(here, inner, below, h, w)
			}
		}
	}
}

// addUnretained adds the fields of a map that want does not have, if want has a field that
// live does not have, such as a volume of another kind.
func (d *displacedFinder) addUnretained(p []pathStep, path []string, live, want map[string]any) {
	by := ""
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if want[key] != nil && live[key] == nil {
			by = key
		}
	}
	if by == "" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(live)) {
		if want[key] == nil {
			d.add(p, path, key, by, live)
		}
	}
}

func (d *displacedFinder) items(p []pathStep, path []string, f field, live, want []any) {
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
		keys := map[string]any{f.key: f.keyOf(w)}
		for _, k := range f.more {
			keys[k.name] = k.valueIn(w)
		}
		text, err := json.Marshal(keys)
		if err != nil {
			continue
		}
		here := append(slices.Clip(p), pathStep{element{id.String(), true, i}, keys})
		d.fields(here, append(slices.Clip(path), "k:"+string(text)), field{node: f.node, retain: f.retain}, h, w)
	}
}

func (d *displacedFinder) add(p []pathStep, path []string, name, by string, live map[string]any) {
	below := func(name string) []pathStep { return append(slices.Clip(p), pathStep{element: element{name: name}}) }
	d.found = append(d.found, DisplacedField{
		Path: append(slices.Clip(path), "f:"+name), field: below(name), replacement: below(by),
		live: live[name], replacementLive: live[by],
	})
}

// chosenField returns the field of the union that want sets, preferring the discriminator, or
// "".
func (u union) chosenField(want map[string]any) string {
	if u.by != "" && want[u.by] != nil {
		return u.by
	}
	for _, m := range u.members {
		if want[m.name] != nil {
			return m.name
		}
	}
	return ""
}

// excludedFields returns the fields of a union in live that want does not set, if want sets
// another field of the union: the server would reject both.
func (u union) excludedFields(live, want map[string]any) []string {
	chosen, named := "", false
	for _, m := range u.members {
		if want[m.name] != nil {
			chosen, named = m.when, true
		}
	}
	value, hasValue := want[u.by].(string)
	if u.by != "" && hasValue {
		chosen = value
	} else if !named {
		return nil
	}
	var out []string
	for _, m := range u.members {
		if want[m.name] == nil && live[m.name] != nil && (u.by == "" || m.when != chosen) {
			out = append(out, m.name)
		}
	}
	if u.by != "" && !hasValue && live[u.by] != nil && live[u.by] != chosen {
		out = append(out, u.by)
	}
	return out
}

// ownsPath reports whether a managedFields entry contains a field, or fields below it.
func (e entry) ownsPath(path []string, p []pathStep) bool {
	fields := e.fields
	for i, key := range path {
		next, ok := fields[key].(map[string]any)
		if !ok && p[i].item { // the keys may be in another order
			items, _ := ownedItems(fields)
			for _, item := range items {
				if maps.EqualFunc(item.keys, p[i].keys, equal) {
					next, ok = item.fields, true
				}
			}
		}
		if !ok {
			return false
		}
		fields = next
	}
	return true
}

// displace adds the displaced fields to s. Fields that only the release has set are not added:
// server-side apply removes them anyway. Fields of another manager stay if the policy or the
// object's annotation says yield; displace returns those.
func (s *Step) displace(m *merger, o Options, rules ownership, want map[string]any) (left []DisplacedField) {
	all := entries(s.Live)
	for _, d := range m.displacedFields(s.Ref, s.Live, want) {
		var other *Manager
		ownedByRelease := false
		for _, e := range all {
			switch {
			case !e.ownsPath(d.Path, d.field):
			case e.isRelease(), e.isOtherHelm():
				ownedByRelease = true
			default:
				other = &e.Manager
			}
		}
		if other == nil {
			if !ownedByRelease {
				s.Displaced = append(s.Displaced, d) // a default of the server
			}
			continue
		}
		c := Conflict{
			Path: formatPath(d.field), Field: formatServerPath(d.field), Manager: *other,
			Live: d.live, Secret: secretField(s.Ref, d.field),
			Excluded: true, Resolution: Take, Reason: "the server takes one of it and " + formatPath(d.replacement),
		}
		switch annotated := rules.resolutionOf(d.replacement); {
		case annotated == Yield || annotated == "" && o.Conflicts == Yield:
			c.Resolution = Yield
			left = append(left, d)
		default:
			if annotated == Fail {
				c.Resolution = Fail
			}
			s.Displaced = append(s.Displaced, d)
		}
		s.Conflicts = append(s.Conflicts, c)
	}
	return left
}
