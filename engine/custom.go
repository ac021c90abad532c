// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode"
)

// custom has the functions of a chart, which only the texts of its templates may call.
type custom struct {
	funcs map[string]*function
	// known has their names and those of all other functions.
	known map[string]any
}

// A FunctionError is returned for a function of [Input.Functions] whose name is not valid or
// is already in use, and for one of [Input.Replace] that replaces nothing.
type FunctionError struct {
	Chart   string // "" for one of Input.Replace
	Name    string
	Problem string
}

func (e *FunctionError) Error() string {
	if e.Chart == "" {
		return fmt.Sprintf("cannot replace the template function %q: %s", e.Name, e.Problem)
	}
	return fmt.Sprintf("chart %s cannot offer the template function %q: %s", e.Chart, e.Name, e.Problem)
}

// replace replaces functions of all templates.
func (e *engine) replace(functions map[string]func(args ...any) (any, error)) error {
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		old := e.funcs[name]
		if old == nil {
			return &FunctionError{Name: name, Problem: "templates have no function of that name to replace"}
		}
		fn := newFunction(name, reflect.ValueOf(functions[name]))
		fn.limits, fn.parses, fn.pattern = old.limits, old.parses, old.pattern
		e.funcs[name] = fn
		e.writes = true // as in customize
	}
	return nil
}

// customize adds the functions for single charts.
func (e *engine) customize(functions map[string]map[string]func(args ...any) (any, error)) error {
	if len(functions) == 0 {
		return nil
	}
	e.customs = make(map[string]*custom, len(functions))
	for _, chart := range slices.Sorted(maps.Keys(functions)) {
		c := &custom{funcs: map[string]*function{}, known: maps.Clone(e.known)}
		for _, name := range slices.Sorted(maps.Keys(functions[chart])) {
			switch {
			case !isName(name):
				return &FunctionError{chart, name, "a name holds letters, digits and underscores, does not begin with a digit, " +
					"and is not a word of the template language"}
			case e.funcs[name] != nil:
				return &FunctionError{chart, name, "every template has one of that name, which cannot be replaced"}
			}
			fn := newFunction(name, reflect.ValueOf(functions[chart][name]))
			c.funcs[name] = fn
			c.known[name] = true
		}
		e.customs[chart] = c
	}
	// They must not be called again if the rendering starts again with a copy.
	e.writes = true
	return nil
}

// isName reports whether s can be the name of a function.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != "" && !slices.Contains([]string{
		"block", "break", "continue", "define", "else", "end", "false", "if", "nil", "range", "template", "true", "with",
	}, s)
}

// knownTo returns the names of the functions that a chart's texts may call.
func (e *engine) knownTo(chart string) map[string]any {
	if c := e.customs[chart]; c != nil {
		return c.known
	}
	return e.known
}

// textOf is the key of a parsed text. Charts whose templates can call different functions do
// not share parsed texts, because a text may be valid for one and an error for another. chart
// is "" for charts without functions of their own.
type textOf struct{ chart, text string }

func (e *engine) textOf(chart, text string) textOf {
	if e.customs[chart] == nil {
		chart = ""
	}
	return textOf{chart, text}
}

// ownerOf returns the chart whose templates can call the function name of [Input.Functions], or
// "" if there is none.
func (e *engine) ownerOf(name string) string {
	for _, chart := range slices.Sorted(maps.Keys(e.customs)) {
		if e.customs[chart].funcs[name] != nil {
			return chart
		}
	}
	return ""
}
