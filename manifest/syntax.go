// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// A SyntaxError is returned for text that is not valid YAML, or not a map, which an object
// must be.
type SyntaxError struct {
	// Source is the template that rendered the text, or "" if there is none.
	Source string
	// Line is the line in the rendered text, from 1, or 0 if it is unknown.
	Line int
	// Problem describes the error, without the line.
	Problem string
	// NotYAML is set if the text is not valid YAML.
	NotYAML bool
	// Excerpt is the text around Line with line numbers and a mark on Line, or "" if
	// Line is unknown.
	Excerpt string
}

// Error returns Helm's message. The line is relative to the template's whole output.
func (e *SyntaxError) Error() string {
	var b strings.Builder
	b.WriteString("YAML parse error")
	if e.Source != "" {
		b.WriteString(" on " + e.Source)
	}
	b.WriteString(": ")
	if e.NotYAML {
		b.WriteString("error converting YAML to JSON: yaml: ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Problem)
	if e.Excerpt != "" {
		b.WriteByte('\n')
		b.WriteString(e.Excerpt)
	}
	return b.String()
}

// problem is an error in one document. line is relative to the document, from 1, or 0 if
// it is unknown.
type problem struct {
	line    int
	text    string
	notYAML bool
}

func (p *problem) Error() string { return p.text }

// located converts an error in a document that begins at line first of text to a
// SyntaxError.
func located(err error, source, text string, first int) error {
	e := &SyntaxError{Source: source, Problem: err.Error()}
	var p *problem
	if errors.As(err, &p) {
		e.NotYAML = p.notYAML
	}
	if p != nil && p.line > 0 {
		e.Line = first + p.line - 1
		e.Excerpt = excerpt(text, e.Line)
		if indentedByTab(text, e.Line) {
			e.Problem += " (YAML is indented by spaces, there is a tab)"
		}
	}
	return e
}

func indentedByTab(text string, n int) bool {
	lines := strings.Split(text, "\n")
	if n > len(lines) {
		return false
	}
	rest := strings.TrimLeft(lines[n-1], " ")
	return strings.HasPrefix(rest, "\t")
}

// excerpt formats a line and the two lines before and after it.
func excerpt(text string, line int) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if line > len(lines) {
		line = len(lines)
	}
	from, to := max(1, line-2), min(len(lines), line+2)
	for to > line && strings.TrimSpace(lines[to-1]) == "" {
		to--
	}
	width := len(strconv.Itoa(to))
	var b strings.Builder
	for n := from; n <= to; n++ {
		mark := "  "
		if n == line {
			mark = "> "
		}
		fmt.Fprintf(&b, "%s%*d | %s\n", mark, width, n, yaml.Visible(lines[n-1]))
		if n == line {
			indent := len(lines[n-1]) - len(strings.TrimLeft(lines[n-1], " \t"))
			fmt.Fprintf(&b, "  %*s | %s^\n", width, "", strings.Repeat(" ", indent))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// yamlProblem converts an error of the YAML parser to a problem.
func yamlProblem(err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if !strings.HasPrefix(msg, "line ") {
		return &problem{line: 1, text: msg, notYAML: true}
	}
	line, what, _ := yaml.CutLine(msg)
	return &problem{line: line, text: what, notYAML: true}
}
