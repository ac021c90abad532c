// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
)

// literal is a part of a line of output that a template has as it stands.
type literal struct {
	text   string
	source string // the line of the template
	place  engine.Site
}

// TestExplainCorpus explains the lines of public charts. Each has a place in a template, and a
// literal part of a line is in the line of the template that is named for it.
func TestExplainCorpus(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "shared", "corpus", "charts", "*"))
	if len(dirs) == 0 {
		t.Skip("no corpus beside the project (../shared/corpus)")
	}
	var literals []literal
	charts, lines, dark := 0, 0, 0
	for _, dir := range dirs {
		c, err := loader.Load(dir)
		if err != nil || c.IsLibrary() {
			continue
		}
		out, err := action.Template{Config: &action.Config{}}.Run(context.Background(), action.TemplateRequest{
			Chart: c, Name: "web", Namespace: "default", Explain: true,
			ValueOrigins: func() (*values.Origins, error) { return values.Options{}.Origins(nil) }})
		if err != nil {
			continue // it needs values
		}
		charts++
		found, n, missing := literalsOf(t, out)
		literals, lines, dark = append(literals, found...), lines+n, dark+missing
		if missing > 0 {
			t.Errorf("%s: %d of %d lines are not explained", filepath.Base(dir), missing, n)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(literals), func(i, j int) { literals[i], literals[j] = literals[j], literals[i] })
	wrong := 0
	for _, l := range literals {
		if !strings.Contains(l.source, strings.TrimSpace(l.text)) {
			if wrong++; wrong < 10 {
				t.Errorf("%s:%d does not have %q:\n%s", l.place.File, l.place.Line, l.text, l.source)
			}
		}
	}
	t.Logf("%d charts, %d lines, %d of them not explained; %d literal parts, %d of them wrong", charts, lines, dark,
		len(literals), wrong)
	if charts < 30 || len(literals) < 10_000 {
		t.Errorf("%d charts with %d literal parts are too few", charts, len(literals))
	}
}

// literalsOf returns the literal parts of the lines of out, the number of its lines, and of those that
// are not explained.
func literalsOf(t *testing.T, out *action.Rendered) (found []literal, n, missing int) {
	t.Helper()
	sources := map[string][]string{}
	out.Chart.Walk(func(c *chart.Chart) {
		for _, f := range c.Templates {
			sources[path.Join(c.FullPath(), f.Name)] = strings.Split(string(f.Data), "\n")
		}
	})
	check := func(source, text string) {
		of := out.Explanation().Lines(source, text)
		for i, line := range strings.Split(text, "\n") {
			if line == "" {
				continue
			}
			n++
			if i >= len(of) || len(of[i].Pieces) == 0 && of[i].Author == nil {
				if missing++; missing < 4 {
					t.Logf("%s: nothing is known of %q", source, line)
				}
				continue
			}
			for _, p := range of[i].Pieces {
				s := p.Site.InFile()
				if s.Line < 1 || s.Line > len(sources[s.File]) {
					t.Errorf("%s: %q is said to be from %s:%d", source, line, s.File, s.Line)
				} else if p.Literal && p.Site == s && strings.TrimSpace(line[min(p.Start, len(line)):min(p.End, len(line))]) != "" {
					found = append(found, literal{line[min(p.Start, len(line)):min(p.End, len(line))], sources[s.File][s.Line-1], *s})
				}
			}
		}
	}
	for _, o := range out.Objects {
		check(o.Source, o.Raw)
	}
	for _, h := range out.Hooks {
		check(h.Path, h.Manifest)
	}
	return found, n, missing
}

// TestExplainValues changes values that public charts' lines are said to be made of, one at a time: the
// line must change.
func TestExplainValues(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "shared", "corpus", "charts", "*"))
	if len(dirs) == 0 {
		t.Skip("no corpus beside the project (../shared/corpus)")
	}
	random := rand.New(rand.NewPCG(3, 4))
	tried, right := 0, 0
	for _, dir := range dirs {
		c, err := loader.Load(dir)
		if err != nil || c.IsLibrary() {
			continue
		}
		lines := madeOfValues(renderExplained(c, nil))
		random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		for _, l := range lines[:min(len(lines), 5)] {
			tried++
			if changes(c, l) {
				right++
			} else {
				t.Logf("%s: %q does not change with %v", c.Name(), l.text, l.values)
			}
		}
	}
	t.Logf("%d of %d lines change with a value that they are said to be made of", right, tried)
	if tried < 150 || 100*right < 95*tried {
		t.Errorf("%d of %d lines change, want 95%%", right, tried)
	}
}

// madeOf is a line with the values that it is said to be made of.
type madeOf struct {
	text   string
	values []*engine.Value
}

func renderExplained(c *chart.Chart, user map[string]any) *action.Rendered {
	out, err := action.Template{Config: &action.Config{}}.Run(context.Background(), action.TemplateRequest{
		Chart: c, Values: user, Name: "web", Namespace: "default", Explain: true, SkipSchema: true,
		ValueCheck: action.ValueCheck{IgnoreUnused: true}})
	if err != nil {
		return nil // it needs other values
	}
	return out
}

// madeOfValues returns the lines that are not the same on each run and are made of scalar values.
func madeOfValues(out *action.Rendered) (lines []madeOf) {
	if out == nil {
		return nil
	}
	for _, o := range out.Objects {
		of := out.Explanation().Lines(o.Source, o.Raw)
		for i, text := range strings.Split(o.Raw, "\n") {
			l := madeOf{text: text}
			if i < len(of) {
				for _, p := range of[i].Pieces {
					if strings.TrimSpace(text[min(p.Start, len(text)):min(p.End, len(text))]) == "" {
						continue
					}
					for _, v := range p.Values {
						if v.Object == "Values" && other(out.Values, v.Path) != nil {
							l.values = append(l.values, v)
						}
					}
				}
			}
			if len(l.values) > 0 {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// other returns another value than the scalar at a path, or nil.
func other(vals map[string]any, path []string) any {
	v, err := values.Path(vals, strings.Join(path, "."))
	if err != nil {
		return nil
	}
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\n", "x\n") + "x"
	case bool:
		return !v
	case float64:
		return v + 1
	case int64:
		return v + 1
	}
	return nil
}

// changes reports whether a line is another one, or there is none, with another one of its values.
func changes(c *chart.Chart, l madeOf) bool {
	res, err := values.Resolve(c, nil)
	if err != nil {
		return false
	}
	count := func(out *action.Rendered) int {
		n := 0
		for _, o := range out.Objects {
			n += strings.Count("\n"+o.Raw+"\n", "\n"+l.text+"\n")
		}
		return n
	}
	before := count(renderExplained(c, nil))
	for _, v := range l.values {
		user := map[string]any{}
		at := user
		for _, key := range v.Path[:len(v.Path)-1] {
			below := map[string]any{}
			at[key], at = below, below
		}
		at[v.Path[len(v.Path)-1]] = other(res.Values, v.Path)
		if out := renderExplained(c, user); out == nil || count(out) != before {
			return true
		}
	}
	return false
}
