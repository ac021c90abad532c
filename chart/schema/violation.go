// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"math/big"
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
			out = append(out, Violation{chart, location(e.InstanceLocation), problem(e.ErrorKind, printer)})
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

// problem is what the library says, but with numbers as people type them: its
// own printing groups digits.
func problem(k jsonschema.ErrorKind, printer *message.Printer) string {
	bound := func(word string, got, want any) string { return fmt.Sprintf("%s: got %v, want %v", word, got, want) }
	switch k := k.(type) {
	case *kind.Maximum:
		return bound("maximum", number(k.Got), number(k.Want))
	case *kind.Minimum:
		return bound("minimum", number(k.Got), number(k.Want))
	case *kind.ExclusiveMaximum:
		return bound("exclusiveMaximum", number(k.Got), number(k.Want))
	case *kind.ExclusiveMinimum:
		return bound("exclusiveMinimum", number(k.Got), number(k.Want))
	case *kind.MultipleOf:
		return bound("multipleOf", number(k.Got), number(k.Want))
	case *kind.MaxLength:
		return bound("maxLength", k.Got, k.Want)
	case *kind.MinLength:
		return bound("minLength", k.Got, k.Want)
	case *kind.MaxItems:
		return bound("maxItems", k.Got, k.Want)
	case *kind.MinItems:
		return bound("minItems", k.Got, k.Want)
	case *kind.MaxProperties:
		return bound("maxProperties", k.Got, k.Want)
	case *kind.MinProperties:
		return bound("minProperties", k.Got, k.Want)
	}
	return k.LocalizedString(printer)
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
