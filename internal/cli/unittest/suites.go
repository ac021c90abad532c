// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"slices"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/suites"
	"github.com/moonhelm/moonhelm/internal/scripttest"
)

// findSuites returns the suites of a chart in YAML, and all tests that the chart of --chart-tests-path renders.
func (o *Options) findSuites(ctx context.Context, c *suites.Chart, opts scripttest.Options) ([]unittest.Suite, error) {
	find := c.Find
	if o.WithSubcharts {
		find = c.FindAll
	}
	found, err := find(slices.DeleteFunc(slices.Clone(o.Files), isLua))
	if err != nil || o.ChartTests == "" {
		return found, err
	}
	rendered, scripts, err := c.FindRendered(ctx, o.ChartTests)
	for _, t := range scripts {
		rendered = append(rendered, scripttest.NewText(ctx, c.Root, c.Path, t.Name, t.Text, opts))
	}
	return append(rendered, found...), err
}
