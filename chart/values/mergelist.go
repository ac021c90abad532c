// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// patchKey is the key of an item's directive, as in Kubernetes' strategic merge patches.
const patchKey = "$patch"

// The directives. A list or an item with one of them keeps it until all layers have been merged,
// so that layers can be merged in any grouping.
const (
	patchMerge   = "merge"   // the default
	patchReplace = "replace" // of an item, or, in an item without other keys, of the list
	patchDelete  = "delete"
)

// setValueKey is the key of the value that an item of a set with a directive is about.
const setValueKey = "value"

// A ListError is returned for an item of a list with a directive that cannot be followed.
type ListError struct {
	Path    string // of the list
	Problem string
	hint    string
}

func (e *ListError) Error() string {
	return fmt.Sprintf("cannot merge the list %s: %s", e.Path, e.Problem)
}

// Hint returns what the user can do.
func (e *ListError) Hint() string { return e.hint }

// directive returns the directive of an item, or "".
func directive(v any) string {
	table, _ := v.(map[string]any)
	text, _ := untraced(table[patchKey]).(string)
	if text == patchMerge {
		return ""
	}
	return text
}

// isMarker reports whether an item has the list replaced.
func isMarker(v any) bool {
	table, _ := v.(map[string]any)
	return len(table) == 1 && directive(v) == patchReplace
}

func marker() any { return map[string]any{patchKey: patchReplace} }

// tableMerger merges over, which takes precedence, into a copy of base. l are the lists in both.
type tableMerger func(base, over map[string]any, l *Lists) map[string]any

// merge merges two values for the same key if both are lists and merge.
func (l *Lists) merge(base, over any, tables tableMerger) (merged []any, ok bool) {
	r := l.list()
	if r == nil {
		return nil, false
	}
	below, isList := listOf(base)
	above, areLists := listOf(over)
	if !isList || !areLists {
		return nil, false
	}
	m := listMerger{rule: r, tables: tables, index: map[string]int{}}
	m.add(below)
	m.add(above)
	return m.list(), true
}

// listMerger merges lists, one after the other. The items keep their order: those of the first list,
// then those that only the second has, and so on.
type listMerger struct {
	rule     *listRule
	tables   tableMerger
	replaces bool // the list below is replaced
	items    []any
	index    map[string]int
}

// add merges a list into the items. An empty list, and one with a marker, replace the items.
func (m *listMerger) add(list []any) {
	if len(list) == 0 || slices.ContainsFunc(list, isMarker) {
		m.replaces, m.items = true, nil
		clear(m.index)
	}
	for _, v := range list {
		if isMarker(v) {
			continue
		}
		id := m.rule.id(v)
		if i, ok := m.index[id]; ok {
			m.items[i] = m.combine(m.items[i], v)
			continue
		}
		m.index[id] = len(m.items)
		m.items = append(m.items, v)
	}
}

// combine returns the item for two items with the same identity.
func (m *listMerger) combine(base, over any) any {
	if directive(over) != "" {
		return over
	}
	below, isTable := base.(map[string]any)
	table, areTables := over.(map[string]any)
	if !isTable || !areTables {
		return replace(over, base)
	}
	if directive(base) == patchDelete {
		out := maps.Clone(table)
		out[patchKey] = patchReplace
		return out
	}
	out := m.tables(below, table, m.rule.items)
	for _, k := range m.rule.keys { // equal as text: "80" stays a string
		if v := below[k]; out[k] != v {
			out[k] = v
		}
	}
	return out
}

func (m *listMerger) list() []any {
	if m.replaces && len(m.items) > 0 {
		return append([]any{marker()}, m.items...)
	}
	return append([]any{}, m.items...)
}

// id returns a text that is equal for items that merge: of the item's keys, or, if it lacks one, of
// the whole item.
func (r *listRule) id(v any) string {
	if step, ok := r.step(v); ok {
		return step
	}
	return "\x00" + encodeItem(v)
}

// step returns the keys of an item in the syntax of --set: "[name=web]"; of a set, "[=web]". ok is
// not set if the item lacks a key.
func (r *listRule) step(v any) (step string, ok bool) {
	table, _ := v.(map[string]any)
	if r.keys == nil {
		if of, has := table[setValueKey]; has && len(table) == 2 && directive(v) != "" {
			v = of
		}
		return "[=" + encodeItem(v) + "]", true
	}
	parts := make([]string, len(r.keys))
	for i, k := range r.keys {
		text, ok := scalarText(untraced(table[k]))
		if !ok {
			return "", false
		}
		parts[i] = k + "=" + text
	}
	return "[" + strings.Join(parts, ",") + "]", true
}

