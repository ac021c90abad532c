// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Text is a template that belongs to no chart, such as a release's name template or the
// value of --template. It has the functions that templates of charts have, without a
// cluster: lookup finds nothing.
//
//	err := engine.Text{Name: "--template", Text: "{{.Version}}", Data: info}.Execute(w)
type Text struct {
	// Name is the template's name in errors.
	Name string
	// Text is the template.
	Text string
	// Data is the value of ".": maps, slices, structs with exported fields and plain
	// values.
	Data any
	// Functions are further functions, by name; they replace those of the same name.
	Functions map[string]func(args ...any) (any, error)
	// Methods returns the method of v that the template may call by that name, as a
	// function, or nil if there is none. Those of times, durations and versions are known;
	// a nil Methods adds none.
	Methods func(v any, name string) any
}

// Execute writes what the template prints to w, or nothing if it fails. The error of a
// template is an [*Error]. A missing key is printed as "<no value>", as text/template does.
// The output is limited to 64 MiB. The function set changes maps of t.Data.
func (t Text) Execute(w io.Writer) (err error) {
	e := newEngine(&Input{Capabilities: DefaultCapabilities()})
	e.methods = t.Methods
	list := e.funcs["mustSlice"].fn.(func(any, ...any) (any, error)) // Sprig's, which has no slice of text
	e.funcs["slice"] = newFunction("slice", reflect.ValueOf(sliceOf(list)))
	for name, fn := range t.Functions {
		e.funcs[name] = newFunction(name, reflect.ValueOf(fn))
		e.known[name] = true
	}
	src := &source{file: t.Name, text: t.Text}
	parsed := e.parseTpl(src)
	if parsed.err != nil {
		return e.parseError(src, parsed.err)
	}
	e.ownsValues = true
	e.stepLimit = maxSteps
	e.set = &templateSet{defs: make(map[string]*definition, len(parsed.trees))}
	for name, root := range parsed.trees {
		if name != mainName {
			e.set.add(&definition{name: name, root: root, src: src})
		}
	}
	main := &definition{name: t.Name, root: parsed.trees[mainName], src: src}
	defer func() {
		if r := recover(); r != nil {
			err = failure(r, main)
		}
	}()
	_, err = io.WriteString(w, e.executor(context.Background()).execute(main, e.set, nil, t.Data))
	return err
}

// sliceOf returns the function slice of text/template for strings, which users of --template
// have, with list for everything else.
func sliceOf(list func(any, ...any) (any, error)) func(v any, indices ...any) (any, error) {
	return func(v any, indices ...any) (any, error) {
		if s, ok := v.(string); ok {
			return sliceText(s, indices)
		}
		return list(v, indices...)
	}
}

func sliceText(s string, indices []any) (string, error) {
	bounds := []int{0, len(s)}
	if len(indices) > len(bounds) {
		return "", errors.New("cannot 3-index slice a string")
	}
	for i, index := range indices {
		n, ok := index.(int)
		if !ok || n < 0 || n > len(s) {
			return "", fmt.Errorf("index out of range: %v", index)
		}
		bounds[i] = n
	}
	if bounds[0] > bounds[1] {
		return "", fmt.Errorf("invalid slice index: %d > %d", bounds[0], bounds[1])
	}
	return s[bounds[0]:bounds[1]], nil
}
