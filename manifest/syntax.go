// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
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
	// TemplateLine is the line of the template that rendered Line, or 0 if it is unknown. [Parse]
	// does not set it.
	TemplateLine int
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
	if e.TemplateLine > 0 && e.TemplateLine != e.Line {
		fmt.Fprintf(&b, " (rendered by line %d of the template)", e.TemplateLine)
	}
	if e.Excerpt != "" {
		b.WriteString("\n  " + strings.ReplaceAll(e.Excerpt, "\n", "\n  "))
	}
	return b.String()
}

// problem is an error in one document. line is relative to the document, from 1, or 0 if
// it is unknown.
type problem struct {
	line    int
	text    string
	notYAML bool
	// field is the field that the error is about, in the notation of yaml.FieldLine, or "".
	field string
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
		e.Excerpt = yaml.Excerpt(text, e.Line)
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

// yamlProblem converts an error of the YAML parser to a problem.
func yamlProblem(err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if !strings.HasPrefix(msg, "line ") {
		return &problem{line: 1, text: msg, notYAML: true}
	}
	line, what, _ := yaml.CutLine(msg)
	return &problem{line: line, text: what, notYAML: true}
}
