// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
)

// explainAll is the value of --explain without one.
const explainAll = "*"

// outputLine is a line of the output with where it comes from.
type outputLine struct {
	text string
	action.Line
	// separator is set for the separator of a document and the comment that names its source.
	separator bool
	// file and line are the place of a line that no template rendered: one of a CRD.
	file string
	line int
}

// explained is the output with an explanation.
type explained struct {
	lines   []outputLine
	from    *action.Explanation
	sources map[string][]string // the lines of templates, by the paths of their files
}

// explain returns where the lines come from that writeDocuments writes.
func explain(docs []document, out *action.Rendered) *explained {
	e := &explained{from: out.Explanation(), sources: map[string][]string{}}
	out.Chart.Walk(func(c *chart.Chart) {
		for _, f := range c.Templates {
			e.sources[path.Join(c.FullPath(), f.Name)] = strings.Split(string(f.Data), "\n")
		}
	})
	objects := len(docs)
	for objects > 0 && docs[objects-1].hook {
		objects--
	}
	for _, d := range docs[:objects] {
		e.add(d)
	}
	for len(e.lines) > 0 && strings.TrimSpace(e.lines[len(e.lines)-1].text) == "" {
		e.lines = e.lines[:len(e.lines)-1]
	}
	if len(e.lines) == 0 {
		e.lines = append(e.lines, outputLine{separator: true})
	}
	last := &e.lines[len(e.lines)-1]
	last.text = strings.TrimRight(last.text, " \t\r\n")
	for _, d := range docs[objects:] {
		e.add(d)
	}
	return e
}

func (e *explained) add(d document) {
	e.lines = append(e.lines, outputLine{text: "---", separator: true},
		outputLine{text: "# Source: " + d.source, separator: true})
	of := e.from.Lines(d.source, d.text)
	lines := strings.Split(d.text, "\n")
	for i, text := range lines {
		// What follows the last newline is the one that a document is written with.
		l := outputLine{text: text, separator: text == "" && i == len(lines)-1}
		switch {
		case d.crd:
			l.file, l.line = d.source, i+1
		case i < len(of):
			l.Line = of[i]
		}
		e.lines = append(e.lines, l)
	}
}

// A noLineError is returned if --explain selects no line of the output.
type noLineError struct {
	Selected string
	Lines    int
}

func (e *noLineError) Error() string {
	if _, err := strconv.Atoi(e.Selected); err == nil {
		return fmt.Sprintf("--explain=%s: the output has %d lines", e.Selected, e.Lines)
	}
	return fmt.Sprintf("--explain=%s: no line of the output matches", e.Selected)
}

// Hint says how to see the lines.
func (e *noLineError) Hint() string {
	return "--explain without a value shows all lines with their numbers; it takes a line's number or a regular expression"
}

// selection returns the indexes of the lines that the value of --explain selects: that of a number,
// or those that a regular expression matches.
func (e *explained) selection(value string) ([]int, error) {
	if n, err := strconv.Atoi(value); err == nil {
		if n < 1 || n > len(e.lines) {
			return nil, &noLineError{value, len(e.lines)}
		}
		return []int{n - 1}, nil
	}
	pattern, err := regexp.Compile(value)
	if err != nil {
		return nil, fmt.Errorf("--explain: %w", err)
	}
	var out []int
	for i, l := range e.lines {
		if !l.separator && pattern.MatchString(l.text) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, &noLineError{value, len(e.lines)}
	}
	return out, nil
}

// write prints what the value of --explain selects.
func (e *explained) write(w io.Writer, value string) error {
	var b strings.Builder
	if value == explainAll {
		e.table(&b)
	} else {
		selected, err := e.selection(value)
		if err != nil {
			return err
		}
		for i, n := range selected {
			if i > 0 {
				b.WriteByte('\n')
			}
			e.details(&b, n)
		}
	}
	_, err := io.WriteString(term.SafeWriter(w), b.String())
	return err
}

