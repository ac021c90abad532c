// SPDX-License-Identifier: Apache-2.0

// Package values computes the .Values of a chart's templates.
//
// [Options] builds the user's values from values files and --set flags, [Resolve] merges
// them into the defaults of a chart tree, and [Scope] returns the values of a chart in it.
//
//	user, err := values.Options{Files: []string{"prod.yaml"}, Set: []string{"replicas=3"}}.Build(os.ReadFile)
//	...
//	resolved, err := values.Resolve(chart, user)
//	...
//	own := values.Scope(resolved.Values, resolved.Chart)
//
// The package does not read files (callers pass a function) and does not validate values;
// see package chart/schema.
//
// # The user's values
//
// [Options.Build] merges the files in their order and then applies the --set flags kind by
// kind. Nulls stay, because they delete defaults later.
//
// # The tree
//
// [Resolve] works in four steps on shallow copies of the charts:
//
//  1. Grow. A chart with dependencies gets the charts in charts/ that satisfy no
//     entry by name and version, and then, for each entry, the first chart that
//     satisfies it, renamed to the entry's alias. A chart without dependencies
//     keeps the whole tree below it.
//  2. Prune. The condition of an entry is the first of its paths that has a
//     boolean in the values of the chart that lists it. If there is none, the
//     entry is disabled if it has a false tag and no true tag. Tags are looked up
//     in the root's values and then in the defaults of the charts on the way down.
//     A disabled entry removes all charts with its alias or, if it has none, with
//     its name. A chart that does not satisfy its entry's version is thus removed
//     too if the entry has no alias; otherwise it stays, with a warning.
//  3. Import. From the leaves up, a chart with dependencies gets new defaults: its
//     own, those of its subcharts below their names, and its import-values. As
//     documented for Helm, imported values override the chart's own defaults. The
//     first of several imports overrides later ones, and the user's values override
//     all. Values that the user sets for a subchart are not imported.
//     Values that a chart exports to a subchart (export-values) override the defaults of all charts,
//     as they are with the values from above; what the user sets for the subchart overrides them.
//  4. Coalesce. From the root down, the values from above are merged into a chart's
//     defaults; a value from above that is not a table replaces the default. The
//     table below a subchart's name, with the chart's globals merged into its
//     globals, are the values from above for the subchart. So globals are passed
//     down and never up, and a chart does not have the values of its siblings.
//
// A null from above deletes the default with the same path. If there is none, it stays;
// below a subchart's name it is passed down and may delete a default of the subchart. A
// null in a chart's defaults is removed unless it is overridden. Lists are not merged, except
// those of [Lists].
//
// Charts in library/ stay in the tree and have no values: the values from above and
// conditions do not apply to them, and a dependency with the same name is another chart.
//
// Resolve does not modify its arguments. It makes new maps only for the top of each chart
// and for tables that are merged; all others are shared. To modify the result, make a
// [Copy].
package values

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// Global is the key of the table that is passed to every chart of a tree.
const Global = "global"

// Merge merges over into a copy of base, like a later values file into an earlier one: if
// both have a table for a key it merges the tables, otherwise it takes the value of over. A
// null in over stays in the result, so that it can delete a chart's default.
//
// Merge modifies neither argument, and the result shares tables with both.
func Merge(base, over map[string]any) map[string]any {
	return (*Lists)(nil).Merge(base, over)
}

// Path returns the value at a path such as "image.tag". It returns an error that names the
// missing step if there is none.
func Path(vals map[string]any, path string) (any, error) {
	var v any = vals
	steps := strings.Split(path, ".")
	for i, step := range steps {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("values have no %q: %q is %s", path, strings.Join(steps[:i], "."), kind(v))
		}
		if v, ok = table[step]; !ok {
			if i == len(steps)-1 {
				return nil, fmt.Errorf("values have no %q", path)
			}
			return nil, fmt.Errorf("values have no %q: there is no %q", path, strings.Join(steps[:i+1], "."))
		}
	}
	return v, nil
}

// Scope returns the values of chart c from vals, the root's final values. It returns an
// empty map if there are none, as for library charts.
func Scope(vals map[string]any, c *chart.Chart) map[string]any {
	if c.IsRoot() {
		return vals
	}
	if c.FromLibrary {
		return map[string]any{}
	}
	if scope, ok := Scope(vals, c.Parent())[c.Name()].(map[string]any); ok {
		return scope
	}
	return map[string]any{}
}

// Copy returns a deep copy of vals.
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

// Override merges new user values into those of a release, for an upgrade that reuses
// values (observed from Helm 3 and 4). Unlike in [Merge], a null deletes the old value; it
// stays only if there is no old value, so that it can delete a chart's default. Override
// returns nil if there are no values.
//
// Override modifies neither argument, and the result shares tables with both.
func Override(old, over map[string]any) map[string]any { return (*Lists)(nil).Override(old, over) }

// Override is like the function [Override], and merges the lists of l item by item. An item that is
// deleted stays deleted: its directive stays in the result.
func (l *Lists) Override(old, over map[string]any) map[string]any {
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
		list, merges := l.field(k).merge(was, v, mergeTables)
		switch {
		case v == nil && had && was != nil:
			delete(out, k)
		case merges:
			out[k] = list
		case isTable && wasTable:
			if out[k] = l.field(k).Override(under, table); len(under)+len(table) == 0 {
				out[k] = table
			}
		default:
			out[k] = replace(v, was)
		}
	}
	return out
}
