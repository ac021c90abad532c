// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// step is one element of the path to a field of a manifest.
type step struct {
	element
	keys map[string]any // the values of an item's keys
}

// element is a key of a map, or an item of a list.
type element struct {
	name  string // the key; of an item what its keys say: "web", "53/UDP"
	item  bool
	index int // of an item, in the manifest
}

// stepsText is a path as plans show it.
func stepsText(at []step) string {
	path := ""
	for _, s := range at {
		if s.item {
			path += "[" + s.name + "]"
		} else {
			path = join(path, s.name)
		}
	}
	return path
}

// serverText is a path as the API server writes it: `.spec.containers[name="web"].image`.
func serverText(at []step) string {
	var b strings.Builder
	for _, s := range at {
		if !s.item {
			b.WriteString("." + s.name)
			continue
		}
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(s.keys)) {
			value := fmt.Sprint(s.keys[key])
			if text, isText := s.keys[key].(string); isText {
				value = strconv.Quote(text)
			}
			pairs = append(pairs, key+"="+value)
		}
		b.WriteString("[" + strings.Join(pairs, ",") + "]")
	}
	return b.String()
}

// claim is a field that another manager has set to another value.
type claim struct {
	Conflict
	at []step
}

// claims finds the fields of want, the manifest, which other managers than the
// release's have set to other values, and those for which the server has refused
// want, by its own paths; sorted by path.
//
// metadata.managedFields tell of values in the manifest's API version: of what
// managers have set in another one only the server can tell. What managers have set
// that join the release is none, for it becomes the release's before, unless the
// server refuses it.
func (m *merger) claims(r Ref, live, want map[string]any, refused map[string]bool) []claim {
	var out []claim
	all := entries(live)
	known := make([]map[string]any, len(all))
	for i, e := range all {
		known[i] = e.fields
	}
	for _, e := range all {
		told := e.APIVersion != want["apiVersion"] || e.Subresource == "" && Migrates(e.Name)
		if e.releases() || e.former() || told && len(refused) == 0 {
			continue
		}
		c := contest{merger: m, refused: refused, told: told}
		c.fields(nil, "", m.rootField(r), e.fields, known, want, live)
		for _, found := range c.found {
			found.Manager = e.Manager
			found.Secret = secretField(r, found.at)
			out = append(out, found)
		}
	}
	slices.SortStableFunc(out, func(a, b claim) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// secretField reports whether a field of an object is not for showing.
func secretField(r Ref, at []step) bool {
	return r.Kind == "Secret" && (at[0].name == "data" || at[0].name == "stringData")
}

// contest compares a manifest with what one manager has set.
type contest struct {
	*merger
	refused map[string]bool
	told    bool // only what the server has refused counts
	found   []claim
}

func (c *contest) add(at []step, want, live any) {
	conflict := Conflict{Path: stepsText(at), Field: serverText(at), Live: live, Chart: want}
	c.found = append(c.found, claim{conflict, slices.Clone(at)})
}

// disagrees reports whether a field that the manager owns without more is a conflict.
// known is what all managers own below it: where one does, the field is not a single
// value, and who owns nothing but the field itself has set it empty.
func (c *contest) disagrees(at []step, parent string, known []map[string]any, want, live any) bool {
	if len(c.refused) > 0 && c.refused[serverText(at)] {
		return true
	}
	m, isMap := live.(map[string]any)
	below := func(owned map[string]any) bool { return len(owned) > 0 }
	if c.told || isMap && len(m) == 0 || slices.ContainsFunc(known, below) {
		return false
	}
	return !c.same(parent, at[len(at)-1].name, want, live)
}

// fields compares a map, which is under name. known is what all managers own of it.
func (c *contest) fields(at []step, name string, f field, owned map[string]any, known []map[string]any, want,
	live map[string]any) {
	for key, w := range want {
		inner, owns := owned["f:"+key].(map[string]any)
		if !owns || f.skips(key) {
			continue
		}
		here := append(at, step{element: element{name: key}})
		parts := mapsAt(known, "f:"+key)
		if len(inner) == 0 {
			if c.disagrees(here, name, parts, w, live[key]) {
				c.add(here, w, live[key])
			}
			continue
		}
		switch w := w.(type) {
		case map[string]any:
			if have, ok := live[key].(map[string]any); ok {
				c.fields(here, key, f.below(key), inner, parts, w, have)
			}
		case []any:
			if have, ok := live[key].([]any); ok {
				c.items(here, f.below(key), inner, parts, w, have)
			}
		}
	}
}

// items compares a list, item by item.
func (c *contest) items(at []step, f field, owned map[string]any, known []map[string]any, want, live []any) {
	items, ok := ownedItems(owned)
	if !ok {
		return
	}
	for _, o := range items {
		i := slices.IndexFunc(want, func(w any) bool { return o.is(f, w) })
		j := slices.IndexFunc(live, func(l any) bool { return o.is(f, l) })
		if i < 0 || j < 0 || o.keys == nil {
			continue // plain values are there or not
		}
		w, have := want[i].(map[string]any), live[j].(map[string]any)
		here := append(at, step{element{o.name(f, w), true, i}, o.keys})
		parts := mapsAt(known, o.path)
		if len(o.fields) > 0 {
			c.fields(here, "", field{node: f.node}, o.fields, parts, w, have)
		} else if c.disagrees(here, "", parts, w, have) {
			c.add(here, w, have)
		}
	}
}

// name is the item as paths show it.
func (o ownedItem) name(f field, item map[string]any) string {
	if f.merge && f.key != "" {
		if ids, err := f.identify([]any{item}); err == nil {
			return ids[0].String()
		}
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(o.keys)) {
		parts = append(parts, fmt.Sprint(o.keys[key]))
	}
	return strings.Join(parts, "/")
}

// resolve says of each claim what becomes of it: the object's annotation decides,
// then what an autoscaler sets stays its own, then the policy. What is scaled by
// hand (kubectl scale), or by an autoscaler that is known to be there no more, stays
// too, unless the policy is to take.
func (o Options) resolve(r Ref, own ownership, claims []claim) {
	target := o.Autoscaled.of(r)
	gone := o.Conflicts == Take && slices.Contains(o.AutoscalerNamespaces, r.Namespace)
	for i := range claims {
		c := &claims[i]
		c.Resolution, c.Reason, c.Annotated = cmp.Or(o.Conflicts, Fail), "", false
		if said := own.of(c.at); said != "" {
			c.Resolution, c.Reason, c.Annotated = said, "annotation "+OwnershipAnnotation, true
		} else if by := scaler(c.Manager, c.at, target); by != "" && !(gone && by == anAutoscaler) {
			c.Resolution, c.Reason = Yield, "scaled by "+by
		} else if c.Manager.Subresource == "scale" && o.Conflicts != Take {
			c.Resolution, c.Reason = Yield, "it was scaled"
		} else if Migrates(c.Manager.Name) {
			c.Resolution, c.Reason = Take, "it is applied by the release now"
		}
	}
	// Of several managers of one field one that it is left to decides.
	for i := range claims {
		for _, c := range claims {
			if c.Path == claims[i].Path && c.Resolution == Yield {
				claims[i].Resolution, claims[i].Reason, claims[i].Annotated = c.Resolution, c.Reason, c.Annotated
			}
		}
	}
}

func conflictsOf(claims []claim) []Conflict {
	var out []Conflict
	for _, c := range claims {
		out = append(out, c.Conflict)
	}
	return out
}

// leaveOut is a manifest without the fields at the given paths. Maps that held
// nothing else are left out as well; items of lists keep what names them.
func leaveOut(want map[string]any, paths [][]step) map[string]any {
	out, _ := edit(want, paths, func(any) (any, bool) { return nil, false }).(map[string]any)
	return out
}

// edit is v with the values at the given paths as change makes them; those for
// which it reports false go.
func edit(v any, paths [][]step, change func(any) (any, bool)) any {
	out, _ := edited(v, paths, 0, change)
	return out
}

func edited(v any, paths [][]step, depth int, change func(any) (any, bool)) (any, bool) {
	below := map[element][][]step{}
	for _, p := range paths {
		if len(p) == depth {
			return change(v)
		}
		below[p[depth].element] = append(below[p[depth].element], p)
	}
	if v == nil { // a map that is not there, and a field below it is
		v = map[string]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k, paths := range below {
			if e, keep := edited(v[k.name], paths, depth+1, change); keep {
				out[k.name] = e
			} else {
				delete(out, k.name)
			}
		}
		return out, len(out) > 0 || depth == 0
	case []any:
		out, gone := slices.Clone(v), map[int]bool{}
		for k, paths := range below {
			e, keep := edited(v[k.index], paths, depth+1, change)
			out[k.index], gone[k.index] = e, !keep
		}
		kept := make([]any, 0, len(out))
		for i, e := range out {
			if !gone[i] {
				kept = append(kept, e)
			}
		}
		return kept, len(kept) > 0
	}
	return v, true
}

// MigratedFields divides the fields that a manager of the kind [Migrates] has set in an item's live
// object: taken are those that the old or new manifests have, which become the release's,
// rest those that stay the manager's. fields, taken and rest are in the format of
// managedFields' fieldsV1; apiVersion is the entry's. Both are nil where there is nothing
// to take, and where apiVersion is not that of the new manifest.
func MigratedFields(it Item, apiVersion string, fields map[string]any) (taken, rest map[string]any) {
	if it.New == nil || apiVersion != it.New["apiVersion"] {
		return nil, nil
	}
	m := mergerOf(it)
	return m.joined(m.rootField(it.Ref), fields, append(oldObjects(it), normalize(it.New)))
}

// joined parts the fields that managers of the kind [Migrates] have set by what the
// release says, or has said, of the same object: taken become the release's, rest
// stays. Both are nil where there is nothing to take.
func (m *merger) joined(f field, owned map[string]any, manifests []map[string]any) (taken, rest map[string]any) {
	taken, rest = map[string]any{}, map[string]any{}
	for path, fields := range owned {
		inner, _ := fields.(map[string]any)
		key, isField := strings.CutPrefix(path, "f:")
		if !isField || f.skips(key) {
			rest[path] = fields
			continue
		}
		var maps []map[string]any
		var lists [][]any
		says := false
		for _, o := range manifests {
			v, has := o[key]
			says = says || has
			switch v := v.(type) {
			case map[string]any:
				maps = append(maps, v)
			case []any:
				lists = append(lists, v)
			}
		}
		var t, r map[string]any
		switch {
		case says && len(inner) == 0:
			taken[path] = fields
			continue
		case len(maps) > 0:
			t, r = m.joined(f.below(key), inner, maps)
		case len(lists) > 0:
			t, r = m.joinedItems(f.below(key), inner, lists)
		}
		keepParts(taken, rest, path, fields, t, r)
	}
	if len(taken) == 0 {
		return nil, nil
	}
	return taken, rest
}

// keepParts puts under path what was taken of fields, and what of them is left.
func keepParts(taken, rest map[string]any, path string, fields any, t, r map[string]any) {
	if t == nil {
		rest[path] = fields
		return
	}
	taken[path] = t
	if _, itself := r["."]; len(r) > 1 || len(r) == 1 && !itself {
		rest[path] = r
	}
}

func (m *merger) joinedItems(f field, owned map[string]any, lists [][]any) (taken, rest map[string]any) {
	items, ok := ownedItems(owned)
	if !ok {
		return nil, nil
	}
	taken, rest = map[string]any{}, map[string]any{}
	for _, o := range items {
		var same []map[string]any
		says := false
		for _, list := range lists {
			if i := slices.IndexFunc(list, func(v any) bool { return o.is(f, v) }); i >= 0 {
				says = true
				if item, isMap := list[i].(map[string]any); isMap {
					same = append(same, item)
				}
			}
		}
		fields := any(o.fields)
		switch {
		case says && len(o.fields) == 0:
			taken[o.path] = fields
		case len(same) > 0:
			t, r := m.joined(field{node: f.node}, o.fields, same)
			if t != nil {
				t["."] = map[string]any{}
			}
			keepParts(taken, rest, o.path, fields, t, r)
		default:
			rest[o.path] = fields
		}
	}
	if own, has := owned["."]; has {
		rest["."] = own
	}
	if len(taken) == 0 {
		return nil, nil
	}
	return taken, rest
}
