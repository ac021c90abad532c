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
// Drift ignores it.New.
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
		walkPatch(&here, "", n, patch, item.Live)
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
		out[i].Secret = item.Kind == "Secret" &&
			(strings.HasPrefix(out[i].Path, "data") || strings.HasPrefix(out[i].Path, "stringData"))
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func walkPatch(out *[]Difference, path string, n *node, patch, live map[string]any) {
	for key, want := range patch {
		if strings.HasPrefix(key, "$") {
			walkOrder(out, path, key, n, patch, live)
			continue
		}
		here, f, have := FieldPath(path, key), n.field(key), live[key]
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
		*out = append(*out, Difference{Path: here, Want: want, Have: have})
	}
}

// walkOrder adds a list whose items differ only in their order.
func walkOrder(out *[]Difference, path, key string, n *node, patch, live map[string]any) {
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
	*out = append(*out, Difference{
		Path: FieldPath(path, list) + " (order)", Want: order(patch[key]), Have: order(live[list]),
	})
}

func walkItems(out *[]Difference, path string, f field, items, live []any) {
	ids, err := f.identify(items)
	liveIDs, liveErr := f.identify(live)
	if err != nil || liveErr != nil {
		return // lists that cannot be merged are not in a patch
	}
	for i, item := range items {
		w, ok := item.(map[string]any)
		if !ok {
			*out = append(*out, Difference{Path: path, Want: item})
			continue
		}
		here := fmt.Sprintf("%s[%v]", path, ids[i])
		index := slices.Index(liveIDs, ids[i])
		if index < 0 {
			*out = append(*out, Difference{Path: here, Want: item})
			continue
		}
		w = without(w, f.key)
		for _, k := range f.more {
			delete(w, k.name)
		}
		walkPatch(out, here, f.node, w, live[index].(map[string]any))
	}
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
