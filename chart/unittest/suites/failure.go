// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/script"
)

// failure is a rendering that has failed.
type failure struct {
	// file is the path of the template that has failed from the root chart, or "" if it was none.
	file string
	// script is set if it was a script of the chart.
	script bool
	err    error
}

func newFailure(err *engine.Error, root string) *failure {
	file := err.File
	if len(err.Calls) > 0 && err.Calls[0].File != "" {
		file = err.Calls[0].File
	}
	return &failure{file: strings.TrimPrefix(file, root+"/"), err: err}
}

// texts returns the forms of the message that an errorMessage may have. The first is that of
// helm-unittest: the message of fail or required, or else Go's message after the place. Of a message
// with several lines, helm-unittest leaves out the first.
func (f *failure) texts() []string {
	var bad *engine.Error
	var violated *schema.Error
	var failed *script.Error
	switch {
	case errors.As(f.err, &bad) && bad.Message != "":
		if _, rest, ok := strings.Cut(bad.Message, "\n"); ok {
			return []string{rest, bad.Message, strings.TrimSpace(bad.Message)}
		}
		return []string{bad.Message}
	case bad != nil:
		return templateTexts(bad)
	case errors.As(f.err, &violated):
		return []string{schemaText(violated), f.err.Error()}
	case errors.As(f.err, &failed):
		return []string{failed.Message, f.err.Error()}
	}
	return []string{f.err.Error()}
}

// templateTexts returns the message of an error of Go's templates, with and without the expression.
func templateTexts(e *engine.Error) []string {
	cause := strings.TrimPrefix(e.Cause, e.Expr+": ")
	// Moonhelm's message ends with Go's, in parentheses.
	for _, phrase := range []string{"(nil pointer evaluating", "(can't evaluate field", "(no template"} {
		if _, rest, ok := strings.Cut(cause, phrase); ok {
			cause = strings.TrimSuffix(strings.TrimPrefix(phrase, "(")+rest, ")")
		}
	}
	if strings.HasPrefix(cause, "no template ") {
		cause = "error calling include: template: " + cause
	}
	text := cause
	for i := len(e.Calls) - 1; i >= 0; i-- {
		c := e.Calls[i]
		text = fmt.Sprintf("executing %q at <%s>: %s", c.Template, c.Expr, text)
		if i > 0 {
			text = fmt.Sprintf("error calling include: template: %s:%d:%d: %s", c.File, c.Line, c.Column-1, text)
		}
	}
	_, short, _ := strings.Cut(text, ">: ")
	return []string{text, short, cause, e.Cause}
}

// schemaText returns Helm's message, whose paths are JSON pointers.
func schemaText(e *schema.Error) string {
	var b strings.Builder
	b.WriteString("values don't meet the specifications of the schema(s) in the following chart(s):\n")
	last := ""
	for i, v := range e.Violations {
		if i == 0 || v.Chart != last {
			fmt.Fprintf(&b, "%s:\n", v.Chart)
			last = v.Chart
		}
		pointer := strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(v.Path)
		if pointer != "" {
			pointer = "/" + pointer
		}
		fmt.Fprintf(&b, "- at '%s': %s\n", pointer, v.Problem)
	}
	return b.String()
}
