// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// A SyntaxError is returned for text that is not valid YAML, or not a map as an object has
// to be.
type SyntaxError struct {
	// Source is the template that rendered it, "" for text that none did.
	Source string
	// Line is the line of the rendered text, from 1; 0 where it is not known.
	Line int
	// Problem says what is wrong, without the line.
	Problem string
	// NotYAML is set where the YAML parser refuses the text.
	NotYAML bool
	// Excerpt is the text of the lines around Line, numbered, with a mark on that line;
	// "" where Line is not known.
	Excerpt string
}

// Error returns Helm's sentence for it; the line is that of the template's whole output.
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

// problem is an error inside one document; line counts from the document's
// first line, 0 where it is not known.
type problem struct {
	line    int
	text    string
	notYAML bool
}

func (p *problem) Error() string { return p.text }

// located turns an error of a document that begins at line first of text into
// a SyntaxError.
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

// excerpt shows line and two lines before and after it.
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

// yamlProblem takes the line out of the parser's message.
func yamlProblem(err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if !strings.HasPrefix(msg, "line ") {
		return &problem{line: 1, text: msg, notYAML: true}
	}
	line, what, _ := yaml.CutLine(msg)
	return &problem{line: line, text: what, notYAML: true}
}
