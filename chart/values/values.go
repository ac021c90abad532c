// SPDX-License-Identifier: Apache-2.0

// Package values computes what a chart's templates see as .Values.
//
// In come values files, --set expressions and a loaded chart tree; out come
// plain maps, and for a tree the pruned, aliased tree that they belong to.
//
//	user, err := values.Options{Files: []string{"prod.yaml"}, Set: []string{"replicas=3"}}.Build(os.ReadFile)
//	...
//	resolved, err := values.Resolve(chart, user)
//	...
//	own := values.Scope(resolved.Values, resolved.Chart)
//
// The package reads no files (callers hand in a reader), validates no schema and
// renders nothing.
//
// # The user's values
//
// [Options.Build] reads the files and lays each over those before it, then
// applies the --set flags kind by kind. Nulls stay in: they delete later.
//
// # The tree
//
// [Resolve] works in four steps on shallow copies of the charts:
//
//  1. Grow. Below a chart that lists dependencies stand the charts of charts/
//     that no entry of the list fits, by name and version, then one for every
//     entry, under its alias: the first that fits. A chart that lists nothing is
//     taken as it stands, with all that is below it.
//  2. Prune. An entry is switched off by the first path of its condition that
//     holds a boolean in the values that the listing chart sees, else by its
//     tags: one that is true keeps it, one that is false removes it. Tags are
//     looked for in the root's values, then in the defaults of the charts on the
//     way down. All charts go that have the name that values know the entry by,
//     its alias if it has one; so one in another version than the entry wants
//     goes as well if there is no alias, and stays, with a warning, if there is.
//  3. Import. From the leaves up, a chart that lists dependencies gets new
//     defaults: its own, its subcharts' below their names, and what
//     import-values takes from there. Imported values win over the chart's own
//     defaults, as it is documented, the first of several imports over later
//     ones, and the user over all of them. What the user sets below a subchart
//     is not imported.
//  4. Coalesce. From the root down, what comes from above is laid over a
//     chart's defaults: tables are merged, all else from above wins. What then
//     is below a subchart's name, with the chart's globals laid over its
//     own, comes from above for the subchart. So globals go down and never up,
//     and no chart sees what is next to it.
//
// A null from above deletes the default that it meets. Where it meets none it
// stays, as null; below a subchart's name it goes on down until it meets one.
// Nulls in a chart's own defaults are left out where nothing is laid over them.
// Lists are values: nothing looks into them.
//
// Charts of library/ stay in the tree and have no values: nothing is laid over
// theirs, no condition applies to them, and a dependency of the same name is
// another chart.
//
// Nothing is changed that came in. Maps are made only where two tables meet and
// for each chart's top; everything else is shared, so the work is that of one
// look at every default. Who wants to write takes a [Copy].
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
// empty map where the root holds nothing for c, as it does for libraries.
func Scope(vals map[string]any, c *chart.Chart) map[string]any {
	if c.IsRoot() {
		return vals
	}
	if c.FromLibrary {
		return map[string]any{}
	}
	if own, ok := Scope(vals, c.Parent())[c.Name()].(map[string]any); ok {
		return own
	}
	return map[string]any{}
}

// Copy returns a deep copy of vals: it shares no map and no list with it.
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

// Override lays new user values over those that a release has, as an upgrade
// that reuses them does (observed from Helm 3 and 4): it differs from [Merge]
// in that a null takes away the old value, and stays only where there is none
// to take away, so that it still deletes a chart's default. nil for no values.
//
// The inputs are not changed; the result shares tables with them.
func Override(old, over map[string]any) map[string]any {
	if len(old) == 0 && len(over) == 0 {
		return nil
	}
	out := make(map[string]any, len(old)+len(over))
	for k, v := range old {
		out[k] = v
	}
	for k, v := range over {
		was, had := out[k]
		table, isTable := v.(map[string]any)
		under, wasTable := was.(map[string]any)
		switch {
		case v == nil && had && was != nil:
			delete(out, k)
		case isTable && wasTable:
			if out[k] = Override(under, table); len(under)+len(table) == 0 {
				out[k] = table
			}
		default:
			out[k] = v
		}
	}
	return out
}