// table prints all lines, each with its number and place.
func (e *explained) table(b *strings.Builder) {
	places := make([]string, len(e.lines))
	width := 0
	for i := range e.lines {
		places[i] = e.lines[i].place()
		width = max(width, len(places[i]))
	}
	for i, l := range e.lines {
		line := fmt.Sprintf("%*d  %-*s  %s", len(strconv.Itoa(len(e.lines))), i+1, width, places[i], l.text)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// main returns the piece that a line is mainly from: the first that is not white space.
func (l *outputLine) main() *engine.Piece {
	for i, p := range l.Pieces {
		if !l.isBlank(&p) {
			return &l.Pieces[i]
		}
	}
	if len(l.Pieces) > 0 {
		return &l.Pieces[0]
	}
	return nil
}

// isBlank reports whether a piece is only white space.
func (l *outputLine) isBlank(p *engine.Piece) bool {
	return strings.TrimSpace(l.text[min(p.Start, len(l.text)):min(p.End, len(l.text))]) == ""
}

// place returns the place that a line is mainly from, or "".
func (l *outputLine) place() string {
	switch p := l.main(); {
	case l.Author != nil:
		return authorText(l.Author)
	case p != nil:
		return siteText(p.Site.InFile())
	case l.file != "":
		return fmt.Sprintf("%s:%d", l.file, l.line)
	}
	return ""
}

func authorText(a *action.Author) string {
	if a.File == "" {
		return a.Name
	}
	return fmt.Sprintf("%s:%d", a.File, a.Line)
}

func siteText(s *engine.Site) string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// details prints all that is known of a line.
func (e *explained) details(b *strings.Builder, n int) {
	l := e.lines[n]
	fmt.Fprintf(b, "line %d: %s\n", n+1, l.text)
	switch {
	case l.Author != nil:
		fmt.Fprintf(b, "  %s %s\n", l.Author.Verb(), authorText(l.Author))
		return
	case l.file != "" || l.separator:
		fmt.Fprintf(b, "  %s\n", orNone(l.place()))
		return
	}
	d := detail{explained: e, b: b}
	main := l.main()
	for i := range l.Pieces {
		if p := &l.Pieces[i]; p == main || !l.isBlank(p) {
			d.piece(p)
		}
	}
	d.conditions(main)
	d.write()
}

func orNone(place string) string {
	if place == "" {
		return "helm template itself"
	}
	return place
}

// detail collects what is known of a line.
type detail struct {
	*explained
	b      *strings.Builder
	shown  []string
	values []*engine.Value
	when   []*engine.Condition
}

// piece prints the place of a piece and the calls that led there.
func (d *detail) piece(p *engine.Piece) {
	for _, v := range p.Values {
		if !slices.Contains(d.values, v) {
			d.values = append(d.values, v)
		}
	}
	var text strings.Builder
	site := p.Site.InFile()
	d.line(&text, "  ", site)
	for s := site.Caller; s != nil; s = s.Caller {
		if s.File != "" {
			d.line(&text, "    called at ", s)
		}
	}
	if !slices.Contains(d.shown, text.String()) {
		d.shown = append(d.shown, text.String())
		d.b.WriteString(text.String())
	}
}

// line prints a place with the line of the template.
func (d *detail) line(b *strings.Builder, title string, s *engine.Site) {
	fmt.Fprintf(b, "%s%s", title, siteText(s))
	if of := d.sources[s.File]; s.Line > 0 && s.Line <= len(of) {
		fmt.Fprintf(b, "  %s", strings.TrimSpace(of[s.Line-1]))
	}
	b.WriteByte('\n')
}

func (d *detail) conditions(p *engine.Piece) {
	if p == nil {
		return
	}
	for c := p.When; c != nil; c = c.Outer {
		d.when = append(d.when, c)
	}
	slices.Reverse(d.when)
	for _, c := range d.when {
		text := c.Site.Expr
		if c.Else {
			text = "else of " + text
		}
		fmt.Fprintf(d.b, "  in %s  %s\n", siteText(c.Site.InFile()), text)
		for _, v := range c.Values {
			if !slices.Contains(d.values, v) {
				d.values = append(d.values, v)
			}
		}
	}
}

// write prints the values and their origins.
func (d *detail) write() {
	for _, v := range d.values {
		fmt.Fprintf(d.b, "  %s", v)
		text := report.OriginText
		if d.from.OfItems(v) {
			text = report.ItemOriginText
		}
		if of := text(d.from.Origins(v)); of != "" {
			fmt.Fprintf(d.b, "  %s", of)
		}
		d.b.WriteByte('\n')
	}
}
