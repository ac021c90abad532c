// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Checker reads charts' scripts without running them. It is an action.ScriptChecker.
type Checker struct {
	// Start starts the process that parses them: to parse untrusted text is no safer than
	// to run it.
	Start Starter
	// Limits are as in [Host].
	Limits wire.Limits
}

// CheckScripts adds to in.Problems what is wrong with the scripts of in.Chart's tree, to
// in.Events the events that they answer, and to in.Requires what they require. No
// process is started for a tree without a Lua file. The error is that of a check that could
// not be done.
func (c Checker) CheckScripts(ctx context.Context, in *lint.ScriptInput) error {
	t := treeOf(in.Chart)
	in.Problems = append(in.Problems, slices.Concat(t.wrongPermissions(), t.wrongInterfaces())...)
	if !t.hasFiles() {
		return nil
	}
	found, err := c.check(ctx, t, nil, map[string]any{"events": changeable(), "tests": testFiles(in.Chart)})
	if err != nil {
		return err
	}
	return t.addFindings(in, found)
}

// CountLines calls count, a [Host.Coverage], with 0 for each line of the scripts of root's tree that
// can be run, also in files that nothing requires. It runs nothing, and leaves out files that do not compile.
func (c Checker) CountLines(ctx context.Context, root *chart.Chart,
	count func(chart, file string, line int, hits int64)) error {
	_, err := c.check(ctx, treeOf(root), count, map[string]any{"cover": true})
	return err
}

// check has a process check the scripts of a tree, if it has any, and returns its answer. body
// says what is wanted.
func (c Checker) check(ctx context.Context, t *tree, count func(chart, file string, line int, hits int64),
	body map[string]any) (fields, error) {
	if !t.hasFiles() {
		return nil, nil
	}
	h := &Host{Start: c.Start, Limits: c.Limits, Coverage: count}
	s, err := h.open(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	body["charts"], body["limits"] = t.checkMessage(), limitsBody(s.limits)
	r := &request{session: s, chart: t.likelyOwner()}
	return r.run(ctx, wire.Message{Kind: wire.Check, Body: body})
}

// hasFiles reports whether a chart of the tree has a Lua file.
func (t *tree) hasFiles() bool {
	return slices.ContainsFunc(t.charts, func(m *treeChart) bool { return len(m.files) > 0 })
}

// testFiles returns the texts of the files of tests of a chart's scripts, by their names.
func testFiles(c *chart.Chart) map[string]any {
	out := map[string]any{}
	for _, f := range c.Files {
		if ok, _ := path.Match("tests/*_test.lua", f.Name); ok {
			out[f.Name] = string(f.Data)
		}
	}
	return out
}

// checkMessage returns the charts as [wire.Check] describes them. They get no permissions: no
// script runs.
func (t *tree) checkMessage() []any {
	out := t.message()
	for i, m := range t.charts {
		// An error is a finding: see wrongPermissions.
		asks, _ := Permissions(m.chart)
		out[i].(map[string]any)["asks"] = texts(asks)
	}
	return out
}

// changeable returns, by the names of all events, the fields of the context that handlers
// may change.
func changeable() map[string]any {
	out := map[string]any{}
	for _, name := range event.Names() {
		out[name] = mutable(event.New(name).Mutable(), true)
	}
	for name, of := range event.Aliases() {
		out[name] = out[of]
	}
	return out
}

// addFindings adds the answer to a check to in.
func (t *tree) addFindings(in *lint.ScriptInput, found fields) error {
	problems, err := readList(found, "problems", t.readProblem)
	if err != nil {
		return err
	}
	events, err := readList(found, "events", t.readUse)
	if err != nil {
		return err
	}
	requires, err := readList(found, "requires", t.readUse)
	if err != nil {
		return err
	}
	in.Problems = append(in.Problems, problems...)
	in.Events = append(in.Events, events...)
	in.Requires = append(in.Requires, requires...)
	return nil
}

var errFindings = errors.New("check scripts: the process found something in an unknown chart")

func (t *tree) readProblem(f fields) (lint.Problem, error) {
	of := t.chartOf(f)
	if of == nil {
		return lint.Problem{}, errFindings
	}
	severity := lint.Error
	if f.text("severity") == "warning" {
		severity = lint.Warning
	}
	return lint.Problem{Severity: severity, Chart: of.path, File: f.short("file", maxSource), Line: f.line(),
		Message: f.short("message", maxMessage)}, nil
}

func (t *tree) readUse(f fields) (lint.Use, error) {
	of := t.chartOf(f)
	if of == nil {
		return lint.Use{}, errFindings
	}
	return lint.Use{Chart: of.path, File: f.short("file", maxSource), Line: f.line(),
		Name: f.short("name", maxSource)}, nil
}

// wrongPermissions returns a problem for each ext/permissions.yaml that is not valid.
func (t *tree) wrongPermissions() []lint.Problem {
	var out []lint.Problem
	for _, m := range t.charts {
		_, err := Permissions(m.chart)
		if wrong, ok := errors.AsType[*permissionsError](err); ok {
			out = append(out, lint.Problem{Severity: lint.Error, Chart: m.path, File: filePermissions, Line: wrong.line,
				Message: wrong.problem})
		}
	}
	return out
}
