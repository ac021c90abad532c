// SPDX-License-Identifier: Apache-2.0

// Package scripttest runs tests of charts' scripts, tests/*_test.lua: suites of package
// chart/unittest. A test runs a command or an event without a cluster, with values, objects and
// a cluster of its own, and looks at what came of it:
//
//	test("keeps the port", function()
//	  local out = run("install", { values = { port = 9000 } })
//	  expect(out.values.port).equals(9000)
//	end)
//
// The tests, and each command that they run, have a process of their own, like that of
// scripts. A chart has the permission network in tests, which is answered by the test alone;
// other permissions need [Options.Approve].
package scripttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Options are what tests are run with.
type Options struct {
	// Start starts the processes, Limits bound each of them.
	Start  script.Starter
	Limits wire.Limits
	// Approve is asked about the permissions other than network that a chart wants; nil
	// refuses them.
	Approve func(ctx context.Context, asks []script.Ask) error
	// Print shows what files of tests print; nil shows nothing.
	Print func(chart, line string)
	// Profile gets the lines of scripts that were run, and Templates those of templates; nil
	// ones get nothing.
	Profile   *coverage.Profile
	Templates *engine.Coverage
	// Under is the path in the profile of the chart that a subchart is tested for, with charts:
	// "web/charts". "" is for a chart of its own.
	Under string
	// Values are values of the user that override those of tests.
	Values map[string]any
}

// maxFile is the largest file of tests, as of scripts.
const maxFile = 256 << 10

// Suite is a file of tests. It is a [unittest.Suite].
type Suite struct {
	o     Options
	chart *chart.Chart
	dir   string // of the chart, on disk
	file  string // on disk
	name  string // in the chart
	text  string
	cases []script.TestCase
	err   error // of reading and loading the file
}

var _ unittest.Suite = (*Suite)(nil)

// New reads a file of tests, whose path on disk is dir/name, and loads it to learn the names of
// its tests. An error is the result of the suite.
func New(ctx context.Context, c *chart.Chart, dir, name string, o Options) *Suite {
	s := newSuite(c, dir, name, o)
	if s.text, s.err = readFile(s.file); s.err == nil {
		s.load(ctx)
	}
	return s
}

// NewText is New for a file whose text is not on disk: a template that was rendered.
func NewText(ctx context.Context, c *chart.Chart, dir, name, text string, o Options) *Suite {
	s := newSuite(c, dir, name, o)
	s.text = text
	if len(text) > maxFile {
		s.err = &sizeError{s.file}
		return s
	}
	s.load(ctx)
	return s
}

func newSuite(c *chart.Chart, dir, name string, o Options) *Suite {
	return &Suite{o: o, chart: c, dir: dir, name: name, file: filepath.Join(dir, filepath.FromSlash(name))}
}

// load learns the tests of the file.
func (s *Suite) load(ctx context.Context) {
	tests := s.tests(nil)
	tests.Coverage, tests.Print = nil, nil // it will be run again
	defer tests.Close()
	if s.cases, s.err = tests.Load(ctx); s.err == nil && len(s.cases) == 0 {
		s.err = &noTestsError{s.file}
	}
}

// sizeError is returned for a file of tests that is too large.
type sizeError struct{ file string }

func (e *sizeError) Error() string {
	return fmt.Sprintf("%s is larger than %d KiB", e.file, maxFile>>10)
}

// Hint says what to do about the size.
func (e *sizeError) Hint() string { return "write the tests in several files" }

// noTestsError is returned for a file without tests.
type noTestsError struct{ file string }

func (e *noTestsError) Error() string { return e.file + ": there are no tests" }

// Hint says how tests are written.
func (e *noTestsError) Hint() string { return `test("name", function() ... end) adds one` }

// notRunError is returned for the tests after one that has ended the process of the file.
type notRunError struct{ after string }

func (e *notRunError) Error() string {
	return fmt.Sprintf("it was not run: the test %q before it ended the scripts of this file", e.after)
}

