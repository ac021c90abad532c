// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Difference is a field that is not what the release's manifest says.
type Difference struct {
	// Path is where it stands: "spec.template.spec.containers[web].image".
	Path string
	// Want is what the manifest says, Have what is there, nil for nothing.
	Want, Have any
	// Secret tells that the values are not for showing.
	Secret bool
}

// drifted tells whether the object is not what its newest old manifest says.
func drifted(it Item) bool {
	patch, _ := drift(it)
	return patch != nil
}

// drift is the patch that would make the object what its newest old manifest
// says again. A manifest that no cluster can have accepted says nothing.
func drift(it Item) (map[string]any, *node) {
	n := len(it.Old)
	if it.Live == nil || n == 0 {
		return nil, nil
	}
	m := mergerOf(it)
	m.past = true
	patch, _, err := m.fields("", m.top(it.Ref), nil, it.Live, normal(it.Old[n-1]))
	if err != nil {
		return nil, nil
	}
	return patch, m.top(it.Ref).node
}

// Drift lists the fields that the newest old manifest sets and that somebody
// has changed since, by their paths.
func Drift(it Item) []Difference {
	patch, n := drift(it)
	var out []Difference
	walkPatch(&out, "", n, patch, it.Live)
	for i := range out {
		out[i].Secret = it.Kind == "Secret" && (strings.HasPrefix(out[i].Path, "data") || strings.HasPrefix(out[i].Path, "stringData"))
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
		here, f, have := join(path, key), n.field(key), live[key]
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

// walkOrder reports a list whose items are all as they should be, but stand in
// another order.
func walkOrder(out *[]Difference, path, key string, n *node, patch, live map[string]any) {
	list, ok := strings.CutPrefix(key, orderPrefix)
	if _, changed := patch[list]; !ok || changed {
		return
	}
	order := func(v any) []any {
		items, _ := v.([]any)
		ids, _, _ := identify(items, n.field(list).key)
		var keys []any
		for _, id := range ids {
			keys = append(keys, id.value)
		}
		return keys
	}
	*out = append(*out, Difference{Path: join(path, list) + " (order)", Want: order(patch[key]), Have: order(live[list])})
}

func walkItems(out *[]Difference, path string, f field, items, live []any) {
	for _, item := range items {
		w, ok := item.(map[string]any)
		if !ok {
			*out = append(*out, Difference{Path: path, Want: item})
			continue
		}
		here := fmt.Sprintf("%s[%v]", path, w[f.key])
		at := slices.IndexFunc(live, func(l any) bool {
			m, ok := l.(map[string]any)
			return ok && equal(m[f.key], w[f.key])
		})
		if at < 0 {
			*out = append(*out, Difference{Path: here, Want: item})
			continue
		}
		have := live[at].(map[string]any)
		walkPatch(out, here, f.node, without(w, f.key), have)
	}
}

// join adds a key to a path; one that looks like a path stands in brackets.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
