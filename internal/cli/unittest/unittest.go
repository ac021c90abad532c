// SPDX-License-Identifier: Apache-2.0

// Package unittest provides the command that runs the tests of charts.
package unittest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/chart/unittest/report"
	"github.com/moonhelm/moonhelm/chart/unittest/suites"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Options are the flags of `helm unittest`.
type Options struct {
	Charts        []string
	Files         []string // patterns
	Values        []string // files or patterns
	Update        bool
	Strict        bool
	FailFast      bool
	SkipSchema    bool
	WithSubcharts bool
	ChartTests    string
	OutputFile    string
	OutputType    string
	Debug         bool
	Parallel      int
	Watch         bool

	Coverage      bool
	CoverageFiles []string
	CoverageMin   float64

	scripts cmdutil.ScriptFlags
	loader  loader.Loader
	// profile has the lines of scripts that were run, nil if they are not counted.
	profile *coverage.Profile
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "unittest CHART...",
		Short: "Run the unit tests of charts",
		Long: `Run the unit tests of charts: suites in tests/*_test.yaml, in the format of the
plugin helm-unittest, and tests of scripts in tests/*_test.lua. A test renders
templates with values of its own, and asserts what they render. No cluster is
needed, and nothing is installed:

  # mychart/tests/deployment_test.yaml
  suite: deployment
  templates: [deployment.yaml]
  tests:
    - it: runs three replicas
      set:
        replicaCount: 3
      asserts:
        - equal:
            path: spec.replicas
            value: 3

A test in Lua runs a command or an event, with what a cluster and servers would
answer, and looks at what came of it:

  -- mychart/tests/scripts_test.lua
  test("computes the port", function()
    local out = run("install", { values = { port = 80 } })
    expect(out.values.adminPort).equals(81)
  end)

With --coverage, it shows which lines and branches of the templates, and which
lines of the scripts, the tests run; --coverage-file writes that for other tools:
as HTML, for lcov, or for Cobertura. With --watch, it runs the tests again whenever
a file of the chart changes.`,
		Example: `  helm unittest ./mychart
  helm unittest -f 'tests/unit/*_test.yaml' ./mychart
  helm unittest ./mychart --update-snapshot

  # In CI: results as JUnit, and the coverage for GitLab or Jenkins
  helm unittest ./mychart -t JUnit -o results.xml --coverage-file coverage.xml

  # Which lines do the tests not run?
  helm unittest ./mychart --coverage-file coverage.html`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(1, -1, "a chart: the path of a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Charts = args
			return run(cmd.Context(), f, o)
		},
	}
	o.bind(cmd, f)
	return cmd
}

