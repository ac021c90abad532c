// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// importer applies the import-values of dependencies: it copies values of subcharts into
// the defaults of their parents.
type importer struct {
	// parentWins gives a chart's own defaults precedence over imported values, as in
	// Helm and contrary to its documentation.
	parentWins bool
	nulls      map[*chart.Chart]bool
	exports    map[*chart.Chart][]export
	warnings   []string
}

// run applies imports from the leaves to the root, so that imported values can be imported
// again. It replaces the defaults of a chart with dependencies by the values that its
// templates have without user values: its own defaults, those of its subcharts below their
// names, and the imported values.
func (im *importer) run(n *node, path string, l *Lists) error {
	for _, k := range n.children {
		if err := im.run(k, path+"."+k.chart.Name(), l.field(k.chart.Name())); err != nil {
			return err
		}
	}
	if len(entriesOf(n.chart)) == 0 {
		return nil
	}
	co := &coalescer{keepNulls: true}
	vals, err := co.scope(n.chart, nil, path, l)
	if err != nil {
		return err
	}
	source := vals // what can be imported: exported values are no defaults
	if im.exports != nil {
		if source, err = (&coalescer{keepNulls: true, exports: im.exports}).scope(n.chart, nil, path, l); err != nil {
			return err
		}
	}
	imported := map[string]any{}
	for _, e := range entriesOf(n.chart) {
		name := effectiveName(e)
		if !n.listed {
			name = e.Name // the alias was not applied
		}
		childVals, _ := source[name].(map[string]any)
		for i, iv := range e.ImportValues {
			from, to, err := importPaths(iv)
			if err != nil {
				return fmt.Errorf("import-values of %s for %s: %w", path, name, err)
			}
			if n.listed { // relist has copied the entry
				e.ImportValues[i] = map[string]any{"child": from, "parent": to}
			}
			table, err := tableAt(childVals, from)
			if err != nil {
				im.warnings = append(im.warnings, fmt.Sprintf("nothing imported from %s into %s: %s", name, path, err))
				continue
			}
			imported = l.Merge(nest(to, table), imported)
		}
	}
	if len(imported) > 0 {
		vals = co.tables(vals, imported, path, true, l)
		if !im.parentWins {
			vals = co.tables(removeNulls(imported).(map[string]any), vals, path, true, l)
		}
	}
	n.chart.Values = vals
	n.walk(func(below *node) { // n's defaults now include those of the charts below
		im.nulls[n.chart] = im.nulls[n.chart] || im.nulls[below.chart]
	})
	return nil
}

// importPaths parses an entry of import-values. It returns the path of the table in the
// child and the path to import it to in the parent.
func importPaths(iv any) (from, to string, err error) {
	switch iv := iv.(type) {
	case string:
		return "exports." + iv, ".", nil
	case map[string]any:
		from, okc := iv["child"].(string)
		to, okp := iv["parent"].(string)
		if okc && okp {
			return from, to, nil
		}
	}
	return "", "", fmt.Errorf("%v must be a string, or a map with the strings child and parent", iv)
}

// tableAt returns the table at path.
func tableAt(vals map[string]any, path string) (map[string]any, error) {
	v, err := Path(vals, path)
	if err != nil {
		return nil, err
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s, must be a table", path, kind(v))
	}
	return table, nil
}

// nest returns table nested in a table for each step of path. The path "." is the top.
func nest(path string, table map[string]any) map[string]any {
	if path == "." {
		return table
	}
	steps := strings.Split(path, ".")
	for i := len(steps) - 1; i >= 0; i-- {
		table = map[string]any{steps[i]: table}
	}
	return table
}
