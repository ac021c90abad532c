// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/output"
)

// sourceMap is the JSON of --source-map. Places, conditions and values are in tables, and others
// refer to them by their indexes.
type sourceMap struct {
	Version    int            `json:"version"`
	Lines      []mapLine      `json:"lines"`
	Sites      []mapSite      `json:"sites"`
	Conditions []mapCondition `json:"conditions"`
	Values     []mapValue     `json:"values"`
}

type mapLine struct {
	// Kind is template, author, file or separator.
	Kind   string         `json:"kind"`
	Site   *int           `json:"site,omitempty"`
	Parts  []mapPart      `json:"parts,omitempty"`
	Author *action.Author `json:"author,omitempty"`
	File   string         `json:"file,omitempty"`
	Line   int            `json:"line,omitempty"`
}

type mapPart struct {
	Start     int   `json:"start"`
	End       int   `json:"end"`
	Site      int   `json:"site"`
	Literal   bool  `json:"literal,omitempty"`
	Values    []int `json:"values,omitempty"`
	Condition *int  `json:"condition,omitempty"`
}

type mapSite struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line"`
	Template   string `json:"template,omitempty"`
	Expression string `json:"expression,omitempty"`
	Caller     *int   `json:"caller,omitempty"`
}

type mapCondition struct {
	Site   int   `json:"site"`
	Else   bool  `json:"else,omitempty"`
	Values []int `json:"values,omitempty"`
	Outer  *int  `json:"outer,omitempty"`
}

type mapValue struct {
	Name    string          `json:"name"`
	Path    []string        `json:"path,omitempty"`
	Origins []values.Origin `json:"origins"`
}

// mapper makes a sourceMap.
type mapper struct {
	*explained
	out        sourceMap
	sites      map[engine.Site]int // with Caller as a key of its own
	conditions map[*engine.Condition]int
	values     map[*engine.Value]int
}

// writeSourceMap writes the source map of the output to a file, or to out if that is "-".
func (e *explained) writeSourceMap(file string, out io.Writer) error {
	m := &mapper{explained: e, sites: map[engine.Site]int{}, conditions: map[*engine.Condition]int{},
		values: map[*engine.Value]int{}}
	m.out = sourceMap{Version: 1, Lines: []mapLine{}, Sites: []mapSite{}, Conditions: []mapCondition{},
		Values: []mapValue{}}
	for i := range e.lines {
		m.out.Lines = append(m.out.Lines, m.line(&e.lines[i]))
	}
	if file == stdout {
		return output.WriteJSON(out, m.out)
	}
	text, err := json.Marshal(m.out)
	if err != nil {
		return fmt.Errorf("--source-map: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("--source-map: %w", err)
	}
	return nil
}

func (m *mapper) line(l *outputLine) mapLine {
	switch {
	case l.separator:
		return mapLine{Kind: "separator"}
	case l.Author != nil:
		return mapLine{Kind: "author", Author: l.Author}
	case l.file != "":
		return mapLine{Kind: "file", File: l.file, Line: l.line}
	}
	out := mapLine{Kind: "template"}
	if p := l.main(); p != nil {
		at := m.site(p.Site.InFile())
		out.Site = &at
	}
	for _, p := range l.Pieces {
		end := min(p.End, len(l.text)) // without the newline
		if p.Start >= end && strings.TrimSpace(l.text) != "" {
			continue
		}
		part := mapPart{Start: p.Start, End: max(end, p.Start), Site: m.site(p.Site), Literal: p.Literal,
			Values: m.valuesOf(p.Values)}
		if p.When != nil {
			at := m.condition(p.When)
			part.Condition = &at
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

func (m *mapper) site(s *engine.Site) int {
	if at, ok := m.sites[*s]; ok {
		return at
	}
	site := mapSite{File: s.File, Line: s.Line, Template: s.Template, Expression: s.Expr}
	if s.Caller != nil {
		at := m.site(s.Caller)
		site.Caller = &at
	}
	m.out.Sites = append(m.out.Sites, site)
	m.sites[*s] = len(m.out.Sites) - 1
	return len(m.out.Sites) - 1
}

func (m *mapper) condition(c *engine.Condition) int {
	if at, ok := m.conditions[c]; ok {
		return at
	}
	out := mapCondition{Site: m.site(c.Site), Else: c.Else, Values: m.valuesOf(c.Values)}
	if c.Outer != nil {
		at := m.condition(c.Outer)
		out.Outer = &at
	}
	m.out.Conditions = append(m.out.Conditions, out)
	m.conditions[c] = len(m.out.Conditions) - 1
	return len(m.out.Conditions) - 1
}

func (m *mapper) valuesOf(vs []*engine.Value) []int {
	var out []int
	for _, v := range vs {
		at, ok := m.values[v]
		if !ok {
			value := mapValue{Name: v.String(), Origins: append([]values.Origin{}, m.from.Origins(v)...)}
			if v.Object == "Values" {
				value.Path = v.Path
			}
			at = len(m.out.Values)
			m.out.Values = append(m.out.Values, value)
			m.values[v] = at
		}
		out = append(out, at)
	}
	return out
}
