// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
	"slices"
)

// DisplacedField is a field of the live object that excludes one that the release sets, such as
// minAvailable and maxUnavailable of a PodDisruptionBudget. Server-side apply removes it
// only if the release is its manager.
type DisplacedField struct {
	// Path is the field's, in the elements of managedFields: "f:spec", "f:maxUnavailable".
	Path []string

	field, by    []step // the field, and the release's for which it goes
	live, byLive any    // what is there
}

// displacing finds what has to go for the fields of a manifest.
type displacing struct {
	*merger
	found []DisplacedField
}

// displaced are the fields of live that have to go for want's, all of an object.
func (m *merger) displaced(r Ref, live, want map[string]any) []DisplacedField {
	if !m.builtIn {
		return nil
	}
	d := displacing{merger: m}
	d.fields(nil, nil, m.rootField(r), live, want)
	return d.found
}

func (d *displacing) fields(at []step, path []string, f field, live, want map[string]any) {
	if f.node == nil {
		return
	}
	for _, u := range f.node.unions {
		for _, name := range u.unwanted(live, want) {
			d.add(at, path, name, u.named(want), live)
		}
	}
	if f.retain && len(f.node.unions) == 0 {
		d.retained(at, path, live, want)
	}
	for key, w := range want {
		have, below := live[key], f.below(key)
		if have == nil || below.node == nil || f.skips(key) {
			continue
		}
		here, inner := append(slices.Clip(at), step{element: element{name: key}}), append(slices.Clip(path), "f:"+key)
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

// retained looks at a map of which want has a field that live has not, such as a volume
// of another kind: then what want does not name has to go.
func (d *displacing) retained(at []step, path []string, live, want map[string]any) {
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
			d.add(at, path, key, by, live)
		}
	}
}

func (d *displacing) items(at []step, path []string, f field, live, want []any) {
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
		keys := map[string]any{f.key: f.keyOf(w)}
		for _, k := range f.more {
			keys[k.name] = k.of(w)
		}
		text, err := json.Marshal(keys)
		if err != nil {
			continue
		}
		here := append(slices.Clip(at), step{element{id.String(), true, i}, keys})
		d.fields(here, append(slices.Clip(path), "k:"+string(text)), field{node: f.node, retain: f.retain}, h, w)
	}
}

func (d *displacing) add(at []step, path []string, name, by string, live map[string]any) {
	below := func(name string) []step { return append(slices.Clip(at), step{element: element{name: name}}) }
	d.found = append(d.found, DisplacedField{
		Path: append(slices.Clip(path), "f:"+name), field: below(name), by: below(by), live: live[name], byLive: live[by],
	})
}

// named is the field of the union that want names, the one that says which first.
func (u union) named(want map[string]any) string {
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

// unwanted are the fields of a union that want does not name, and live has, where want
// names another: the server would refuse both.
func (u union) unwanted(live, want map[string]any) []string {
	chosen, named := "", false
	for _, m := range u.members {
		if want[m.name] != nil {
			chosen, named = m.when, true
		}
	}
	says, saying := want[u.by].(string)
	if u.by != "" && saying {
		chosen = says
	} else if !named {
		return nil
	}
	var out []string
	for _, m := range u.members {
		if want[m.name] == nil && live[m.name] != nil && (u.by == "" || m.when != chosen) {
			out = append(out, m.name)
		}
	}
	if u.by != "" && !saying && live[u.by] != nil && live[u.by] != chosen {
		out = append(out, u.by)
	}
	return out
}

// ownsPath reports whether an entry of managedFields has a field, or fields below it.
func (e entry) ownsPath(path []string, at []step) bool {
	fields := e.fields
	for i, key := range path {
		next, ok := fields[key].(map[string]any)
		if !ok && at[i].item { // its keys may be written otherwise
			items, _ := ownedItems(fields)
			for _, item := range items {
				if maps.EqualFunc(item.keys, at[i].keys, equal) {
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

// displace has the step remove what has to go for the fields of want, unless the release
// alone has set it, which goes anyway. What another manager has set is left to it where
// the policy or the object's annotation says so; those are returned.
func (s *Step) displace(m *merger, o Options, own ownership, want map[string]any) (left []DisplacedField) {
	all := entries(s.Live)
	for _, d := range m.displaced(s.Ref, s.Live, want) {
		var other *Manager
		mine := false
		for _, e := range all {
			switch {
			case !e.ownsPath(d.Path, d.field):
			case e.releases(), e.former():
				mine = true
			default:
				other = &e.Manager
			}
		}
		if other == nil {
			if !mine {
				s.Displaced = append(s.Displaced, d) // a default of the server's
			}
			continue
		}
		c := Conflict{
			Path: stepsText(d.field), Field: serverText(d.field), Manager: *other, Live: d.live, Secret: secretField(s.Ref,
				d.field),
			Excluded: true, Resolution: Take, Reason: "the server takes one of it and " + stepsText(d.by),
		}
		switch said := own.of(d.by); {
		case said == Yield || said == "" && o.Conflicts == Yield:
			c.Resolution = Yield
			left = append(left, d)
		default:
			if said == Fail {
				c.Resolution = Fail
			}
			s.Displaced = append(s.Displaced, d)
		}
		s.Conflicts = append(s.Conflicts, c)
	}
	return left
}
