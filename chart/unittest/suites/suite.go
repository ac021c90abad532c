// SPDX-License-Identifier: Apache-2.0

// Package suites runs suites of tests in helm-unittest's format: YAML files that render templates of
// a chart with the values of a test, and assert what they render.
//
//	c, err := suites.Open("./web", suites.Options{})
//	...
//	found, err := c.Find([]string{"tests/*_test.yaml"})
//	...
//	for _, s := range found {
//		result := s.Run(ctx, unittest.Options{})
//		fmt.Println(s.Name(), result.Status())
//	}
//
// The verdicts are those of helm-unittest 1.1.2. The package needs no cluster; a suite's postRenderer
// is a program that it starts.
package suites

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/suggest"
)

// compatible is the version of helm-unittest with which suites are compatible. Suites may require a
// minimum version.
const compatible = "1.1.2"

// suite implements [unittest.Suite].
type suite struct {
	file   string // as shown
	def    *definition
	render *renderer
	snaps  *snapshots
	// err is set if the file could not be read.
	err error
}

var _ unittest.Suite = (*suite)(nil)

func (s *suite) Name() string {
	if s.def == nil {
		return ""
	}
	return s.def.Suite
}

func (s *suite) File() string { return s.file }

func (s *suite) Cases() []string {
	if s.def == nil {
		return nil
	}
	out := make([]string, len(s.def.Tests))
	for i, t := range s.def.Tests {
		out[i] = t.It
	}
	return out
}

// Run runs the tests of the suite.
func (s *suite) Run(ctx context.Context, o unittest.Options) *unittest.SuiteResult {
	res := &unittest.SuiteResult{Err: s.err}
	if s.err != nil {
		return res
	}
	if res.Err = s.snaps.load(); res.Err != nil {
		return res
	}
	snaps := &comparer{snapshots: s.snaps, update: o.UpdateSnapshots}
	rendered := s.renderAll(ctx, o)
	for i := range s.def.Tests {
		if o.Selected != nil && !o.Selected(i) {
			continue
		}
		t := &s.def.Tests[i]
		out := rendered(i)
		if ctx.Err() != nil {
			res.Err = ctx.Err()
			break
		}
		res.Tests = append(res.Tests, s.result(t, out, snaps))
		if o.FailFast && !res.Tests[len(res.Tests)-1].Status.OK() {
			res.Stopped = true
			break
		}
	}
	if res.Err == nil && o.Selected == nil && !res.Stopped {
		res.Err = snaps.finish()
	}
	res.Snapshots = snaps.counts
	return res
}

// rendering is the rendering of a test.
type rendering struct {
	out      *outputs
	err      error
	skipped  string
	duration time.Duration
}

// renderAll renders for the tests, several at a time but not far ahead, and returns a function that
// waits for the rendering of a test.
func (s *suite) renderAll(ctx context.Context, o unittest.Options) func(i int) rendering {
	results := make([]rendering, len(s.def.Tests))
	done := make([]chan struct{}, len(results))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var wanted []int
	for i := range s.def.Tests {
		if o.Selected == nil || o.Selected(i) {
			wanted = append(wanted, i)
		}
	}
	parallel := min(runtime.GOMAXPROCS(0), len(wanted))
	if o.FailFast || parallel < 2 {
		return func(i int) rendering { return s.renderTest(ctx, &s.def.Tests[i]) }
	}
	next := make(chan int, len(wanted))
	for _, i := range wanted {
		next <- i
	}
	close(next)
	for range parallel {
		go func() {
			for i := range next {
				results[i] = s.renderTest(ctx, &s.def.Tests[i])
				close(done[i])
			}
		}()
	}
	return func(i int) rendering {
		<-done[i]
		r := results[i]
		results[i] = rendering{} // the outputs of many tests are large
		return r
	}
}

func (s *suite) renderTest(ctx context.Context, t *test) rendering {
	if reason := s.skipReason(t); reason != "" {
		return rendering{skipped: reason}
	}
	if ctx.Err() != nil {
		return rendering{err: ctx.Err()}
	}
	began := time.Now()
	out, err := s.render.render(ctx, t)
	return rendering{out: out, err: err, duration: time.Since(began)}
}

// skipReason returns why to skip a test, or "".
func (s *suite) skipReason(t *test) string {
	if s.def.Skip.Reason != "" {
		return s.def.Skip.Reason
	}
	if least, err := s.def.Skip.minimum(); err == nil && least != nil && least.GreaterThan(semver.MustParse(compatible)) {
		return "Test requires unittest plugin version " + s.def.Skip.MinimumVersion
	}
	return t.Skip.Reason
}

