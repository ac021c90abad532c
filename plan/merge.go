// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merger merges one object. It does not change its arguments: results share unchanged parts
// with them.
//
// The rules are those of Kubernetes' strategic merge patch for built-in kinds, and of JSON
// merge patch for other kinds, with two differences. Maps and lists to which other clients add,
// such as labels, annotations and lists that merge by key, are never removed as a whole. And
// values that the API treats as equal are equal: an empty list or string and a missing one,
// 1000m and 1, a default and a missing value.
type merger struct {
	table   *table
	builtIn bool // uses the rules of built-in kinds
	olds    int  // the number of old manifests
	// wholeLists is set if a strategic merge patch cannot express a change: it identifies
	// the items of a list by one key, and merges items with the same value of it.
	wholeLists bool
	// forDrift is set if an old manifest is compared with the live object: then the server
	// may have set fields that are null or empty in the manifest.
	forDrift bool
}

// problem is an error about a value at a path.
type problem struct{ path, text string }

func (p *problem) Error() string { return p.path + ": " + p.text }

// prefixPath prepends key to the path of a problem.
func prefixPath(key string, err error) error {
	if p, ok := err.(*problem); ok {
		sep := "."
		if p.path == "" || strings.HasPrefix(p.path, "[") {
			sep = ""
		}
		return &problem{key + sep + p.path, p.text}
	}
	return err
}

// mergeMaps merges want into the map live, which is under the key name. It returns the patch
// and the result; if nothing changes, patch is nil and after is live.
//
// A null in want removes the live value, whichever client has set it; in custom resources only
// if the null is new. This is what Kubernetes does.
func (m *merger) mergeMaps(name string, f field, olds []map[string]any, live, want map[string]any) (patch,
	after map[string]any, err error) {
	c := change{live: live}
	for key, w := range want {
		if f.skips(key) {
			continue
		}
		if w == nil && !m.isLabels(name, key) && !f.subfield(key).merge {
			if live[key] != nil && !m.forDrift && (m.builtIn || nulls(olds, key) < m.olds) {
				c.remove(key)
			}
			continue
		}
		if err := m.mergeValue(&c, name, key, f.subfield(key), olds, live[key], w); err != nil {
			return nil, nil, prefixPath(key, err)
		}
	}
	for _, old := range olds {
		for key, o := range old {
			if m.isKeptNull(key, o, live, want) {
				c.remove(key)
				continue
			}
			if want[key] != nil || live[key] == nil || o == nil || f.skips(key) {
				continue
			}
			if err := m.removeOld(&c, name, key, f.subfield(key), olds, live[key], o); err != nil {
				return nil, nil, prefixPath(key, err)
			}
		}
	}
	if f.node != nil {
		for _, u := range f.node.unions {
			c.applyUnion(u, want)
		}
	}
	if f.retain && c.patch != nil {
		c.retainKeys(want)
	}
	return c.patch, c.result(), nil
}

// isKeptNull reports whether a custom resource contains the null of an old manifest at a key
// that the new one does not have: the server keeps nulls if the schema allows them.
func (m *merger) isKeptNull(key string, old any, live, want map[string]any) bool {
	_, wanted := want[key]
	have, kept := live[key]
	return !m.builtIn && old == nil && !wanted && kept && have == nil
}

// removeOld removes a value that the old manifests set and the new one does not have. From
// values to which other clients add, such as labels or containers, it removes only the parts
// in the old manifests.
func (m *merger) removeOld(c *change, name, key string, f field, olds []map[string]any, live, old any) error {
	if _, done := c.patch[key]; done {
		return nil // already removed by a null, or for another old manifest
	}
	switch have := live.(type) {
	case map[string]any:
		if len(have) == 0 && m.builtIn && isServerDefault(c.live, key) {
			return nil
		}
		if _, ok := old.(map[string]any); ok && (m.isLabels(name, key) || m.builtIn && m.table.maps[key]) {
			if err := m.mergeValue(c, name, key, f, olds, live, map[string]any{}); err != nil {
				return err
			}
			if left, ok := c.after[key].(map[string]any); ok && len(left) == 0 {
				c.remove(key)
			}
			return nil
		}
	case []any:
		if _, ok := old.([]any); ok && f.merge {
			return m.mergeValue(c, name, key, f, olds, live, []any{})
		}
	}
	c.remove(key)
	return nil
}

// isServerDefault reports whether the server itself sets an empty map at key: the security
// context of a pod, and the resources of containers and claims.
func isServerDefault(m map[string]any, key string) bool {
	_, pod := m["containers"]
	return pod && key == "securityContext" || !pod && key == "resources"
}

// isLabelKey reports whether a field is named labels or annotations.
func isLabelKey(key string) bool { return key == "labels" || key == "annotations" }

// isLabels reports whether the field key of the map name contains labels or annotations, which
// other clients add to. In a custom resource only metadata has such fields.
func (m *merger) isLabels(name, key string) bool {
	return isLabelKey(key) && (m.builtIn || name == "metadata")
}

