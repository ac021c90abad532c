// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// violations flattens the library's tree of causes: its leaves are what is
// wrong. Of the branches of anyOf and oneOf, of which one would have sufficed,
// all are told in one sentence.
func violations(chart string, e *jsonschema.ValidationError) []Violation {
	printer := message.NewPrinter(language.English)
	var out []Violation
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			out = append(out, Violation{chart, location(e.InstanceLocation), alternatives(e, printer)})
			return
		}
		if len(e.Causes) == 0 {
			out = append(out, Violation{chart, location(e.InstanceLocation), e.ErrorKind.LocalizedString(printer)})
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	return out
}

// alternatives tells why none of several allowed forms fits.
func alternatives(e *jsonschema.ValidationError, printer *message.Printer) string {
	text := e.ErrorKind.LocalizedString(printer)
	var reasons []string
	for _, c := range e.Causes {
		for _, v := range violations("", c) {
			reason := v.Problem
			if below := strings.TrimPrefix(v.Path, location(e.InstanceLocation)); below != "" {
				reason = strings.TrimPrefix(below, ".") + ": " + reason
			}
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		return text
	}
	return text + " (" + strings.Join(reasons, "; or ") + ")"
}

// location writes a place as --set does.
func location(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		if _, err := strconv.Atoi(t); err == nil {
			b.WriteString("[" + t + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.ReplaceAll(t, ".", `\.`))
	}
	return b.String()
}