// result evaluates the assertions of a test.
func (s *suite) result(t *test, r rendering, snaps *comparer) unittest.TestResult {
	began := time.Now()
	res := unittest.TestResult{Name: t.It, Status: unittest.Passed, At: unittest.Place{File: s.file, Line: t.line}}
	defer func() { res.Duration = r.duration + time.Since(began) }()
	if r.skipped != "" {
		res.Status, res.Reason = unittest.Skipped, r.skipped
		return res
	}
	if r.err == nil && r.out.failed != nil {
		r.err = s.unexpected(t, r.out.failed)
	}
	if r.err != nil {
		res.Status, res.Err = unittest.Errored, r.err
		return res
	}
	run := &testRun{suite: s, test: t, out: r.out, snapshot: snaps.counter(t.It)}
	for i, a := range t.assertions {
		if f := run.evaluate(i, a); f != nil {
			res.Status = unittest.Failed
			res.Failures = append(res.Failures, *f)
		}
	}
	if run.skipped > 0 && run.skipped == len(t.assertions) {
		res.Status, res.Reason = unittest.Skipped, "documentSelector selects no document"
	}
	return res
}

// unexpected returns the error of a rendering that has failed, unless t expects it.
func (s *suite) unexpected(t *test, f *failure) error {
	expects := slices.ContainsFunc(t.assertions, func(a *assertion) bool {
		c, ok := a.check.(*failedTemplate)
		// An error of no template, such as that of a schema, is either the expected one or an error.
		return ok && a.onFailure && (f.file != "" || f.script ||
			c.err == nil && c.pattern.err == nil && c.matches(f) != a.negated)
	})
	if expects {
		return nil
	}
	return f.err
}

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("read %s: want a file of at most %d MiB", name, limit>>20)
	}
	return os.ReadFile(name)
}

// maxValues is the size of the largest values file, in bytes.
const maxValues = 16 << 20

// read returns the values of a file. shown is its name in errors.
func (c *fileCache) read(name, shown string) (map[string]any, error) {
	c.mu.Lock()
	if c.files == nil {
		c.files = map[string]*cachedFile{}
	}
	f := c.files[name]
	if f == nil {
		f = &cachedFile{}
		c.files[name] = f
	}
	c.mu.Unlock()
	f.once.Do(func() {
		var text []byte
		if text, f.err = readFile(name, maxValues); f.err == nil {
			f.vals, f.err = values.Parse(shown, text)
		}
	})
	return f.vals, f.err
}

// testRun evaluates the assertions of a test.
type testRun struct {
	suite    *suite
	test     *test
	out      *outputs
	snapshot snapshotFunc
	// skipped is the number of assertions whose selector selects nothing, and need not.
	skipped int
}

// evaluate returns what is wrong with an assertion, or nil.
func (r *testRun) evaluate(i int, a *assertion) *unittest.Failure {
	lines, template := r.lines(a)
	if len(lines) == 0 {
		return nil
	}
	if a.beside != "" {
		lines = append(lines, fmt.Sprintf("Hint:\t%s is beside %s, without effect: indent it to make it a parameter",
			a.beside, a.name))
	}
	not := ""
	if a.not {
		not = "NOT "
	}
	return &unittest.Failure{Title: fmt.Sprintf("asserts[%d] %s`%s` fail", i, not, a.name), Lines: lines,
		At: unittest.Place{File: r.suite.file, Line: a.line}, Template: template}
}

func (r *testRun) lines(a *assertion) (lines []string, at unittest.Place) {
	targets := r.targets(a)
	selected, err := r.selectDocuments(a, targets)
	if err != nil {
		return []string{"Error:", err.Error()}, at
	}
	if selected == nil {
		r.skipped++
		return nil, at
	}
	if len(selected) == 0 {
		v := r.view(a, "", nil)
		return a.check.check(v), at
	}
	for _, s := range selected {
		bad := r.check(a, s)
		if len(bad) > 0 && at.File == "" {
			at = r.place(s, a)
		}
		lines = append(lines, bad...)
	}
	return lines, at
}

