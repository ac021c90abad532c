// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/suites"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/scripttest"
)

// isLua reports whether a pattern is for tests of scripts.
func isLua(pattern string) bool { return path.Ext(filepath.ToSlash(pattern)) == ".lua" }

// scriptOptions returns what scripts are run with, in suites of both kinds.
func (o *Options) scriptOptions(f *cmdutil.Factory, c suites.Options) (scripttest.Options, error) {
	hosts, err := f.ScriptHosts(o.scripts)
	if err != nil {
		return scripttest.Options{}, err
	}
	host := hosts()
	opts := scripttest.Options{Start: host.Start, Limits: host.Limits, Print: host.Print, Profile: o.profile,
		Templates: c.Coverage, Values: c.Values}
	if o.scripts.Accept != nil {
		opts.Approve = host.Approve
	}
	return opts, nil
}

// findScriptTests returns the tests of scripts of a chart and, with WithSubcharts, of its
// subcharts in directories. A subchart is tested as a chart of its own.
func (o *Options) findScriptTests(ctx context.Context, c *suites.Chart, opts scripttest.Options) (
	[]unittest.Suite, error) {
	patterns := slices.DeleteFunc(slices.Clone(o.Files), func(p string) bool { return !isLua(p) })
	if len(patterns) == 0 {
		return nil, nil
	}
	return o.scriptTests(ctx, c.Root, c.Path, patterns, opts)
}

func (o *Options) scriptTests(ctx context.Context, c *chart.Chart, dir string, patterns []string,
	opts scripttest.Options) ([]unittest.Suite, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, err // an archive has no tests
	}
	files, err := suites.Glob(dir, patterns)
	if err != nil {
		return nil, err
	}
	var out []unittest.Suite
	for _, file := range files {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return nil, err
		}
		out = append(out, scripttest.New(ctx, c, dir, filepath.ToSlash(name), opts))
	}
	if !o.WithSubcharts {
		return out, nil
	}
	for _, sub := range c.Subcharts() {
		below := filepath.Join(dir, chart.DirCharts, sub.Name())
		if info, err := os.Stat(below); err != nil || !info.IsDir() {
			continue
		}
		alone, _, err := o.loader.Load(below)
		if err != nil {
			return nil, fmt.Errorf("load subchart %s: %w", sub.Name(), err)
		}
		in := opts
		in.Under = path.Join(opts.Under, c.Name(), chart.DirCharts)
		in.Values = valuesBelow(opts.Values, sub.Name())
		found, err := o.scriptTests(ctx, alone, below, patterns, in)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// valuesBelow returns the values of a subchart, with the global ones.
func valuesBelow(vals map[string]any, name string) map[string]any {
	below, _ := vals[name].(map[string]any)
	global, ok := vals[values.Global].(map[string]any)
	if !ok {
		return below
	}
	own, _ := below[values.Global].(map[string]any)
	return values.Merge(below, map[string]any{values.Global: values.Merge(own, global)})
}
