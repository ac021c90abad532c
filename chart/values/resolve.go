// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

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
	// Exact is set where the values may hold a [Long] or a [Real]: they must be
	// [Rounded] before templates or schemas see them.
	Exact bool
	// Warnings are sentences about values that contradict each other.
	Warnings []string
	// Misfits are sentences about charts in charts/ in versions that no entry of
	// their name wants. Lint has findings of its own about them.
	Misfits []string
}

// Rounded is [Rounded] for what has become of r.Values. It looks for numbers
// only where there may be some: not where these are r.Values still, and not Exact.
func (r *Resolved) Rounded(vals map[string]any) map[string]any {
	if !r.Exact && same(vals, r.Values) {
		return vals
	}
	return Rounded(vals)
}

// Resolve computes which subcharts of c take part and what each of them sees,
// given the user's values. Neither c nor user is changed.
func Resolve(c *chart.Chart, user map[string]any) (*Resolved, error) {
	return resolve(c, user, &importer{})
}

func resolve(c *chart.Chart, user map[string]any, im *importer) (*Resolved, error) {
	tree := grow(c, true)
	tree.link()
	nulls, exact := tree.look()
	users := traits{exact: exact}
	users.look(user)
	pr := &pruner{}
	var vals map[string]any
	if tree.conditional() {
		var err error
		if vals, err = (&coalescer{nulls: nulls}).scope(tree.chart, user, c.Name()); err != nil {
			return nil, err
		}
	}
	tags, _ := vals["tags"].(map[string]any)
	pr.prune(tree, vals, tags, "")
	tree.link()
	im.nulls = nulls
	if err := im.run(tree, c.Name()); err != nil {
		return nil, err
	}
	co := &coalescer{nulls: nulls}
	vals, err := co.scope(tree.chart, user, c.Name())
	if err != nil {
		return nil, err
	}
	return &Resolved{Chart: tree.chart, Values: vals, Exact: users.exact,
		Warnings: slices.Concat(pr.warnings, im.warnings, co.warnings), Misfits: pr.misfits}, nil
}
