// SPDX-License-Identifier: Apache-2.0

// Package report writes the results of tests of charts: as text, like helm-unittest, and as the files
// that CI systems read.
//
//	p := report.NewText(os.Stdout, style)
//	err := runner.Run(ctx, charts, p.Chart)
//	...
//	err = p.Summary(time.Since(began))
//
// It works on results alone, so that it does not depend on what kind of suites there are.
package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Totals counts results.
type Totals struct {
	Charts, Suites, Tests Counts
	Snapshots             unittest.Snapshots
	// SnapshotSuites is the number of suites with snapshots that differ.
	SnapshotSuites int
}

// Counts are the results of charts, suites or tests by status. Those that are Errored also count as
// Failed.
type Counts struct{ Passed, Failed, Errored, Skipped int }

func (c *Counts) add(s unittest.Status) {
	switch s {
	case unittest.Passed:
		c.Passed++
	case unittest.Skipped:
		c.Skipped++
	case unittest.Errored:
		c.Errored++
		c.Failed++
	default:
		c.Failed++
	}
}

// Total returns the number of results.
func (c Counts) Total() int { return c.Passed + c.Failed + c.Skipped }

func (c Counts) String() string {
	var b strings.Builder
	if c.Failed > 0 {
		fmt.Fprintf(&b, "%d failed, ", c.Failed)
	}
	if c.Errored > 0 {
		fmt.Fprintf(&b, "%d errored, ", c.Errored)
	}
	fmt.Fprintf(&b, "%d passed, ", c.Passed)
	if c.Skipped > 0 {
		fmt.Fprintf(&b, "%d skipped, ", c.Skipped)
	}
	fmt.Fprintf(&b, "%d total", c.Total())
	return b.String()
}

// Add adds the results of a chart.
func (t *Totals) Add(r *unittest.ChartResult) {
	t.Charts.add(r.Status())
	for _, s := range r.Suites {
		t.Suites.add(s.Status())
		t.Snapshots.Add(s.Snapshots)
		if s.Snapshots.Failed > 0 {
			t.SnapshotSuites++
		}
		for i := range s.Tests {
			t.Tests.add(s.Tests[i].Status)
		}
	}
}

// Text prints results as text.
type Text struct {
	Totals Totals

	w     io.Writer
	style term.Style
	err   error
}

// NewText returns a Text that prints to w.
func NewText(w io.Writer, style term.Style) *Text { return &Text{w: w, style: style} }

// Chart prints the results of a chart. It returns the first error of writing.
func (p *Text) Chart(r *unittest.ChartResult) error {
	p.Totals.Add(r)
	if r.Err != nil {
		p.line("\n%s %s", p.style.Red("### Error: "), p.errorText(r.Err, ""))
		return p.err
	}
	p.line("\n### Chart [ %s ] %s\n", p.style.Bold(term.SafeLine(r.Name)), p.style.Dim(term.SafeLine(r.Path)))
	for _, s := range r.Suites {
		p.suite(s)
	}
	return p.err
}

func (p *Text) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *Text) suite(s *unittest.SuiteResult) {
	label := p.style.Codes(" PASS ", "42", "30")
	switch s.Status() {
	case unittest.Failed, unittest.Errored:
		label = p.style.Codes(" FAIL ", "41", "37")
	case unittest.Skipped:
		label = p.style.Codes(" SKIP ", "43", "30")
	}
	p.line("%s %s\t%s", label, p.style.Bold(term.SafeLine(s.Name)), p.style.Dim(term.SafeLine(s.File)))
	if s.Err != nil {
		p.line("\t%s\n\t\t%s\n", p.style.Red("- Execution Error: "), p.errorText(s.Err, "\t\t"))
	}
	for i := range s.Tests {
		p.test(&s.Tests[i])
	}
}

func (p *Text) test(t *unittest.TestResult) {
	name := term.SafeLine(t.Name)
	switch t.Status {
	case unittest.Passed:
	case unittest.Skipped:
		p.line("\t%s", p.style.Yellow("- SKIPPED '"+name+"'"))
	case unittest.Errored:
		p.line("\t%s\n\t\tError: %s\n", p.style.Red("- "+name), p.errorText(t.Err, "\t\t"))
	default:
		p.line("\t%s\n", p.style.Red("- "+name))
		for i := range t.Failures {
			p.failure(&t.Failures[i])
		}
	}
}

func (p *Text) failure(f *unittest.Failure) {
	p.line("\t\t%s", p.style.Red("- "+term.SafeLine(f.Title)))
	for _, l := range describe(f) {
		p.line("\t\t\t%s", p.diffLine(term.Safe(strings.ReplaceAll(l, "\n", " "))))
	}
	p.line("")
}

// describe returns the lines of a failure with the places that it is about.
func describe(f *unittest.Failure) []string {
	var out []string
	if f.At.Line > 0 {
		out = append(out, fmt.Sprintf("Test:\t%s:%d", f.At.File, f.At.Line))
	}
	if f.Template.Line > 0 {
		out = append(out, fmt.Sprintf("Source:\t%s:%d", f.Template.File, f.Template.Line))
	}
	return append(out, f.Lines...)
}

// diffLine colours a line of a diff.
func (p *Text) diffLine(l string) string {
	switch text := strings.TrimLeft(l, "\t"); {
	case text == l:
		return l
	case strings.HasPrefix(text, "+"):
		return p.style.Green(l)
	case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "- "):
		return p.style.Red(l)
	}
	return l
}

// errorText returns the message and the hint of an error with its lines indented.
func (p *Text) errorText(err error, indent string) string {
	if err == nil {
		err = errors.New("unknown error")
	}
	text := term.Safe(err.Error())
	for _, h := range hint.Of(err) {
		text += "\nhint: " + term.SafeLine(h)
	}
	return strings.ReplaceAll(text, "\n", "\n"+indent)
}

// Summary prints the totals.
func (p *Text) Summary(took time.Duration) error {
	if n := p.Totals.Snapshots.Failed; n > 0 {
		p.line("\n%s", p.style.Bold(fmt.Sprintf("Snapshot Summary: %d snapshot failed in %s. "+
			"Check changes and use `-u` to update snapshot.", n, plural.Count(p.Totals.SnapshotSuites, "test suite"))))
	}
	snaps := p.Totals.Snapshots
	text := fmt.Sprintf("%d passed, %d total", snaps.Total-snaps.Failed, snaps.Total)
	if snaps.Failed > 0 {
		text = fmt.Sprintf("%d failed, ", snaps.Failed) + text
	}
	p.line("\nCharts:      %s", p.Totals.Charts)
	p.line("Test Suites: %s", p.Totals.Suites)
	p.line("Tests:       %s", p.Totals.Tests)
	p.line("Snapshot:    %s", text)
	p.line("Time:        %s\n", took)
	return p.err
}
