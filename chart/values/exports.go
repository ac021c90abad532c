// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// export is an entry of a dependency's export-values: a value of the chart that becomes one of the
// subchart's.
type export struct {
	name     string // of the subchart in values
	from, to string // paths; to is "." for the subchart's values as a whole
}

// exports returns the exports of the charts of the tree.
func (n *node) exports() (map[*chart.Chart][]export, error) {
	var out map[*chart.Chart][]export
	var err error
	n.walk(func(n *node) {
		for _, e := range entriesOf(n.chart) {
			name := effectiveName(e)
			if !n.listed {
				name = e.Name // the alias was not applied
			}
			for _, ev := range e.ExportValues {
				from, to, bad := exportPaths(ev)
				if bad != nil {
					err = fmt.Errorf("export-values of %s for %s: %w", n.chart.Name(), name, bad)
					return
				}
				if out == nil {
					out = map[*chart.Chart][]export{}
				}
				out[n.chart] = append(out[n.chart], export{name, from, to})
			}
		}
	})
	return out, err
}

// exportPaths parses an entry of export-values. It returns the path of the value in the parent and
// the path in the child.
func exportPaths(ev any) (from, to string, err error) {
	switch ev := ev.(type) {
	case string:
		return "exports." + ev, ".", nil
	case map[string]any:
		from, okp := ev["parent"].(string)
		to, okc := ev["child"].(string)
		if okp && okc && from != "." && from != "" && to != "" {
			return from, to, nil
		}
	}
	return "", "", fmt.Errorf("%v must be a string, or a map with the strings parent and child", ev)
}

// export adds to out, the values of c, the values that c exports to its subcharts. They take precedence
// over the defaults of all charts, and over, the values from above, over them.
func (co *coalescer) export(c *chart.Chart, out, over map[string]any, path string, l *Lists) {
	exported := map[string]map[string]any{}
	for _, e := range co.exports[c] {
		v, err := Path(out, e.from)
		if err != nil || untraced(v) == nil {
			co.warn("nothing exported from %s to its subchart %s: %s", path, e.name, noValue(e.from, err))
			continue
		}
		table, isTable := v.(map[string]any)
		if e.to != "." {
			table = nestValue(e.to, v)
		} else if !isTable {
			co.warn("nothing exported from %s to its subchart %s: %s is %s, must be a table", path, e.name, e.from,
				kind(untraced(v)))
			continue
		}
		exported[e.name] = l.field(e.name).Merge(table, exported[e.name]) // the first export wins
	}
	for name, vals := range exported {
		above, isTable := over[name].(map[string]any)
		if _, ok := over[name]; ok && !isTable {
			continue // null, or an error that is reported later
		}
		defaults, _ := c.Values[name].(map[string]any)
		at := join(path, name)
		vals = co.tables(vals, defaults, at, true, l.field(name))
		out[name] = co.tables(above, vals, at, true, l.field(name))
	}
}

func noValue(path string, err error) string {
	if err != nil {
		return err.Error()
	}
	return path + " is null"
}

// nestValue returns v nested in a table for each step of path.
func nestValue(path string, v any) map[string]any {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return map[string]any{path: v}
	}
	return nest(path[:i], map[string]any{path[i+1:]: v})
}