func readFile(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", name)
	case info.Size() > maxFile:
		return "", &sizeError{name}
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

// Name implements [unittest.Suite].
func (s *Suite) Name() string { return strings.TrimSuffix(path.Base(s.name), ".lua") }

// File implements [unittest.Suite].
func (s *Suite) File() string { return s.file }

// Cases implements [unittest.Suite].
func (s *Suite) Cases() []string {
	out := make([]string, len(s.cases))
	for i, c := range s.cases {
		out[i] = c.Name
	}
	return out
}

// tests returns the file, with a runner of its commands.
func (s *Suite) tests(r *runner) *script.Tests {
	t := &script.Tests{Start: s.o.Start, Limits: s.o.Limits, Print: s.o.Print, Chart: s.chart, File: s.name, Text: s.text}
	if r != nil {
		t.Run = r.run
	} else {
		t.Run = func(context.Context, string, map[string]any) (map[string]any, error) {
			return nil, errors.New("run is for tests: call it in the function that test is given")
		}
	}
	return t
}

// Run implements [unittest.Suite]. Tests run one after the other, each in the process of the
// file: what one sets in a global, the next one sees.
func (s *Suite) Run(ctx context.Context, o unittest.Options) *unittest.SuiteResult {
	res := &unittest.SuiteResult{Err: s.err}
	if s.err != nil {
		return res
	}
	lines := &coverage.ScriptLines{}
	if s.o.Profile != nil {
		defer func() { lines.AddTo(s.o.Profile, s.chart, s.dir, s.o.Under) }()
	}
	r := &runner{suite: s, lines: lines}
	tests := s.tests(r)
	if s.o.Profile != nil {
		tests.Coverage = lines.Count
	}
	defer tests.Close()
	if _, err := tests.Load(ctx); err != nil {
		res.Err = err
		return res
	}
	r.loaded = true
	ended := "" // the test that has ended the process
	for i, c := range s.cases {
		if o.Selected != nil && !o.Selected(i) {
			continue
		}
		if res.Err = ctx.Err(); res.Err != nil {
			return res
		}
		began := time.Now()
		t := unittest.TestResult{Name: c.Name, Status: unittest.Errored, At: unittest.Place{File: s.file, Line: c.Line},
			Err: &notRunError{ended}}
		if ended == "" {
			t = s.result(c, tests.Do(ctx, i))
		}
		if t.Status == unittest.Errored && ended == "" {
			ended = c.Name
		}
		t.Duration = time.Since(began)
		res.Tests = append(res.Tests, t)
		if o.FailFast && !t.Status.OK() {
			res.Stopped = true
			return res
		}
	}
	return res
}

// result makes the result of a test of the error of its function.
func (s *Suite) result(c script.TestCase, err error) unittest.TestResult {
	t := unittest.TestResult{Name: c.Name, Status: unittest.Passed, At: unittest.Place{File: s.file, Line: c.Line}}
	if err == nil {
		return t
	}
	var failed *script.Error
	if !errors.As(err, &failed) || failed.Limit != "" {
		t.Status, t.Err = unittest.Errored, err
		return t
	}
	title, rest, _ := strings.Cut(failed.Message, "\n")
	f := unittest.Failure{Title: title, At: unittest.Place{File: s.place(failed.File), Line: failed.Line}}
	f.Lines = describe(rest)
	t.Status, t.Failures = unittest.Failed, []unittest.Failure{f}
	return t
}

// describe returns the lines of a failed expectation: headings as they are, values below them,
// and the difference of values that have several lines.
func describe(text string) []string {
	if text == "" {
		return nil
	}
	heading, rest, _ := strings.Cut(text, "\n")
	want, got, both := strings.Cut(rest, "\nActual:\n")
	lines := append([]string{heading}, indent(want)...)
	if !both {
		return lines
	}
	lines = append(append(lines, "Actual:"), indent(got)...)
	if heading != "Expected to equal:" || !strings.Contains(want+got, "\n") {
		return lines
	}
	d := string(diff.Diff("Expected", []byte(want+"\n"), "Actual", []byte(got+"\n")))
	_, d, _ = strings.Cut(d, "\n") // the line of the command
	return append(append(lines, "Diff:"), indent(strings.TrimSuffix(d, "\n"))...)
}

func indent(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = "\t" + lines[i]
	}
	return lines
}

// place returns the path on disk of a file of the chart.
func (s *Suite) place(file string) string { return filepath.Join(s.dir, filepath.FromSlash(file)) }