// mergeValue merges w, the value of key in the new manifest, into the live value.
func (m *merger) mergeValue(c *change, name, key string, f field, olds []map[string]any, live, w any) error {
	if w == nil { // no labels, or an empty list
		if w = map[string]any{}; f.merge {
			w = []any{}
		}
	}
	if m.forDrift && w != false && m.isZero(name, key, w) {
		return nil
	}
	if list, ok := live.([]any); live == nil || m.builtIn && ok && len(list) == 0 {
		w = m.clean(w)
		if labels, isMap := w.(map[string]any); isMap && len(labels) == 0 && f.position == inLabels {
			return nil
		}
		if !m.isAbsent(key, w) && !m.isZero(name, key, w) {
			c.set(key, w, w)
		}
		return nil
	}
	if m.builtIn {
		if have, wanted := valueType(live), valueType(w); have != wanted {
			return &problem{"", fmt.Sprintf("is %s, and must be %s", wanted, have)}
		}
	}
	switch w := w.(type) {
	case map[string]any:
		if have, ok := live.(map[string]any); ok && !f.replace {
			patch, after, err := m.mergeMaps(key, f, mapsAt(olds, key), have, w)
			if err == nil && patch != nil {
				c.set(key, patch, after)
			}
			return err
		}
	case []any:
		if have, ok := live.([]any); ok && f.merge {
			return m.mergeList(c, key, f, listsAt(olds, key), have, w)
		}
	}
	if !m.sameValue(name, key, w, live) {
		w := m.clean(w)
		c.set(key, w, w)
	}
	return nil
}

// valueType returns the type of a value for messages. It does not distinguish strings and
// numbers, because some fields accept both.
func valueType(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	}
	return "a plain value"
}

// clean returns v without nulls in its maps.
func (m *merger) clean(v any) any {
	if c, changed := m.cleanedCopy(v); changed {
		return c
	}
	return v
}

func (m *merger) cleanedCopy(v any) (out any, changed bool) {
	switch v := v.(type) {
	case map[string]any:
		var copied map[string]any
		for key, e := range v {
			c, changed := m.cleanedCopy(e)
			if e != nil && !changed {
				continue
			}
			if copied == nil {
				copied = maps.Clone(v)
			}
			if copied[key] = c; e == nil {
				delete(copied, key)
			}
		}
		return copied, copied != nil
	case []any:
		if !m.builtIn {
			return nil, false // custom resources may contain nulls in lists
		}
		var copied []any
		for i, e := range v {
			if c, changed := m.cleanedCopy(e); changed {
				if copied == nil {
					copied = slices.Clone(v)
				}
				copied[i] = c
			}
		}
		return copied, copied != nil
	}
	return nil, false
}

// isAbsent reports whether the API treats w, at key, as a missing value.
func (m *merger) isAbsent(key string, w any) bool {
	switch w := w.(type) {
	case map[string]any:
		return len(w) == 0 && m.builtIn && m.table.maps[key]
	case []any:
		return len(w) == 0 && m.builtIn
	}
	return w == nil
}

// isZero reports whether w, at key in the map at parent, is false, 0 or "", and the API treats
// it as a missing value.
func (m *merger) isZero(parent, key string, w any) bool {
	switch w {
	case "", false, int64(0), float64(0), 0:
		return m.builtIn && m.table.zeros[key] && !m.table.open[parent]
	}
	return false
}

// nulls returns the number of old manifests that have a null at key.
func nulls(olds []map[string]any, key string) int {
	n := 0
	for _, o := range olds {
		if v, has := o[key]; has && v == nil {
			n++
		}
	}
	return n
}

func mapsAt(olds []map[string]any, key string) []map[string]any {
	var out []map[string]any
	for _, o := range olds {
		if m, ok := o[key].(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func listsAt(olds []map[string]any, key string) [][]any {
	var out [][]any
	for _, o := range olds {
		if l, ok := o[key].([]any); ok {
			out = append(out, l)
		}
	}
	return out
}

// change collects the changes to one map.
type change struct {
	live, patch, after map[string]any
}

func (c *change) begin() {
	if c.patch == nil {
		c.patch, c.after = map[string]any{}, maps.Clone(c.live)
	}
}

func (c *change) set(key string, patch, after any) {
	c.begin()
	c.patch[key], c.after[key] = patch, after
}

func (c *change) remove(key string) {
	c.begin()
	c.patch[key] = nil
	delete(c.after, key)
}

func (c *change) result() map[string]any {
	if c.patch == nil {
		return c.live
	}
	return c.after
}

// applyUnion removes the fields of a union that want does not have if it has another field of
// the union, whichever client has set them: the server would reject both.
func (c *change) applyUnion(u union, want map[string]any) {
	for _, name := range u.excludedFields(c.live, want) {
		c.remove(name)
	}
}

// retainKeys removes all keys that want does not have, whichever client has set them: a volume
// or a strategy can be of one kind only.
func (c *change) retainKeys(want map[string]any) {
	keep := []any{} // the server rejects null, and keys of the patch that are not in the list
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if want[key] != nil {
			keep = append(keep, key)
		}
	}
	dropped := func(key string, _ any) bool { return want[key] == nil }
	maps.DeleteFunc(c.patch, dropped)
	maps.DeleteFunc(c.after, dropped)
	c.patch[retainDirective] = keep
}