func (o *Options) bind(cmd *cobra.Command, f *cmdutil.Factory) {
	fs := cmd.Flags()
	fs.StringArrayVarP(&o.Files, "file", "f", nil, "pattern of the files with suites, from the chart's directory "+
		"(may be repeated); without it tests/*_test.yaml and tests/*_test.lua")
	fs.Var((*listFlag)(&o.Values), "values",
		"values file, or a pattern of values files, that override those of the suites (-v; may be repeated)")
	fs.VarP((*listFlag)(&o.Values), "v", "v", "the same as --values, as in helm-unittest")
	_ = fs.MarkHidden("v") // it takes the place of the global flag
	fs.BoolVarP(&o.Update, "update-snapshot", "u", false, "replace the snapshots that differ, and remove unused ones")
	fs.BoolVar(&o.Strict, "strict", false, "fail on unknown fields in suites")
	fs.BoolVarP(&o.FailFast, "failfast", "q", false, "end with the first test that fails")
	fs.BoolVarP(&o.WithSubcharts, "with-subchart", "s", true, "run the tests of the subcharts in charts/ too")
	fs.StringVar(&o.ChartTests, "chart-tests-path", "",
		"directory, from the chart's, of a chart that renders tests, which are run too")
	fs.BoolVar(&o.SkipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	fs.StringVarP(&o.OutputFile, "output-file", "o", "", "file to write the results to")
	fs.StringVarP(&o.OutputType, "output-type", "t", string(report.XUnit),
		"format of --output-file: "+strings.Join(report.Formats(), ", "))
	fs.BoolVarP(&o.Debug, "debugPlugin", "d", false, "accepted for helm-unittest's sake, without effect")
	_ = fs.MarkHidden("debugPlugin")
	fs.IntVar(&o.Parallel, "parallel", runtime.GOMAXPROCS(0), "number of suites to run at the same time")
	fs.BoolVar(&o.Watch, "watch", false, "run the tests again when a file of the charts changes, until interrupted")
	fs.BoolVar(&o.Coverage, "coverage", false, "show which lines and branches of the templates the tests run")
	fs.StringArrayVar(&o.CoverageFiles, "coverage-file", nil,
		"write the coverage to a file, by its extension: .html, .info (lcov), .xml (Cobertura) or .txt (may be repeated)")
	fs.Float64Var(&o.CoverageMin, "coverage-min", 0, "fail if the tests run a smaller percentage of the lines")
	cmdutil.StringSliceVarP(fs, &o.scripts.Accept, "accept-perms", "",
		"permissions of charts' scripts to accept: io, os; network is answered by the tests")
	fs.DurationVar(&o.scripts.CPU, "script-timeout", wire.DefaultLimits().CPU,
		"limit of the CPU time of the scripts of a file of tests, and of each command that it runs")
	fs.Var(&colorFlag{setting: &f.Settings.Color}, "color", "use colour in output: never, auto or always")
	fs.Lookup("color").NoOptDefVal = "always"
	_ = cmd.RegisterFlagCompletionFunc("output-type",
		cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("chart-tests-path")
}

// listFlag is a flag that may be repeated. Several flags may share a list.
type listFlag []string

func (l *listFlag) String() string { return strings.Join(*l, ",") }
func (l *listFlag) Type() string   { return "stringArray" }

func (l *listFlag) Set(text string) error {
	*l = append(*l, text)
	return nil
}

// colorFlag is --color, which helm-unittest has without a value, or with true or false.
type colorFlag struct{ setting *string }

func (c *colorFlag) String() string {
	if c.setting == nil {
		return ""
	}
	return *c.setting
}

func (c *colorFlag) Type() string { return "string" }

func (c *colorFlag) Set(text string) error {
	switch text {
	case "true":
		text = "always"
	case "false":
		text = "never"
	}
	*c.setting = text
	return nil
}

// tuneGC makes the garbage collector run later, unless GOGC is set: renderings are short-lived and many.
// 200 tests of a chart of 60 templates take a fifth less CPU time, and 97 MB instead of 64.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	tuneGC()
	o.loader = f.Loader()
	if err := o.check(); err != nil {
		return err
	}
	if o.Watch {
		return watch(ctx, f, o)
	}
	return once(ctx, f, o)
}

func (o *Options) check() error {
	if len(o.Files) == 0 {
		o.Files = []string{"tests/*_test.yaml", "tests/*_test.lua"}
	}
	if _, err := report.ParseFormat(o.OutputType); err != nil {
		return fmt.Errorf("--output-type: %w", err)
	}
	for _, file := range o.CoverageFiles {
		if coverageFormat(file) == nil {
			return &extensionError{file}
		}
	}
	if o.Parallel < 1 {
		return fmt.Errorf("--parallel is %d, must be 1 or more", o.Parallel)
	}
	if o.CoverageMin < 0 || o.CoverageMin > 100 {
		return fmt.Errorf("--coverage-min is %g, must be a percentage from 0 to 100", o.CoverageMin)
	}
	return nil
}

// once runs all tests once.
func once(ctx context.Context, f *cmdutil.Factory, o Options) error {
	began := time.Now()
	vals, err := o.readValues(ctx, f)
	if err != nil {
		return err
	}
	var opened []*suites.Chart
	o.profile = nil
	if o.wantsCoverage() {
		o.profile = &coverage.Profile{}
	}
	charts := make([]unittest.Chart, len(o.Charts))
	for i, path := range o.Charts {
		c, found := o.open(ctx, f, path, vals)
		charts[i] = found
		if c != nil {
			opened = append(opened, c)
		}
	}
	text := report.NewText(f.Out, f.Style(f.Out))
	var results []*unittest.ChartResult
	runner := unittest.Runner{Parallel: o.Parallel,
		Options: unittest.Options{FailFast: o.FailFast, UpdateSnapshots: o.Update}}
	err = runner.Run(ctx, charts, func(r *unittest.ChartResult) error {
		results = append(results, r)
		return text.Chart(r)
	})
	if err != nil {
		return err
	}
	if err := text.Summary(time.Since(began)); err != nil {
		return err
	}
	if err := o.writeResults(results); err != nil {
		return err
	}
	below, err := o.reportCoverage(f, opened)
	if err != nil {
		return err
	}
	if below != nil {
		return below
	}
	if text.Totals.Charts.Failed > 0 {
		return &cmdutil.ExitError{Code: 1}
	}
	return nil
}

// open loads a chart and finds its suites. c is nil if it cannot be loaded.
func (o *Options) open(ctx context.Context, f *cmdutil.Factory, path string,
	vals map[string]any) (c *suites.Chart, out unittest.Chart) {
	opts := suites.Options{Loader: f.Loader(), Strict: o.Strict, SkipSchema: o.SkipSchema, Values: vals,
		ScriptLines: &coverage.ScriptLines{}}
	if o.wantsCoverage() {
		opts.Coverage = &engine.Coverage{}
	}
	scripts, err := o.scriptOptions(f, opts)
	if err == nil {
		opts.Scripts = func() suites.ScriptRunner { return scripts.Host(opts.ScriptLines) }
		c, err = suites.Open(path, opts)
	}
	if err == nil && o.wantsCoverage() {
		err = o.countScripts(ctx, f, c)
	}
	if err != nil {
		return nil, unittest.Chart{Name: filepath.Base(path), Path: path, Err: err}
	}
	out = unittest.Chart{Name: c.Root.Name(), Path: path}
	out.Suites, out.Err = o.findSuites(ctx, c, scripts)
	if out.Err == nil {
		var found []unittest.Suite
		found, out.Err = o.findScriptTests(ctx, c, scripts)
		out.Suites = append(out.Suites, found...)
	}
	if out.Err == nil && len(out.Suites) == 0 { // passes, as in helm-unittest
		f.Report().Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("%s has no tests: no file matches %s", path, strings.Join(o.Files, " or "))})
	}
	return c, out
}

