// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	reference "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// outcome is the result for a schema and a value.
type outcome struct {
	schema     string // the problem of an invalid schema, or ""
	violations []string
}

func (o outcome) String() string {
	return fmt.Sprintf("schema: %q\nviolations:\n  %s", o.schema, strings.Join(o.violations, "\n  "))
}

func (o outcome) equal(p outcome) bool {
	return o.schema == p.schema && slices.Equal(o.violations, p.violations)
}

// sorted sorts the violations of an outcome: the reference walks members in random order.
func sorted(found []Violation) []string {
	var out []string
	for _, v := range found {
		text := v.String()
		words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("();, ", r) })
		slices.Sort(words)
		out = append(out, strings.Join(words, " "))
	}
	slices.Sort(out)
	return out
}

// ours returns the outcome of this package.
func ours(doc, v any, load func(string) (any, error)) outcome {
	c := Compiler{Load: load}
	s, err := c.Compile("chart:///s.json", doc)
	if err != nil {
		return outcome{schema: explain(err)}
	}
	found, err := s.Validate(v, Limits{})
	if err != nil {
		return outcome{schema: err.Error()}
	}
	return outcome{violations: sorted(found)}
}

func explain(err error) string {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return invalid.URL + " " + strings.Join(sorted(invalid.Violations), "\n")
	}
	var load *LoadError
	if errors.As(err, &load) {
		return "load " + load.URL
	}
	return err.Error()
}

type loader func(string) (any, error)

func (l loader) Load(url string) (any, error) { return l(url) }

// theirs returns the outcome of the library that Helm uses.
func theirs(doc, v any, load func(string) (any, error)) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = outcome{schema: fmt.Sprint("panic: ", p)}
		}
	}()
	c := reference.NewCompiler()
	c.UseLoader(loader(load))
	if err := c.AddResource("chart:///s.json", doc); err != nil {
		return outcome{schema: err.Error()}
	}
	s, err := c.Compile("chart:///s.json")
	if err != nil {
		return outcome{schema: explainReference(err)}
	}
	var invalid *reference.ValidationError
	if errors.As(s.Validate(v), &invalid) {
		return outcome{violations: sorted(flatten(invalid))}
	}
	return outcome{}
}

func explainReference(err error) string {
	var schema *reference.SchemaValidationError
	var invalid *reference.ValidationError
	if errors.As(err, &schema) && errors.As(schema.Err, &invalid) {
		// With a metaschema of some vocabularies, an error may occur twice.
		return schema.URL + " " + strings.Join(slices.Compact(sorted(flatten(invalid))), "\n")
	}
	var load *reference.LoadURLError
	if errors.As(err, &load) {
		return "load " + load.URL
	}
	return err.Error()
}

// flatten converts the library's tree of causes to violations, which are its leaves. The
// branches of anyOf and oneOf, of which one would have sufficed, are in one message.
func flatten(e *reference.ValidationError) []Violation {
	printer := message.NewPrinter(language.English)
	var out []Violation
	var walk func(*reference.ValidationError)
	walk = func(e *reference.ValidationError) {
		at := location(tokens(e.InstanceLocation))
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			out = append(out, Violation{at, alternatives(e, printer)})
			return
		}
		if len(e.Causes) == 0 {
			out = append(out, Violation{at, problem(e.ErrorKind, printer)})
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	return out
}

func tokens(names []string) []token {
	var out []token
	for _, n := range names {
		out = append(out, token{name: n})
	}
	return out
}

func alternatives(e *reference.ValidationError, printer *message.Printer) string {
	text := e.ErrorKind.LocalizedString(printer)
	var reasons []string
	for _, c := range e.Causes {
		for _, v := range flatten(c) {
			reason := v.Problem
			if below := strings.TrimPrefix(v.Path, location(tokens(e.InstanceLocation))); below != "" {
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

// problem returns the library's message with plain numbers instead of grouped digits.
func problem(k reference.ErrorKind, printer *message.Printer) string {
	bound := func(word string, got, want any) string { return fmt.Sprintf("%s: got %v, want %v", word, got, want) }
	plain := func(r *big.Rat) string {
		if r.IsInt() {
			return r.Num().String()
		}
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	switch k := k.(type) {
	case *kind.Maximum:
		return bound("maximum", plain(k.Got), plain(k.Want))
	case *kind.Minimum:
		return bound("minimum", plain(k.Got), plain(k.Want))
	case *kind.ExclusiveMaximum:
		return bound("exclusiveMaximum", plain(k.Got), plain(k.Want))
	case *kind.ExclusiveMinimum:
		return bound("exclusiveMinimum", plain(k.Got), plain(k.Want))
	case *kind.MultipleOf:
		return bound("multipleOf", plain(k.Got), plain(k.Want))
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
