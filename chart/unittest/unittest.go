// SPDX-License-Identifier: Apache-2.0

// Package unittest runs tests of charts, which render templates or run scripts without a cluster.
// It knows no format of tests: a [Suite] is read by the package that implements it, such as
// chart/unittest/suites for suites in YAML, and reports are written from results alone.
//
//	runner := unittest.Runner{Parallel: runtime.GOMAXPROCS(0)}
//	charts := []unittest.Chart{{Name: "web", Path: "./web", Suites: found}}
//	err := runner.Run(ctx, charts, func(r *unittest.ChartResult) error { return print(r) })
//
// The results arrive in the order of the charts, whatever order the suites end in.
package unittest

import (
	"context"
	"time"
)

// A Suite is a set of tests of a chart. Suites of one run are run concurrently, the tests of a suite
// as its Run decides.
type Suite interface {
	// Name is shown in results. It may be "".
	Name() string
	// File is the path of the file of the suite, as the user would write it.
	File() string
	// Cases returns the names of the tests in order. Names may be "" and need not be unique.
	Cases() []string
	// Run runs the tests. A test that fails is part of the result. If ctx ends, the result has the
	// tests that have run and Err is the error of ctx.
	Run(ctx context.Context, o Options) *SuiteResult
}

// Options say how a suite runs. The zero value runs all tests, and does not modify snapshots.
type Options struct {
	// FailFast ends the suite after the first test that fails.
	FailFast bool
	// UpdateSnapshots replaces snapshots that differ and removes those that no test uses.
	UpdateSnapshots bool
	// Selected reports whether to run the test with the given index in Cases. If it is nil, all
	// tests run; a test that is not selected has no result.
	Selected func(index int) bool
}

// Status is the outcome of a test, of a suite or of a chart.
type Status int

// The statuses, in the order of their weight.
const (
	Skipped Status = iota
	Passed
	Failed
	// Errored is the status of a test that could not be evaluated, because what it runs broke down and
	// the test does not expect that, and of a suite or chart that could not be read.
	Errored
)

func (s Status) String() string {
	switch s {
	case Skipped:
		return "skipped"
	case Failed:
		return "failed"
	case Errored:
		return "errored"
	}
	return "passed"
}

// OK reports whether s is not a failure.
func (s Status) OK() bool { return s == Passed || s == Skipped }

// Place is a line of a file. Line is 1-based, or 0 if it is not known.
type Place struct {
	File string
	Line int
}

// Failure is an assertion of a test that failed.
type Failure struct {
	// Title says which assertion failed: "asserts[0] `equal` fail".
	Title string
	// Lines describe the failure. They are not indented, and may hold tabs.
	Lines []string
	// At is the place in the suite of the assertion, and Template that in the chart of what it is
	// about. Both may be zero.
	At, Template Place
}

// TestResult is the result of a test.
type TestResult struct {
	Name     string
	Status   Status
	Reason   string // why the test was skipped, or ""
	Failures []Failure
	// Err is set if Status is Errored.
	Err      error
	Duration time.Duration
	// At is the place of the test in its file.
	At Place
}

// Snapshots counts the snapshots that a suite has compared.
type Snapshots struct {
	Total, Failed, Created, Updated, Vanished int
}

// Add adds the counts of o.
func (s *Snapshots) Add(o Snapshots) {
	s.Total += o.Total
	s.Failed += o.Failed
	s.Created += o.Created
	s.Updated += o.Updated
	s.Vanished += o.Vanished
}

// SuiteResult is the result of a suite.
type SuiteResult struct {
	Name, File string
	Tests      []TestResult
	Snapshots  Snapshots
	// Err is set if the suite could not be read or run. Tests may then be empty.
	Err      error
	Duration time.Duration
	// Stopped is set if the suite ended after a failure because of Options.FailFast.
	Stopped bool
}

// Status returns the status of the suite: Errored if Err is set, Failed if a test failed or was
// Errored, and Skipped if all its tests are. A suite without tests is Passed.
func (r *SuiteResult) Status() Status {
	if r.Err != nil {
		return Errored
	}
	if len(r.Tests) == 0 {
		return Passed
	}
	worst := Skipped
	for i := range r.Tests {
		worst = max(worst, min(r.Tests[i].Status, Failed))
	}
	return worst
}

// ChartResult is the result of the suites of a chart, in their order.
type ChartResult struct {
	Name, Path string
	Suites     []*SuiteResult
	// Err is set if the chart or its suites could not be read.
	Err      error
	Duration time.Duration
}

// Status returns the status of the chart. Unlike a suite, a chart whose tests are all skipped is
// Passed.
func (r *ChartResult) Status() Status {
	if r.Err != nil {
		return Errored
	}
	worst := Passed
	for _, s := range r.Suites {
		worst = max(worst, s.Status())
	}
	return worst
}
