// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/release"
)

// ComputedValues are the values in force for a release: its chart's defaults
// with the user's values over them. A record that was read has no subcharts, but
// the defaults of a chart that lists dependencies hold theirs.
func ComputedValues(rel *release.Release) (map[string]any, error) {
	c, err := rel.Chart()
	if err != nil {
		return nil, err
	}
	if c == nil {
		return rel.Config, nil
	}
	// What the chart lists has been resolved, and is not to be resolved again.
	c = copyTree(c)
	c.Walk(func(c *chart.Chart) {
		meta := chart.Metadata{} // a record may lack its chart's
		if c.Metadata != nil {
			meta = *c.Metadata
		}
		meta.Dependencies = nil
		c.Metadata = &meta
	})
	res, err := values.Resolve(c, rel.Config)
	if err != nil {
		return nil, err
	}
	return res.Values, nil
}
