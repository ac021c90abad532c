// SPDX-License-Identifier: Apache-2.0

// Package modules has the functions that charts' scripts can call besides the language:
// yaml, json, base64, semver, regex, sha256 and helm for every chart, and http, net, io and
// os for a chart with the permission.
//
// [Install] adds new tables to a chart's environment, so that charts cannot change each
// other's. Scripts are not trusted: each function charges the runtime's budget before it
// works, in proportion to what it reads and makes. golua ends a script that exhausts it.
//
// The package opens no socket: [Options.Ask] makes requests. It does not grant permissions.
// Functions that need events or contexts (events, subcharts, template, kube, print) are in
// package engine.
package modules

import (
	"regexp"
	"slices"
	"time"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Permissions that add functions.
const (
	Network = "network"
	IO      = "io"
	OS      = "os"
)

// Options of [Install].
type Options struct {
	// Chart is the chart's index in the start request; questions carry it.
	Chart int
	// Grants are the permissions that the chart has.
	Grants []string
	// Environ is what os.getenv knows and commands are started with, "NAME=value".
	Environ []string
	// Print shows a line, without its end, like the script's print. nil discards it.
	Print func(line string) error
	// Ask sends the host a question of kind [wire.HTTP] or [wire.Host] and returns the body
	// of its answer. nil is no network.
	Ask func(kind wire.Kind, body map[string]any) (map[string]any, error)
	// Program is set for a script that is a program of its own.
	Program *Program
}

// Function describes a function, or a constant, for people.
type Function struct {
	// Name is how a script writes it: "yaml.decode", "file:read".
	Name string
	// Signature is Name with its arguments and, after "→", its results.
	Signature string
	// Text describes it in one or two sentences.
	Text string
	// Permission is the permission that adds it, "" for none.
	Permission string
}

// Reference returns descriptions of all functions for charts, in the order of the
// documentation.
func Reference() []Function {
	var out []Function
	for _, f := range functions() {
		out = append(out, Function{Name: f.name, Signature: f.name + f.form, Text: f.text, Permission: f.permission})
	}
	return out
}

// function is a function or a constant with its description.
type function struct {
	name       string
	form       string // what follows the name in the signature
	text       string
	permission string

	args  int  // how many arguments it looks at
	etc   bool // whether it takes any number more
	do    func(*call) error
	value func(*module) rt.Value // of a constant
}

func fn(name, form, text string, args int, do func(*call) error) function {
	return function{name: name, form: form, text: text, args: args, do: do}
}

// variadic is fn for a function that takes any number of arguments beyond args.
func variadic(name, form, text string, args int, do func(*call) error) function {
	f := fn(name, form, text, args, do)
	f.etc = true
	return f
}

func constant(name, text string, value func(*module) rt.Value) function {
	return function{name: name, text: text, value: value}
}

// permitted returns functions that need a permission.
func permitted(permission string, functions ...function) []function {
	for i := range functions {
		functions[i].permission = permission
	}
	return functions
}

// module is the functions of one chart.
type module struct {
	*bridge.Bridge
	o       Options
	env     *rt.Table
	started time.Time

	patterns map[string]pattern // compiled, by their text
	files    files
}

// pattern is a compiled regular expression with the steps for a byte of text.
type pattern struct {
	*regexp.Regexp
	steps uint64
}

// Install adds the tables to env. Call done after each request: it writes what io.write has
// buffered. At the end of the chart's scripts call it with end set: it also closes files and
// ends commands that scripts left open.
func Install(b *bridge.Bridge, env *rt.Table, o Options) (done func(end bool)) {
	if o.Print == nil {
		o.Print = func(string) error { return nil }
	}
	m := &module{Bridge: b, o: o, env: env, started: time.Now(), patterns: map[string]pattern{}}
	m.files.init(m)
	available := functions()
	if o.Program != nil {
		available = append(available, programFunctions()...)
	}
	for _, f := range available {
		if f.permission == "" || slices.Contains(o.Grants, f.permission) {
			m.place(env, f)
		}
	}
	return m.files.done
}

// functions returns all functions for charts in the order of the reference.
func functions() []function {
	return slices.Concat(
		helmFunctions(), yamlFunctions(), jsonFunctions(), textFunctions(), regexFunctions(), semverFunctions(),
		permitted(Network, networkFunctions()...), permitted(IO, ioFunctions()...), permitted(IO, fileMethods()...),
		permitted(OS, osFunctions()...),
	)
}