// scalarText returns a scalar as text: a number is equal to a string of its digits.
func scalarText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case Long:
		return strconv.FormatInt(int64(v), 10), true
	case Real:
		return scalarText(float64(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int, int64, uint64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// encodeItem returns the JSON of an item without its origins.
func encodeItem(v any) string {
	text, err := json.Marshal(withoutOrigins(v))
	if err != nil { // infinite numbers
		return fmt.Sprint(withoutOrigins(v))
	}
	return string(text)
}

// withoutOrigins returns a copy of v without origins.
func withoutOrigins(v any) any {
	switch v := untraced(v).(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = withoutOrigins(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutOrigins(e)
		}
		return out
	default:
		return v
	}
}

// Merge is like the function [Merge], and merges the lists of l item by item. Directives of items
// stay in the result, so that they can delete or replace items of a chart's defaults.
func (l *Lists) Merge(base, over map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(over))
	maps.Copy(out, base)
	for k, v := range over {
		below := l.field(k)
		if table, ok := v.(map[string]any); ok {
			if under, ok := out[k].(map[string]any); ok {
				out[k] = below.Merge(under, table)
				continue
			}
		}
		if list, ok := below.merge(out[k], v, mergeTables); ok {
			out[k] = list
			continue
		}
		out[k] = replace(v, out[k])
	}
	return out
}

func mergeTables(base, over map[string]any, l *Lists) map[string]any { return l.Merge(base, over) }

// Finish returns vals with the directives of items followed, after all layers have been merged. It
// shares what it does not change with vals, and returns a [*ListError] for a directive that cannot
// be followed.
func (l *Lists) Finish(vals map[string]any) (map[string]any, error) { return l.finish(vals, "") }

func (l *Lists) finish(vals map[string]any, at string) (map[string]any, error) {
	if l == nil {
		return vals, nil
	}
	out := vals
	for _, k := range slices.Sorted(maps.Keys(vals)) {
		below := l.field(k)
		if below == nil {
			continue
		}
		var v any
		var err error
		changed := false
		switch was := vals[k].(type) {
		case map[string]any:
			var table map[string]any
			table, err = below.finish(was, join(at, k))
			v, changed = table, !same(table, was)
		default:
			list, isList := listOf(was)
			if r := below.list(); r != nil && isList {
				v, changed, err = r.finish(list, join(at, k))
				_, isTraced := was.(*traced)
				changed = changed || isTraced
			}
		}
		if err != nil {
			return nil, err
		}
		if changed {
			if same(out, vals) {
				out = maps.Clone(vals)
			}
			out[k] = v
		}
	}
	return out, nil
}

// finish returns a list without directives. Items with the same keys merge in it too.
func (r *listRule) finish(list []any, at string) (out []any, changed bool, err error) {
	m := listMerger{rule: r, tables: mergeTables, index: map[string]int{}}
	m.add(list)
	changed = len(m.items) != len(list)
	out = make([]any, 0, len(m.items))
	for _, v := range m.items {
		table, isTable := v.(map[string]any)
		if !isTable {
			out = append(out, v)
			continue
		}
		was := table
		if _, has := table[patchKey]; has {
			if err := r.check(v, at); err != nil {
				return nil, false, err
			}
			if directive(v) == patchDelete {
				changed = true
				continue
			}
			table = maps.Clone(table)
			delete(table, patchKey)
		}
		step, _ := r.step(v)
		if table, err = r.items.finish(table, at+step); err != nil {
			return nil, false, err
		}
		changed = changed || !same(was, table)
		out = append(out, table)
	}
	return out, changed, nil
}

// check returns an error for an item whose directive cannot be followed.
func (r *listRule) check(v any, at string) error {
	step, hasKeys := r.step(v)
	const hint = "an item may have $patch: delete or $patch: replace; " +
		"- $patch: replace alone replaces the whole list"
	table, _ := v.(map[string]any)
	if text, ok := untraced(table[patchKey]).(string); !ok || text != patchMerge && text != patchReplace &&
		text != patchDelete {
		return &ListError{Path: clip(at), Problem: fmt.Sprintf("%s of %s is %s, must be delete or replace", patchKey,
			clip(cmp.Or(step, "an item")), clip(encodeItem(table[patchKey]))), hint: hint}
	}
	if directive(v) == "" {
		return nil
	}
	_, hasValue := table[setValueKey]
	switch {
	case r.keys == nil && (len(table) != 2 || !hasValue):
		return &ListError{Path: clip(at), Problem: "an item with $patch needs the key value, and no other", hint: hint}
	case r.keys != nil && !hasKeys:
		return &ListError{Path: clip(at), Problem: "an item with $patch needs " + strings.Join(r.keys, " and ") +
			", by which items of the list are found", hint: hint}
	}
	return nil
}
