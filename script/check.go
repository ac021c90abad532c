// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/truncate"
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
	t := &tree{byNode: map[*chart.Chart]*treeChart{}}
	t.add(in.Chart)
	t.connect()
	in.Problems = append(in.Problems, slices.Concat(t.wrongPermissions(), t.wrongInterfaces())...)
	if !t.hasFiles() {
		return nil
	}
	h := &Host{Start: c.Start, Limits: c.Limits}
	s, err := h.open(ctx, t, nil)
	if err != nil {
		return err
	}
	defer s.close()
	r := &request{session: s, chart: t.likelyOwner()}
	done, err := r.run(ctx, wire.Message{Kind: wire.Check, Body: map[string]any{
		"charts": t.checkMessage(), "limits": limitsBody(s.limits), "events": changeable(),
		"tests": testFiles(in.Chart),
	}})
	if err != nil {
		return err
	}
	return s.findings(done.Body, in)
}

// CountLines calls count, a [Host.Coverage], with 0 for each line of the scripts of root's tree that
// can be run, also in files that nothing requires. It runs nothing, and leaves out files that do not compile.
func (c Checker) CountLines(ctx context.Context, root *chart.Chart,
	count func(chart, file string, line int, hits int64)) error {
	t := &tree{byNode: map[*chart.Chart]*treeChart{}}
	t.add(root)
	t.connect()
	if !t.hasFiles() {
		return nil
	}
	h := &Host{Start: c.Start, Limits: c.Limits, Coverage: count}
	s, err := h.open(ctx, t, nil)
	if err != nil {
		return err
	}
	defer s.close()
	r := &request{session: s, chart: t.likelyOwner()}
	_, err = r.run(ctx, wire.Message{Kind: wire.Check, Body: map[string]any{
		"charts": t.checkMessage(), "limits": limitsBody(s.limits), "cover": true,
	}})
	return err
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

// findings adds the answer to a check to in.
func (s *session) findings(body map[string]any, in *lint.ScriptInput) error {
	each := func(key string, add func(m *treeChart, file string, line int, b map[string]any)) error {
		all, err := mapsOf(body, key)
		for _, b := range all {
			at, ok := s.chartOf(b)
			if !ok {
				return fmt.Errorf("check scripts: the process's %s are of no chart", key)
			}
			line, _ := b["line"].(int64)
			add(s.tree.charts[at], truncate.Bytes(textOf(b, "file"), maxSource, "…"), int(min(max(line, 0), 1<<30)), b)
		}
		return err
	}
	use := func(to *[]lint.Use) func(m *treeChart, file string, line int, b map[string]any) {
		return func(m *treeChart, file string, line int, b map[string]any) {
			*to = append(*to, lint.Use{Chart: m.path, File: file, Line: line,
				Name: truncate.Bytes(textOf(b, "name"), maxSource, "…")})
		}
	}
	if err := each("problems", func(m *treeChart, file string, line int, b map[string]any) {
		in.Problems = append(in.Problems,
			lint.Problem{Severity: severity(textOf(b, "severity")), Chart: m.path, File: file, Line: line,
				Message: truncate.Bytes(textOf(b, "message"), maxMessage, "…")})
	}); err != nil {
		return err
	}
	if err := each("events", use(&in.Events)); err != nil {
		return err
	}
	return each("requires", use(&in.Requires))
}

func severity(text string) lint.Severity {
	if text == "warning" {
		return lint.Warning
	}
	return lint.Error
}

// wrongPermissions returns a problem for each ext/permissions.yaml that is not valid.
func (t *tree) wrongPermissions() []lint.Problem {
	var out []lint.Problem
	for _, m := range t.charts {
		for _, f := range m.chart.Files {
			if f.Name != filePermissions {
				continue
			}
			_, err := parsePermissions(f.Data)
			if err == nil {
				continue
			}
			p := lint.Problem{Severity: lint.Error, Chart: m.path, File: f.Name, Message: strings.TrimPrefix(err.Error(), ": ")}
			if place, ok := strings.CutPrefix(err.Error(), ":"); ok {
				digits, rest, _ := strings.Cut(place, ": ")
				if n, err := strconv.Atoi(digits); err == nil {
					p.Line, p.Message = n, rest
				}
			}
			out = append(out, p)
		}
	}
	return out
}
