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

// pathStep is one element of the path to a field of a manifest.
type pathStep struct {
	element
	keys map[string]any // the values of an item's keys
}

// element is a key of a map, or an item of a list.
type element struct {
	name  string // the key; of an item the values of its keys: "web", "53/UDP"
	item  bool
	index int // of an item, in the manifest
}

// formatPath returns a path as plans show it.
func formatPath(p []pathStep) string {
	path := ""
	for _, s := range p {
		if s.item {
			path += "[" + s.name + "]"
		} else {
			path = FieldPath(path, s.name)
		}
	}
	return path
}

// formatServerPath returns a path as the API server writes it:
// `.spec.containers[name="web"].image`.
func formatServerPath(path []pathStep) string {
	var b strings.Builder
	for _, s := range path {
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

// fieldConflict is a conflict and its path.
type fieldConflict struct {
	Conflict
	path []pathStep
}

// conflicts returns the fields of the manifest want that managers other than the release's
// have set to other values, and the fields for which the server has rejected want, with paths
// as the server writes them; sorted by path.
//
// It compares only values that managers have set in the manifest's API version: the server
// detects conflicts between versions. Fields of managers for which [Migrates] is true are no
// conflicts unless the server has rejected them, because they become the release's first.
func (m *merger) conflicts(r Ref, live, want map[string]any, rejected map[string]bool) []fieldConflict {
	var out []fieldConflict
	all := entries(live)
	known := make([]map[string]any, len(all))
	for i, e := range all {
		known[i] = e.fields
	}
	for _, e := range all {
		rejectedOnly := e.APIVersion != want["apiVersion"] || e.Subresource == "" && Migrates(e.Name)
		if e.isRelease() || e.isOtherHelm() || rejectedOnly && len(rejected) == 0 {
			continue
		}
		c := conflictFinder{merger: m, rejected: rejected, rejectedOnly: rejectedOnly}
		c.fields(nil, "", m.rootField(r), e.fields, known, want, live)
		for _, found := range c.found {
			found.Manager = e.Manager
			found.Secret = secretField(r, found.path)
			out = append(out, found)
		}
	}
	slices.SortStableFunc(out, func(a, b fieldConflict) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// secretField reports whether the values of a field must not be shown.
func secretField(r Ref, path []pathStep) bool {
	return r.Kind == "Secret" && (path[0].name == "data" || path[0].name == "stringData")
}

// conflictFinder compares a manifest with the fields of one manager.
type conflictFinder struct {
	*merger
	rejected     map[string]bool
	rejectedOnly bool // finds only fields that the server has rejected
	found        []fieldConflict
}

func (c *conflictFinder) add(path []pathStep, want, live any) {
	conflict := Conflict{Path: formatPath(path), Field: formatServerPath(path), Live: live, Chart: want}
	c.found = append(c.found, fieldConflict{conflict, slices.Clone(path)})
}

// isConflict reports whether a field that the manager owns as a whole is in conflict. known
// are the fields below it of all managers: if one owns fields below it, the field is not a
// single value, and a manager that owns only the field itself has set it to empty.
func (c *conflictFinder) isConflict(path []pathStep, parent string, known []map[string]any, want, live any) bool {
	if len(c.rejected) > 0 && c.rejected[formatServerPath(path)] {
		return true
	}
	m, isMap := live.(map[string]any)
	below := func(owned map[string]any) bool { return len(owned) > 0 }
	if c.rejectedOnly || isMap && len(m) == 0 || slices.ContainsFunc(known, below) {
		return false
	}
	return !c.sameValue(parent, path[len(path)-1].name, want, live)
}

// fields finds conflicts in a map under the key name. known are the fields in it of all
// managers.
func (c *conflictFinder) fields(path []pathStep, name string, f field, owned map[string]any,
	known []map[string]any, want, live map[string]any) {
	for key, w := range want {
		inner, owns := owned["f:"+key].(map[string]any)
		if !owns || f.skips(key) {
			continue
		}
		here := append(path, pathStep{element: element{name: key}})
		parts := mapsAt(known, "f:"+key)
		if len(inner) == 0 {
			if c.isConflict(here, name, parts, w, live[key]) {
				c.add(here, w, live[key])
			}
			continue
		}
		switch w := w.(type) {
		case map[string]any:
			if have, ok := live[key].(map[string]any); ok {
				c.fields(here, key, f.subfield(key), inner, parts, w, have)
			}
		case []any:
			if have, ok := live[key].([]any); ok {
				c.items(here, f.subfield(key), inner, parts, w, have)
			}
		}
	}
}

// items finds conflicts in the items of a list.
func (c *conflictFinder) items(path []pathStep, f field, owned map[string]any, known []map[string]any,
	want, live []any) {
	items, ok := ownedItems(owned)
	if !ok {
		return
	}
	for _, o := range items {
		i := slices.IndexFunc(want, func(w any) bool { return o.matches(f, w) })
		j := slices.IndexFunc(live, func(l any) bool { return o.matches(f, l) })
		if i < 0 || j < 0 || o.keys == nil {
			continue // plain values cannot be in conflict
		}
		w, have := want[i].(map[string]any), live[j].(map[string]any)
		here := append(path, pathStep{element{o.name(f, w), true, i}, o.keys})
		parts := mapsAt(known, o.path)
		if len(o.fields) > 0 {
			c.fields(here, "", field{node: f.node}, o.fields, parts, w, have)
		} else if c.isConflict(here, "", parts, w, have) {
			c.add(here, w, have)
		}
	}
}

// name returns the name of the item in paths.
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

// resolve sets the resolutions of the conflicts found. The object's annotation has precedence.
// Fields that an autoscaler sets yield to it, unless the policy is Take and the autoscaler
// certainly does not exist any more. Fields that were scaled by hand (kubectl scale) yield
// unless the policy is Take. Otherwise the policy decides.
func (o Options) resolve(r Ref, rules ownership, found []fieldConflict) {
	target := o.Autoscaled.nameOf(r)
	noAutoscaler := o.Conflicts == Take && slices.Contains(o.AutoscalerNamespaces, r.Namespace)
	for i := range found {
		c := &found[i]
		c.Resolution, c.Reason, c.Annotated = cmp.Or(o.Conflicts, Fail), "", false
		if annotated := rules.resolutionOf(c.path); annotated != "" {
			c.Resolution, c.Reason, c.Annotated = annotated, "annotation "+OwnershipAnnotation, true
		} else if by := scalerOf(c.Manager, c.path, target); by != "" && !(noAutoscaler && by == unknownAutoscaler) {
			c.Resolution, c.Reason = Yield, "scaled by "+by
		} else if c.Manager.Subresource == "scale" && o.Conflicts != Take {
			c.Resolution, c.Reason = Yield, "it was scaled"
		} else if Migrates(c.Manager.Name) {
			c.Resolution, c.Reason = Take, "it is applied by the release now"
		}
	}
	// If several managers set one field, it yields if it yields to one of them.
	for i := range found {
		for _, c := range found {
			if c.Path == found[i].Path && c.Resolution == Yield {
				found[i].Resolution, found[i].Reason, found[i].Annotated = c.Resolution, c.Reason, c.Annotated
			}
		}
	}
}

func conflictsOf(found []fieldConflict) []Conflict {
	var out []Conflict
	for _, c := range found {
		out = append(out, c.Conflict)
	}
	return out
}

// removeFields returns a manifest without the fields at the given paths. It removes maps that
// become empty; items of lists keep their keys.
func removeFields(want map[string]any, paths [][]pathStep) map[string]any {
	out, _ := editFields(want, paths, func(any) (any, bool) { return nil, false }).(map[string]any)
	return out
}

// editFields returns v with the values at the given paths replaced by the results of change,
// or removed if change returns false.
func editFields(v any, paths [][]pathStep, change func(any) (any, bool)) any {
	out, _ := editAt(v, paths, 0, change)
	return out
}

func editAt(v any, paths [][]pathStep, depth int, change func(any) (any, bool)) (any, bool) {
	below := map[element][][]pathStep{}
	for _, p := range paths {
		if len(p) == depth {
			return change(v)
		}
		below[p[depth].element] = append(below[p[depth].element], p)
	}
	if v == nil { // the path leads into a map that does not exist
		v = map[string]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k, paths := range below {
			if e, keep := editAt(v[k.name], paths, depth+1, change); keep {
				out[k.name] = e
			} else {
				delete(out, k.name)
			}
		}
		return out, len(out) > 0 || depth == 0
	case []any:
		out, removed := slices.Clone(v), map[int]bool{}
		for k, paths := range below {
			e, keep := editAt(v[k.index], paths, depth+1, change)
			out[k.index], removed[k.index] = e, !keep
		}
		kept := make([]any, 0, len(out))
		for i, e := range out {
			if !removed[i] {
				kept = append(kept, e)
			}
		}
		return kept, len(kept) > 0
	}
	return v, true
}

// MigratedFields divides the fields that a manager has set, for which [Migrates] is true, in
// an item's live object: taken are those in the old or new manifests, which become the
// release's, and rest are the others, which stay the manager's. fields, taken and rest are in
// the format of managedFields' fieldsV1; apiVersion is the entry's. Both results are nil if
// there is nothing to take, or if apiVersion is not that of the new manifest.
func MigratedFields(item Item, apiVersion string, fields map[string]any) (taken, rest map[string]any) {
	if item.New == nil || apiVersion != item.New["apiVersion"] {
		return nil, nil
	}
	m := mergerOf(item)
	return m.migratedFields(m.rootField(item.Ref), fields, append(oldObjects(item), normalize(item.New)))
}

// migratedFields divides owned into the fields that are in one of the manifests, and the rest.
// Both are nil if there is nothing to take.
func (m *merger) migratedFields(f field, owned map[string]any, manifests []map[string]any) (
	taken, rest map[string]any) {
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
		isSet := false
		for _, o := range manifests {
			v, has := o[key]
			isSet = isSet || has
			switch v := v.(type) {
			case map[string]any:
				maps = append(maps, v)
			case []any:
				lists = append(lists, v)
			}
		}
		var t, r map[string]any
		switch {
		case isSet && len(inner) == 0:
			taken[path] = fields
			continue
		case len(maps) > 0:
			t, r = m.migratedFields(f.subfield(key), inner, maps)
		case len(lists) > 0:
			t, r = m.migratedItems(f.subfield(key), inner, lists)
		}
		addParts(taken, rest, path, fields, t, r)
	}
	if len(taken) == 0 {
		return nil, nil
	}
	return taken, rest
}

// addParts sets the parts of fields at path: t in taken, and r in rest unless it is empty.
func addParts(taken, rest map[string]any, path string, fields any, t, r map[string]any) {
	if t == nil {
		rest[path] = fields
		return
	}
	taken[path] = t
	if _, itself := r["."]; len(r) > 1 || len(r) == 1 && !itself {
		rest[path] = r
	}
}

func (m *merger) migratedItems(f field, owned map[string]any, lists [][]any) (taken, rest map[string]any) {
	items, ok := ownedItems(owned)
	if !ok {
		return nil, nil
	}
	taken, rest = map[string]any{}, map[string]any{}
	for _, o := range items {
		var same []map[string]any
		isSet := false
		for _, list := range lists {
			if i := slices.IndexFunc(list, func(v any) bool { return o.matches(f, v) }); i >= 0 {
				isSet = true
				if item, isMap := list[i].(map[string]any); isMap {
					same = append(same, item)
				}
			}
		}
		fields := any(o.fields)
		switch {
		case isSet && len(o.fields) == 0:
			taken[o.path] = fields
		case len(same) > 0:
			t, r := m.migratedFields(field{node: f.node}, o.fields, same)
			if t != nil {
				t["."] = map[string]any{}
			}
			addParts(taken, rest, o.path, fields, t, r)
		default:
			rest[o.path] = fields
		}
	}
	if self, has := owned["."]; has {
		rest["."] = self
	}
	if len(taken) == 0 {
		return nil, nil
	}
	return taken, rest
}
