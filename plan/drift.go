// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Difference is a field of a live object that differs from the release's manifest.
type Difference struct {
	// Path is the path of the field: "spec.template.spec.containers[web].image". If only
	// the order of a list's items differs, it ends in " (order)".
	Path string
	// Want is the manifest's value and Have the live one; nil if there is none.
	Want, Have any
	// Secret is set for the data of Secrets, whose values must not be shown.
	Secret bool

	steps []pathStep // the path; an item's index is that in the patch, see [merger.locate]
}

// hasDrifted reports whether the live object differs from all old manifests.
func hasDrifted(item Item) bool { return len(Drift(item)) > 0 }

// driftPatch returns the patch from the live object to an old manifest. ok is false if the
// manifest is invalid.
func driftPatch(item Item, old map[string]any) (patch map[string]any, n *node, ok bool) {
	m := mergerOf(item)
	m.forDrift = true
	patch, _, err := m.mergeMaps("", m.rootField(item.Ref), nil, item.Live, asApplied(old))
	return patch, m.rootField(item.Ref).node, err == nil
}

// Drift returns the fields that the last of it.Old sets and another client has changed since,
// sorted by path. If it.Old has several manifests, the later ones belong to failed revisions
// and may never have been applied: a field that has the value of any of them has not drifted.
// Drift ignores it.New. [FindDrift] also finds added fields, and says who made the changes.
func Drift(item Item) []Difference {
	if item.Live == nil || len(item.Old) == 0 {
		return nil
	}
	var out []Difference
	for i, old := range slices.Backward(item.Old) {
		patch, n, ok := driftPatch(item, old)
		if !ok {
			continue
		}
		var here []Difference
		walkPatch(&here, nil, n, patch, item.Live)
		if i == len(item.Old)-1 {
			out = here
		}
		out = slices.DeleteFunc(out, func(d Difference) bool {
			return !slices.ContainsFunc(here, func(h Difference) bool { return h.Path == d.Path })
		})
		if len(out) == 0 {
			return nil
		}
	}
	for i := range out {
		out[i].Secret = secretField(item.Ref, out[i].steps)
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func walkPatch(out *[]Difference, path []pathStep, n *node, patch, live map[string]any) {
	for key, want := range patch {
		if strings.HasPrefix(key, "$") {
			walkOrder(out, path, key, n, patch, live)
			continue
		}
		here, f, have := below(path, keyStep(key)), n.field(key), live[key]
		w, isMap := want.(map[string]any)
		h, wasMap := have.(map[string]any)
		if isMap && wasMap && !f.replace {
			walkPatch(out, here, f.node, w, h)
			continue
		}
		l, isList := want.([]any)
		old, wasList := have.([]any)
		if isList && wasList && f.merge {
			walkItems(out, here, f, l, old)
			continue
		}
		*out = append(*out, Difference{Path: formatPath(here), Want: want, Have: have, steps: here})
	}
}

// below returns a copy of path with another step.
func below(path []pathStep, s pathStep) []pathStep { return append(slices.Clip(path), s) }

// keyStep returns the step to a key of a map.
func keyStep(key string) pathStep { return pathStep{element: element{name: key}} }

// orderSuffix follows the path of a list in a [Difference] if only its order differs.
const orderSuffix = " (order)"

// isOrder reports whether only the order of a list's items differs.
func (d Difference) isOrder() bool { return strings.HasSuffix(d.Path, orderSuffix) }

// walkOrder adds a list whose items differ only in their order.
func walkOrder(out *[]Difference, path []pathStep, key string, n *node, patch, live map[string]any) {
	list, ok := strings.CutPrefix(key, orderPrefix)
	if _, changed := patch[list]; !ok || changed {
		return
	}
	order := func(v any) []any {
		items, _ := v.([]any)
		ids, _ := n.field(list).identify(items)
		var keys []any
		for _, id := range ids {
			if id.more == "" {
				keys = append(keys, id.value)
			} else {
				keys = append(keys, id.String())
			}
		}
		return keys
	}
	here := below(path, keyStep(list))
	*out = append(*out, Difference{
		Path: formatPath(here) + orderSuffix, Want: order(patch[key]), Have: order(live[list]), steps: here,
	})
}

func walkItems(out *[]Difference, path []pathStep, f field, items, live []any) {
	ids, err := f.identify(items)
	liveIDs, liveErr := f.identify(live)
	if err != nil || liveErr != nil {
		return // lists that cannot be merged are not in a patch
	}
	for i, item := range items {
		w, ok := item.(map[string]any)
		if !ok {
			value := below(path, pathStep{element: element{name: fmt.Sprint(item), item: true, index: i}})
			*out = append(*out, Difference{Path: formatPath(path), Want: item, steps: value})
			continue
		}
		here := below(path, f.itemStep(ids[i], i, w))
		index := slices.Index(liveIDs, ids[i])
		if index < 0 {
			*out = append(*out, Difference{Path: formatPath(here), Want: item, steps: here})
			continue
		}
		w = without(w, f.key)
		for _, k := range f.more {
			delete(w, k.name)
		}
		walkPatch(out, here, f.node, w, live[index].(map[string]any))
	}
}

// itemStep returns the step to an item of a list that merges by key.
func (f field) itemStep(id id, index int, item map[string]any) pathStep {
	keys := map[string]any{f.key: f.keyOf(item)}
	for _, k := range f.more {
		keys[k.name] = k.valueIn(item)
	}
	return pathStep{element{id.String(), true, index}, keys}
}

// FieldPath returns the path of a key of the map at path, in the form of [Difference]: the key is in brackets if it
// contains a character that paths use.
func FieldPath(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
