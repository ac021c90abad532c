// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
)

// stringOf returns a plain value as paths show it.
func stringOf(v any) string { return fmt.Sprint(v) }

// addedFields returns the fields of the live object that another client has set and no manifest
// of the release does: neither the server as their default, nor admission.
func addedFields(item Item, managers managedEntries) []DriftedField {
	m := mergerOf(item)
	m.forDrift = true
	a := addedFinder{merger: m}
	a.fields(nil, "", m.rootField(item.Ref), oldObjects(item), item.Live, managers.owners())
	return a.found
}

// owner is a manager with the fields that it has set in a map or list.
type owner struct {
	Manager
	fields map[string]any
}

// addedFinder finds the fields that a release does not set.
type addedFinder struct {
	*merger
	found []DriftedField
}

// add adds a field, set by the latest of its owners.
func (a *addedFinder) add(path []pathStep, want, have any, owners []owner) {
	f := DriftedField{Kind: DriftAdded, Difference: Difference{Path: formatPath(path), Want: want, Have: have,
		steps: path}}
	if want != nil {
		f.Kind = DriftChanged
	}
	for _, o := range owners {
		if f.Manager.Name == "" || o.Time > f.Manager.Time {
			f.Manager = o.Manager
		}
	}
	a.found = append(a.found, f)
}

// fields finds added fields in a map under the key name. olds are the manifests' maps.
func (a *addedFinder) fields(path []pathStep, name string, f field, olds []map[string]any, live map[string]any,
	owners []owner) {
	for _, key := range slices.Sorted(maps.Keys(live)) {
		within := ownersIn(owners, keyStep(key))
		if f.skips(key) || live[key] == nil || !hasOther(within) {
			continue
		}
		here, sub := below(path, keyStep(key)), f.subfield(key)
		want, set := a.wanted(name, key, olds)
		switch have := live[key].(type) {
		case map[string]any:
			if set && sub.replace {
				continue // compared as a whole
			}
			if set || a.isShared(name, key, within) {
				a.fields(here, key, sub, mapsAt(olds, key), have, within)
				continue
			}
		case []any:
			if sub.merge && (set || hasHelm(within)) {
				a.items(here, sub, listsAt(olds, key), have, within)
				continue
			}
		}
		if !set && !hasHelm(within) && (want == nil || !a.sameValue(name, key, want, live[key])) {
			a.add(here, want, live[key], within)
		}
	}
}

// wanted returns the value of key in the last manifest, and whether any of them sets it. A value
// that the API takes for none does not set it.
func (a *addedFinder) wanted(name, key string, olds []map[string]any) (want any, set bool) {
	for _, old := range olds {
		if v := old[key]; v != nil {
			want = v
			set = set || v == false || !a.isZero(name, key, v)
		}
	}
	return want, set
}

// isShared reports whether several managers have set what is in a map, or other clients add to it.
func (a *addedFinder) isShared(name, key string, owners []owner) bool {
	if a.isLabels(name, key) || a.builtIn && key == "metadata" {
		return true
	}
	return len(owners) > 1 && slices.ContainsFunc(owners, func(o owner) bool { return len(o.fields) > 0 })
}

// items finds added items of a list, and added fields in its other items.
func (a *addedFinder) items(path []pathStep, f field, olds [][]any, live []any, owners []owner) {
	ids, err := f.identify(live)
	if err != nil {
		return
	}
	for i, item := range live {
		step := pathStep{element: element{name: stringOf(item), item: true, index: i}}
		object, isMap := item.(map[string]any)
		if isMap && f.key == "" {
			return // a list of the server that this package cannot merge
		}
		if isMap {
			step = f.itemStep(ids[i], i, object)
		}
		within := ownersIn(owners, step)
		if !hasOther(within) {
			continue
		}
		former, set := f.former(olds, item)
		switch here := below(path, step); {
		case set && isMap:
			a.fields(here, "", field{node: f.node}, former, object, within)
		case !set && !hasHelm(within):
			a.add(here, nil, item, within)
		}
	}
}

// former returns the item in the manifests, and whether any has it.
func (f field) former(olds [][]any, item any) (former []map[string]any, set bool) {
	object, isMap := item.(map[string]any)
	for _, old := range olds {
		for _, o := range old {
			was, wasMap := o.(map[string]any)
			switch {
			case isMap && wasMap && f.sameItem(was, object):
				former, set = append(former, was), true
			case !isMap && equal(o, item):
				set = true
			}
		}
	}
	return former, set
}

// ownersIn returns the owners that have set a field, or a part of it. If no owner has set parts of
// the map or list that the field is in, each has set it as a whole.
func ownersIn(owners []owner, s pathStep) []owner {
	if !slices.ContainsFunc(owners, func(o owner) bool { return len(o.fields) > 0 }) {
		return owners
	}
	var out []owner
	for _, o := range owners {
		if fields, ok := s.in(o.fields); ok {
			out = append(out, owner{o.Manager, fields})
		}
	}
	return out
}

// hasHelm reports whether Helm is among the owners, and hasOther whether another client is.
func hasHelm(owners []owner) bool {
	return slices.ContainsFunc(owners, func(o owner) bool { return IsHelm(o.Name) })
}

func hasOther(owners []owner) bool {
	return slices.ContainsFunc(owners, func(o owner) bool { return !IsHelm(o.Name) })
}
