// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
)

// importer copies values of subcharts into the defaults of the charts that
// import them.
type importer struct {
	warnings []string
}

// imports tells whether any chart of the tree imports values.
func (n *node) imports() bool {
	found := false
	n.walk(func(n *node) {
		if n.entry != nil && len(n.entry.ImportValues) > 0 {
			found = true
		}
	})
	return found
}

// run works from the leaves to the root, so that what a subchart imported can
// be imported again. vals are the values that n's chart sees.
func (im *importer) run(n *node, vals map[string]any, path string) {
	for _, k := range n.kids {
		own, _ := vals[k.chart.Name()].(map[string]any)
		im.run(k, own, join(path, k.chart.Name()))
	}
	defaults := n.chart.Values
	for _, k := range n.kids {
		if k.entry == nil {
			continue
		}
		own, _ := vals[k.chart.Name()].(map[string]any)
		for _, iv := range k.entry.ImportValues {
			got, to, err := lookupImport(iv, own)
			if err != nil {
				im.warnings = append(im.warnings, fmt.Sprintf("import-values of %s from %s: %s", path, k.chart.Name(), err))
				continue
			}
			defaults = Merge(defaults, nest(to, got))
		}
	}
	n.chart.Values = defaults
}

// lookupImport finds the table that an entry of import-values names, and the
// path that it goes to.
func lookupImport(iv any, child map[string]any) (table map[string]any, to string, err error) {
	var from string
	switch iv := iv.(type) {
	case string:
		from, to = "exports."+iv, "."
	case map[string]any:
		c, okc := iv["child"].(string)
		p, okp := iv["parent"].(string)
		if !okc || !okp {
			return nil, "", fmt.Errorf("%v must hold child and parent, both text", iv)
		}
		from, to = c, p
	default:
		return nil, "", fmt.Errorf("%v is %s, must be text or a map of child and parent", iv, kind(iv))
	}
	v, err := Path(child, from)
	if err != nil {
		return nil, "", err
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("%s is %s, must be a table", from, kind(v))
	}
	return table, to, nil
}

// nest puts a table below a path; "." and "" are the top.
func nest(path string, table map[string]any) map[string]any {
	if path == "." || path == "" {
		return table
	}
	steps := splitPath(path)
	for i := len(steps) - 1; i >= 0; i-- {
		table = map[string]any{steps[i]: table}
	}
	return table
}
