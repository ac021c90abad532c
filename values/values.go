// SPDX-License-Identifier: Apache-2.0

// Package values computes what a chart's templates see as .Values.
//
// In come values files, --set expressions and a loaded chart tree; out come
// plain maps, and for a tree the pruned, aliased tree that they belong to. The
// package reads no files (callers hand in a reader), validates no schema and
// renders nothing.
package values

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// Global is the key whose table every chart of a tree sees.
const Global = "global"

// Merge lays over on top of base, as a later values file on an earlier one:
// where both hold a table the tables are merged, else over wins. A null in over
// stays a null in the result, so that it can still delete a chart's default.
//
// The inputs are not changed; the result shares what only one of them holds
// with that input.
func Merge(base, over map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(over))
	for k, v := range base {
		out[k] = v
	}
	for k, v := range over {
		if table, ok := v.(map[string]any); ok {
			if under, ok := out[k].(map[string]any); ok {
				out[k] = Merge(under, table)
				continue
			}
		}
		out[k] = v
	}
	return out
}

// Path finds the value at a path such as "image.tag". A missing step is an
// error that names it.
func Path(vals map[string]any, path string) (any, error) {
	var at any = vals
	steps := strings.Split(path, ".")
	for i, step := range steps {
		table, ok := at.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("values hold no %q: %q is %s", path, strings.Join(steps[:i], "."), kind(at))
		}
		if at, ok = table[step]; !ok {
			return nil, fmt.Errorf("values hold no %q: there is no %q", path, strings.Join(steps[:i+1], "."))
		}
	}
	return at, nil
}

// Scope picks from the root's final values those that chart c sees. It is an
// empty map where the root holds nothing for c.
func Scope(vals map[string]any, c *chart.Chart) map[string]any {
	if c.IsRoot() {
		return vals
	}
	if own, ok := Scope(vals, c.Parent())[c.Name()].(map[string]any); ok {
		return own
	}
	return map[string]any{}
}

// Copy returns a copy of vals that shares no table and no list with it, for
// somebody who is going to change it.
func Copy(vals map[string]any) map[string]any {
	out := make(map[string]any, len(vals))
	for k, v := range vals {
		out[k] = copyValue(v)
	}
	return out
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return Copy(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyValue(e)
		}
		return out
	}
	return v
}
