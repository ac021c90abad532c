// SPDX-License-Identifier: Apache-2.0

package values

import (
	"github.com/moonhelm/moonhelm/chart"
)

// Resolved is a chart tree with the values that it is rendered with.
type Resolved struct {
	// Chart is the tree that is left: aliases named, disabled subcharts gone,
	// imported values in the defaults of the importing charts. Its charts are
	// shallow copies of the loaded ones.
	Chart *chart.Chart
	// Values are the root's final values. The values of a subchart stand below
	// its name; see [Scope]. They share tables with the loaded charts and with
	// the user's values: who changes them changes a [Copy].
	Values map[string]any
	// Warnings are sentences about values that contradict each other.
	Warnings []string
}

// Resolve computes which subcharts of c take part and what each of them sees,
// given the user's values. Neither c nor user is changed.
func Resolve(c *chart.Chart, user map[string]any) (*Resolved, error) {
	tree := grow(c, nil)
	var warnings []string
	if tree.conditional() {
		vals, err := (&coalescer{}).scope(tree.link(), user, c.Name())
		if err != nil {
			return nil, err
		}
		tags, _ := vals["tags"].(map[string]any)
		pr := &pruner{tags: tags}
		pr.prune(tree, vals, "")
		warnings = append(warnings, pr.warnings...)
	}
	if tree.imports() {
		vals, err := (&coalescer{}).scope(tree.link(), user, c.Name())
		if err != nil {
			return nil, err
		}
		im := &importer{}
		im.run(tree, vals, c.Name())
		warnings = append(warnings, im.warnings...)
	}
	co := &coalescer{}
	vals, err := co.scope(tree.link(), user, c.Name())
	if err != nil {
		return nil, err
	}
	return &Resolved{Chart: tree.chart, Values: vals, Warnings: append(warnings, co.warnings...)}, nil
}
