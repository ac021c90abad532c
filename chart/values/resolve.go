// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// Resolved is a chart tree with the values for rendering it.
type Resolved struct {
	// Chart is the tree with aliases and imported values applied and without disabled
	// subcharts. Its charts are shallow copies of the loaded ones.
	Chart *chart.Chart
	// Values are the root's final values, with the values of a subchart below its name;
	// see [Scope]. They share tables with the loaded charts and with the user's values:
	// to change them, change a [Copy].
	Values map[string]any
	// Exact is set if Values may contain a [Long] or a [Real]. They must then be
	// [Rounded] for templates and schemas.
	Exact bool
	// Lists are the lists of the values that merge, or nil if none does.
	Lists *Lists
	// Warnings are messages about values that contradict each other.
	Warnings []string
	// Misfits are messages about charts in charts/ whose versions satisfy no entry with
	// their name. They are separate because lint reports such charts itself.
	Misfits []string
}

// Rounded returns [Rounded] of vals. It is faster than the function if vals is r.Values and
// r.Exact is not set.
func (r *Resolved) Rounded(vals map[string]any) map[string]any {
	if !r.Exact && same(vals, r.Values) {
		return vals
	}
	return Rounded(vals)
}

// Resolve returns the enabled subcharts of c and the values of each chart for the user's
// values. It modifies neither c nor user. Lists that the schemas of the charts describe as such merge
// item by item; see [Lists].
func Resolve(c *chart.Chart, user map[string]any) (*Resolved, error) {
	return resolve(c, user, &importer{}, listsOf)
}

func resolve(c *chart.Chart, user map[string]any, im *importer, of func(*chart.Chart) *Lists) (*Resolved, error) {
	tree := grow(c, true)
	tree.link()
	lists := of(tree.chart)
	nulls, exact := tree.findTraits()
	users := traits{exact: exact}
	users.addTable(user)
	pr := &pruner{}
	var vals map[string]any
	if tree.isConditional() {
		exports, err := tree.exports()
		if err != nil {
			return nil, err
		}
		if vals, err = (&coalescer{nulls: nulls, exports: exports}).scope(tree.chart, user, c.Name(), lists); err != nil {
			return nil, err
		}
	}
	tags, _ := vals["tags"].(map[string]any)
	pr.prune(tree, vals, tags, "")
	tree.link()
	exports, err := tree.exports() // those of the dependencies that are left
	if err != nil {
		return nil, err
	}
	im.nulls, im.exports = nulls, exports
	if err := im.run(tree, c.Name(), lists); err != nil {
		return nil, err
	}
	co := &coalescer{nulls: nulls, exports: exports}
	vals, err = co.scope(tree.chart, user, c.Name(), lists)
	if err != nil {
		return nil, err
	}
	if vals, err = lists.Finish(vals); err != nil {
		return nil, err
	}
	return &Resolved{Chart: tree.chart, Values: vals, Exact: users.exact, Lists: lists,
		Warnings: slices.Concat(pr.warnings, im.warnings, co.warnings), Misfits: pr.misfits}, nil
}