// countScripts adds the lines of scripts that no test may run to the coverage of a chart.
func (o *Options) countScripts(ctx context.Context, f *cmdutil.Factory, c *suites.Chart) error {
	checker, err := f.ScriptChecker(o.scripts)
	if err != nil {
		return err
	}
	return checker.CountLines(ctx, c.Root, c.ScriptLines.Count)
}

// readValues returns the values of --values.
func (o *Options) readValues(ctx context.Context, f *cmdutil.Factory) (map[string]any, error) {
	var files []string
	for _, p := range o.Values {
		if !strings.ContainsAny(p, "*?[") {
			files = append(files, p)
			continue
		}
		found, err := suites.Glob(".", []string{p})
		if err != nil {
			return nil, fmt.Errorf("--values: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("--values: no file matches %q", p)
		}
		files = append(files, found...)
	}
	return values.Options{Files: files}.Build(func(path string) ([]byte, error) { return f.ReadSource(ctx, path) })
}

func (o *Options) wantsCoverage() bool {
	return o.Coverage || len(o.CoverageFiles) > 0 || o.CoverageMin > 0
}

// belowError is returned if the tests run too few lines.
type belowError struct{ got, want float64 }

func (e *belowError) Error() string {
	return fmt.Sprintf("the tests run %.1f%% of the lines, less than the %g%% of --coverage-min", e.got, e.want)
}

// Hint says how to find the lines.
func (e *belowError) Hint() string { return "--coverage lists the lines that no test runs" }

// reportCoverage prints and writes the coverage. below is set if it is too small.
func (o *Options) reportCoverage(f *cmdutil.Factory, charts []*suites.Chart) (below, err error) {
	if !o.wantsCoverage() {
		return nil, nil
	}
	p := o.profile
	for _, c := range charts {
		c.AddCoverage(p)
	}
	if o.Coverage {
		if err := p.WriteTable(f.Lines()); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, file := range slices.Compact(o.CoverageFiles) {
		errs = append(errs, writeFile(file, coverageFormat(file)(p)))
	}
	if got := p.Totals().LinePercent(); got < o.CoverageMin {
		below = &belowError{got, o.CoverageMin}
	}
	return below, errors.Join(errs...)
}
