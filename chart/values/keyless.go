// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keylessCheck finds the expressions that add items without their keys to lists that merge, by an index: no later
// layer finds such an item, and the charts' defaults stay beside it.
type keylessCheck struct {
	lists *Lists
	// before has the lists as the files have them.
	before map[string]keylessList
	// last is the last expression that added one to the list at a path.
	last map[string]*SetError
}

// newKeylessCheck returns a check for expressions that are applied to vals, or nil if no list merges.
func newKeylessCheck(vals map[string]any, l *Lists) *keylessCheck {
	if l == nil {
		return nil
	}
	return &keylessCheck{lists: l, before: keyless(vals, l), last: map[string]*SetError{}}
}

// applied looks at vals after an expression. A later one may give the item its keys.
func (c *keylessCheck) applied(vals map[string]any, mode Mode, expr string) {
	if c == nil || !strings.Contains(expr, "[") {
		return
	}
	for path, list := range keyless(vals, c.lists) {
		if list.items > c.before[path].items && c.last[path] == nil {
			c.last[path] = &SetError{Mode: mode, Expr: expr}
		}
	}
}

// err returns the error of the first expression that added an item to which none gave keys.
func (c *keylessCheck) err(vals map[string]any) error {
	if c == nil || len(c.last) == 0 {
		return nil
	}
	after := keyless(vals, c.lists)
	for _, path := range slices.Sorted(maps.Keys(c.last)) {
		name := path[strings.LastIndexByte(path, '.')+1:]
		if e := c.last[path]; after[path].items > c.before[path].items && strings.Contains(e.Expr, name+"[") {
			keys := after[path].keys
			e.Problem = fmt.Sprintf("an item of the list %s has no %s, by which its items merge: write %s[%s=...] in place of "+
				"its index", path, strings.Join(keys, " and no "), path, strings.Join(keys, "=...,"))
			return e
		}
	}
	return nil
}

// keylessList is a list that merges by keys.
type keylessList struct {
	keys  []string
	items int // that lack one of the keys
}

// keyless returns the lists of vals that merge by keys and have items without them, by their paths.
func keyless(vals map[string]any, l *Lists) map[string]keylessList {
	out := map[string]keylessList{}
	countKeyless(vals, l, "", out)
	return out
}

func countKeyless(vals map[string]any, l *Lists, path string, out map[string]keylessList) {
	for k, v := range vals {
		below := join(path, k)
		switch v := v.(type) {
		case map[string]any:
			countKeyless(v, l.field(k), below, out)
		case []any:
			r := l.field(k).list()
			if r == nil || r.keys == nil {
				continue
			}
			for _, item := range v {
				if _, ok := r.step(item); !ok && directive(item) == "" {
					out[below] = keylessList{r.keys, out[below].items + 1}
				}
			}
		}
	}
}
