// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
)

// A Trace says what rendered each part of the output of a template. [Render] makes traces if
// Input.Trace is set.
type Trace struct {
	// Pieces are in the order of the output. Between them may be parts that are not explained.
	Pieces []Piece
}

// Piece is a part of an output.
type Piece struct {
	// Start and End are its place in the output, in bytes.
	Start, End int
	// Site is the place in a template that rendered it.
	Site *Site
	// Literal is set if it is text of the template as it stands. Site is then the place of its first
	// character, and its lines are those that follow.
	Literal bool
	// Values are the values that were read to make it. Literal text has none, unless it is text of
	// a value that was passed to tpl.
	Values []*Value
	// When is the innermost if, with or range that it is in, or nil. It may be one of a template
	// that called the template of Site.
	When *Condition
}

// Site is a place in a template.
type Site struct {
	// File is the path of the template's file from the root chart, or "" for text that was passed
	// to tpl.
	File string
	Line int
	// Template is the name of the template, which is File outside of a define.
	Template string
	// Expr is the expression, or "" for literal text.
	Expr string
	// Caller is the call that led here, or nil.
	Caller *Site
}

// Line returns the place of a line of p, counted from 0.
func (p *Piece) Line(n int) *Site {
	if !p.Literal || n == 0 {
		return p.Site
	}
	s := *p.Site
	s.Line += n
	return &s
}

// InFile returns the nearest place in a file: s, or the call of tpl whose text s is in.
func (s *Site) InFile() *Site {
	for s.File == "" && s.Caller != nil {
		s = s.Caller
	}
	return s
}

// Value is a value that templates have read.
type Value struct {
	// Object is the object that has it: "Values", or another key of a template's data, such as
	// "Release", "Chart" or "Capabilities".
	Object string
	// Chart is the path of the chart that the object belongs to if Object is "Chart" or "Files".
	Chart string
	// Path are the keys below the object. Those of Values begin at the root chart's values. Items of
	// lists are "[0]".
	Path []string

	scalar any // the value, unless it is a map or a list
}

// String returns the value as templates name it: ".Values.image.tag", ".Values.hosts[0]".
func (v *Value) String() string {
	return "." + strings.ReplaceAll(strings.Join(append([]string{v.Object}, v.Path...), "."), ".[", "[")
}

// Condition is an if, with or range that decided that a part of the output is rendered.
type Condition struct {
	Site *Site
	// Else is set if the part is in the else branch.
	Else   bool
	Values []*Value
	// Outer is the next condition around it, or nil.
	Outer *Condition
}

func (o *Output) trace(name string, t *Trace) {
	if o.Traces == nil {
		o.Traces = map[string]*Trace{}
	}
	o.Traces[name] = t
}

// pieces collects the pieces of a buffer.
type pieces struct{ list []Piece }

// maxPieces limits the pieces of a rendering. Further parts are not explained.
const maxPieces = 1 << 20

// slice returns the pieces between two offsets of their text, shifted to begin at to.
func slice(list []Piece, start, end, to int) []Piece {
	var out []Piece
	for _, p := range list {
		from, until := max(p.Start, start), min(p.End, end)
		if from < until {
			p.Start, p.End = from-start+to, until-start+to
			out = append(out, p)
		}
	}
	return out
}

// cut returns the pieces between two offsets, shifted to begin at 0, and those that end after them.
func cut(list []Piece, start, end int) (part, rest []Piece) {
	for len(list) > 0 && list[0].End <= start {
		list = list[1:]
	}
	n := 0
	for n < len(list) && list[n].Start < end {
		n++
	}
	return slice(list[:n], start, end, 0), list[max(n-1, 0):]
}

// split returns the pieces of text, of which list has those of lines as a whole, with literal ones
// divided into lines, so that they can be moved.
func split(list []Piece, text string) []Piece {
	var out []Piece
	for _, p := range list {
		if !p.Literal {
			out = append(out, p)
			continue
		}
		line := 0
		for start := p.Start; start < p.End; line++ {
			end := p.End
			if i := strings.IndexByte(text[start:p.End], '\n'); i >= 0 {
				end = start + i + 1
			}
			q := p
			q.Start, q.End, q.Site = start, end, p.Line(line)
			out = append(out, q)
			start = end
		}
	}
	return out
}

// without returns the pieces of text without all occurrences of gone in it.
func without(list []Piece, text, gone string) []Piece {
	if !strings.Contains(text, gone) {
		return list
	}
	list = split(list, text)
	var out []Piece
	removed := 0 // bytes
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.Index(text[start:], gone); i >= 0 {
			end = start + i
		}
		var part []Piece
		part, list = cut(list, start, end)
		for _, p := range part {
			p.Start, p.End = p.Start+start-removed, p.End+start-removed
			out = append(out, p)
		}
		start = end + len(gone)
		removed += len(gone)
	}
	return out
}

// reads is a set of values.
type reads []*Value

// maxReads limits the values of a piece.
const maxReads = 100

func (r *reads) add(more ...*Value) {
	for _, v := range more {
		if len(*r) < maxReads && !slices.Contains(*r, v) {
			*r = append(*r, v)
		}
	}
}

// Lines returns the pieces of each line of content, the output that t is of, with their places in
// the line. A line has no pieces if it is not explained.
func (t *Trace) Lines(content string) [][]Piece {
	out := make([][]Piece, 0, strings.Count(content, "\n")+1)
	list, at := split(t.Pieces, content), 0
	for line := range strings.SplitAfterSeq(content, "\n") {
		var of []Piece
		of, list = cut(list, at, at+len(line))
		out = append(out, of)
		at += len(line)
	}
	return out
}
