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
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Problem is something that is wrong with a chart's scripts, or is not good.
type Problem struct {
	// Chart is the chart's place in the tree ("web/charts/mysql"), File the path
	// in it.
	Chart   string
	File    string
	Line    int // 0 where it is not known
	Message string
	// Warning tells that scripts run all the same.
	Warning bool
}

// Check looks through the scripts of the tree of c without running them: what
// does not compile, what is required and is not there, what answers events that
// there are not. The error is that of a check that could not be done.
func Check(ctx context.Context, c *chart.Chart, start Starter) ([]Problem, error) {
	t := &tree{byNode: map[*chart.Chart]*member{}}
	t.add(c)
	t.connect()
	problems := t.wrongPermissions()
	if !slices.ContainsFunc(t.charts, func(m *member) bool { return len(m.files) > 0 }) {
		return problems, nil
	}
	h := &Host{Start: start}
	s, err := h.open(ctx, t, nil)
	if err != nil {
		return problems, err
	}
	defer s.close()
	r := &request{session: s, chart: t.culprit()}
	done, err := r.run(ctx, wire.Message{Kind: wire.Check, Body: map[string]any{
		"charts": t.wire(), "limits": limitsBody(s.limits),
	}})
	if err != nil {
		return problems, err
	}
	f := finder{s: s, problems: problems}
	for _, look := range []struct {
		list string
		at   func(m *member, file string, line int, b map[string]any)
	}{{"problems", f.problem}, {"requires", f.require}, {"events", f.event}} {
		all, err := mapsOf(done.Body, look.list)
		if err != nil {
			return f.problems, r.rubbishNow(err)
		}
		for _, b := range all {
			at, ok := s.chartOf(b)
			if !ok {
				return f.problems, r.rubbishNow(fmt.Errorf("its %s are of no chart", look.list))
			}
			line, _ := b["line"].(int64)
			look.at(t.charts[at], clip(textOf(b, "file"), maxSource), int(max(line, 0)), b)
		}
	}
	return f.problems, nil
}

// wrongPermissions are the charts whose ext/permissions.yaml cannot be read.
func (t *tree) wrongPermissions() []Problem {
	var out []Problem
	for _, m := range t.charts {
		for _, f := range m.chart.Files {
			if f.Name != filePermissions {
				continue
			}
			_, err := parsePermissions(f.Data)
			if err == nil {
				continue
			}
			p := Problem{Chart: m.path, File: f.Name, Message: strings.TrimPrefix(err.Error(), ": ")}
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

// finder makes problems of what the process has found.
type finder struct {
	s        *session
	problems []Problem
}

func (f *finder) add(m *member, file string, line int, warning bool, format string, args ...any) {
	f.problems = append(f.problems, Problem{
		Chart: m.path, File: file, Line: line, Warning: warning, Message: clip(fmt.Sprintf(format, args...), maxMessage),
	})
}

func (f *finder) problem(m *member, file string, line int, b map[string]any) {
	f.add(m, file, line, false, "%s", textOf(b, "message"))
}

// require looks for what a script requires: "x", a file of its chart, or
// "dep/x", one of a chart that it may require from.
func (f *finder) require(m *member, file string, line int, b map[string]any) {
	name := textOf(b, "name")
	of, module, foreign := strings.Cut(name, "/")
	if !foreign {
		of, module = "", name
	}
	at := m
	if foreign {
		index, ok := m.requires[of]
		if !ok {
			f.add(m, file, line, false, "require(%q): %q is no dependency and no library of this chart", name, of)
			return
		}
		at = f.s.tree.charts[index]
	}
	want := strings.ReplaceAll(module, ".", "/") + ".lua"
	if _, ok := at.files[want]; !ok || path.Clean(want) != want {
		where := ""
		if foreign {
			where = " in " + of
		}
		f.add(m, file, line, false, "require(%q): there is no %s/%s%s", name, chart.DirScripts, want, where)
	}
}

func (f *finder) event(m *member, file string, line int, b map[string]any) {
	name := textOf(b, "name")
	if !slices.Contains(event.Names(), name) {
		f.add(m, file, line, false, "there is no event %q; there are %s", clip(name, 80), strings.Join(event.Names(), ", "))
	}
	if m.chart.IsLibrary() {
		f.add(m, file, line, true, "a library chart registers a handler for %q: it runs for everybody who uses the library, and should better be a function that they call", clip(name, 80))
	}
}
