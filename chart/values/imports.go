// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// importer copies values of subcharts into the defaults of the charts that
// list them.
type importer struct {
	// parentWins lets a chart's own defaults win over what it imports, as Helm
	// has it, and not as it is documented.
	parentWins bool
	nulls      map[*chart.Chart]bool
	warnings   []string
}

// run works from the leaves to the root, so that what a subchart imported can
// be imported again. In a chart that lists dependencies it replaces the
// defaults by those that its templates would see without any user: its own,
// its subcharts' below their names, and what it imports from there.
func (im *importer) run(n *node, path string) error {
	for _, k := range n.kids {
		if err := im.run(k, path+"."+k.chart.Name()); err != nil {
			return err
		}
	}
	if len(entriesOf(n.chart)) == 0 {
		return nil
	}
	co := &coalescer{keep: true}
	vals, err := co.scope(n.chart, nil, path)
	if err != nil {
		return err
	}
	imported := map[string]any{}
	for _, e := range entriesOf(n.chart) {
		name := called(e)
		if !n.listed {
			name = e.Name // nothing has given the chart its alias
		}
		own, _ := vals[name].(map[string]any)
		for i, iv := range e.ImportValues {
			from, to, err := importPaths(iv)
			if err != nil {
				return fmt.Errorf("import-values of %s for %s: %w", path, name, err)
			}
			if n.listed { // the entry is the tree's own
				e.ImportValues[i] = map[string]any{"child": from, "parent": to}
			}
			table, err := tableAt(own, from)
			if err != nil {
				im.warnings = append(im.warnings, fmt.Sprintf("nothing imported from %s into %s: %s", name, path, err))
				continue
			}
			imported = Merge(nest(to, table), imported)
		}
	}
	if len(imported) > 0 {
		vals = co.tables(vals, imported, path, true)
		if !im.parentWins {
			vals = co.tables(withoutNulls(imported).(map[string]any), vals, path, true)
		}
	}
	n.chart.Values = vals
	n.walk(func(below *node) { // whose defaults are n's now
		im.nulls[n.chart] = im.nulls[n.chart] || im.nulls[below.chart]
	})
	return nil
}

// importPaths reads an entry of import-values: where the table is in the
// child and where it goes in the parent.
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
	return "", "", fmt.Errorf("%v must be text, or a map with the texts child and parent", iv)
}

// tableAt finds the table at a path.
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

// nest puts a table below a path; "." is the top.
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
