// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/release"
)

// ComputedValues returns the values of a release: the user's values merged over the
// chart's defaults. The chart in a record has no subcharts; its defaults include theirs.
func ComputedValues(rel *release.Release) (map[string]any, error) {
	_, vals, err := computedFrom(rel)
	return vals, err
}

// computedFrom returns the values of [ComputedValues], and a chart from which values.Resolve
// computes them, or nil if the record has none.
func computedFrom(rel *release.Release) (*chart.Chart, map[string]any, error) {
	c, err := rel.Chart()
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		return nil, rel.Config, nil
	}
	// The recorded defaults are already resolved: without the dependencies, Resolve does
	// not import their values a second time. The user's values are still to be exported.
	c = c.CopyTree()
	c.Walk(func(c *chart.Chart) {
		meta := chart.Metadata{} // a record may lack the metadata
		if c.Metadata != nil {
			meta = *c.Metadata
		}
		meta.Dependencies = exporters(meta.Dependencies)
		c.Metadata = &meta
	})
	res, err := values.ReadLists(rel.Lists).Resolve(c, rel.Config)
	if err != nil {
		return nil, nil, err
	}
	return c, res.Values, nil
}

// exporters returns the dependencies that values are exported to, without anything else.
func exporters(deps []*chart.Dependency) []*chart.Dependency {
	var out []*chart.Dependency
	for _, d := range deps {
		if d != nil && len(d.ExportValues) > 0 {
			out = append(out, &chart.Dependency{Name: d.Name, ExportValues: d.ExportValues})
		}
	}
	return out
}