// check returns what is wrong with the documents of a template.
func (r *testRun) check(a *assertion, s target) []string {
	v := r.view(a, s.name, s.docs)
	shown := r.out.root + "/" + s.name
	_, about := a.check.(*failedTemplate)
	switch {
	case v.failed != nil && !about:
		return []string{"Template:\t" + shown, "Error: Invalid rendering: " + v.failed.texts()[0]}
	case v.missing && (!about || a.negated && v.failed == nil):
		return append(errorLines("template %q not exists or not selected in test suite", shown), r.hintAbout(s.name)...)
	}
	lines := a.check.check(v)
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"Template:\t" + shown}, lines...)
}

// hintAbout says which template was probably meant in place of name, and where to select it.
func (r *testRun) hintAbout(name string) []string {
	known := make([]string, 0, len(r.suite.render.Root.Templates))
	for _, f := range r.suite.render.Root.Templates {
		if f.Name == name {
			return []string{"Hint:\tthe chart has it: add it to the templates of the suite"}
		}
		known = append(known, f.Name)
	}
	if near := suggest.Similar(known, name, 4, strings.ToLower); near != "" {
		return []string{"Hint:\tdid you mean " + near + "?"}
	}
	return nil
}

func (r *testRun) view(a *assertion, name string, docs []document) *view {
	all, ok := r.out.docs[name]
	v := &view{docs: docs, all: len(all), negated: a.negated, missing: name != "" && !ok, snapshot: r.snapshot}
	if f := r.out.failed; f != nil && (f.file == name || f.file == "" || name == "" || r.isPartial(f.file)) {
		v.failed, v.missing = f, false
	}
	return v
}

// isPartial reports whether a file has no output of its own, so that its failure is one of every template.
func (r *testRun) isPartial(name string) bool { return strings.HasPrefix(filepath.Base(name), "_") }

// targets returns the templates that an assertion is about: its own, or else those of the test, or
// else those of the suite.
func (r *testRun) targets(a *assertion) []string {
	prefix := r.suite.render.prefix
	switch {
	case a.template != "":
		return []string{string(newPattern(a.template, prefix))}
	case len(r.test.Templates) > 0:
		out := make([]string, len(r.test.Templates))
		for i, t := range r.test.Templates {
			out[i] = string(newPattern(t, prefix))
		}
		slices.Sort(out)
		return slices.Compact(out)
	case r.test.Template != "":
		return []string{string(newPattern(r.test.Template, prefix))}
	}
	names := r.out.names()
	if f := r.out.failed; f != nil && f.file != "" {
		names = []string{f.file}
	}
	if len(r.suite.def.Templates) == 0 {
		return names
	}
	var out []string
	for _, p := range r.suite.render.selected.include {
		if p.literal() {
			out = append(out, string(p))
			continue
		}
		for _, name := range names {
			if p.matches(name) && r.suite.render.selected.has(name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// target is a template with the documents that are selected.
type target struct {
	name string
	docs []document
}

// selectDocuments selects the documents of the targets. It returns nil if the selector of the test
// selects nothing and allows that.
func (r *testRun) selectDocuments(a *assertion, names []string) ([]target, error) {
	sel, ofTest := a.selector, false
	if sel == nil {
		sel, ofTest = r.test.Selector, true
	}
	if sel != nil && r.out.failed == nil {
		out, err := r.bySelector(sel, names)
		if err == nil && len(out) == 0 && ofTest {
			return nil, nil
		}
		return out, err
	}
	index := r.test.DocumentIndex
	if index == nil {
		index = a.index
	}
	out := make([]target, 0, len(names))
	for _, name := range names {
		docs := r.out.docs[name]
		_, counts := a.check.(*hasDocuments)
		if index != nil && *index >= 0 && r.out.failed == nil && !(counts && len(docs) == 0) {
			if *index >= len(docs) {
				return nil, fmt.Errorf("document index %d is out of range", *index)
			}
			docs = docs[*index : *index+1]
		}
		out = append(out, target{name, docs})
	}
	return out, nil
}

func (r *testRun) bySelector(sel *selector, names []string) ([]target, error) {
	out := []target{}
	found := 0
	for _, name := range names {
		var docs []document
		for _, d := range r.out.docs[name] {
			ok, err := sel.matches(d)
			if err != nil {
				return nil, err
			}
			if ok {
				docs = append(docs, d)
			}
		}
		found += len(docs)
		if len(docs) > 0 {
			out = append(out, target{name, docs})
		}
	}
	switch {
	case found > 1 && !sel.MatchMany:
		return nil, errMultiple
	case found == 0 && !sel.SkipEmpty:
		return nil, errNotFound
	}
	return out, nil
}
