// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/values"
)

// ComputedValues are the values in force for a release: its chart's defaults
// with the user's values over them. Subcharts' defaults are not part of a
// record, so they are not part of the result.
func ComputedValues(rel *release.Release) (map[string]any, error) {
	c, err := rel.Chart()
	if err != nil {
		return nil, err
	}
	if c == nil {
		return rel.Config, nil
	}
	bare := c.Shallow()
	meta := chart.Metadata{} // a record may lack its chart's
	if c.Metadata != nil {
		meta = *c.Metadata
	}
	meta.Dependencies = nil
	bare.Metadata = &meta
	res, err := values.Resolve(bare, rel.Config)
	if err != nil {
		return nil, err
	}
	return res.Values, nil
}
