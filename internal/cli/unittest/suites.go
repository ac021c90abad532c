// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"slices"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/suites"
)

// findSuites returns the suites of a chart in YAML.
func (o *Options) findSuites(ctx context.Context, c *suites.Chart) ([]unittest.Suite, error) {
	find := c.Find
	if o.WithSubcharts {
		find = c.FindAll
	}
	found, err := find(slices.DeleteFunc(slices.Clone(o.Files), isLua))
	if err != nil || o.ChartTests == "" {
		return found, err
	}
	rendered, err := c.FindRendered(ctx, o.ChartTests)
	return append(rendered, found...), err
}
