// SPDX-License-Identifier: Apache-2.0

// Package modules is what a chart's scripts can call besides the language:
// yaml, json, base64, semver, regex, sha256 and helm for every chart, and
// http, net, io and os for one that was granted the permission.
//
// [Install] puts new tables into one chart's environment, so what a chart does
// to them no other chart sees. Arguments come from scripts no one has read:
// each function charges the runtime's budget before it works, in proportion to
// what it takes and makes, and a budget that runs out ends the script in the
// usual way of golua.
//
// The package opens no socket: requests are put to [Options.Ask]. It decides
// about no permission, and knows neither events nor contexts; the functions that
// need them (events, subcharts, template, kube, print) are package engine's.
package modules

import (
	"regexp"
	"slices"
	"time"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Permissions that bring functions of their own.
const (
	Network = "network"
	IO      = "io"
	OS      = "os"
)

// Options are what one chart's functions need.
type Options struct {
	// Chart is the chart's index in the start request; questions carry it.
	Chart int
	// Grants are the permissions that the chart has.
	Grants []string
	// Environ is what os.getenv knows and commands are started with, "NAME=value".
	Environ []string
	// Print shows one line without its end, as the script's print does. Nil
	// drops it.
	Print func(line string) error
	// Ask puts a question of kind [wire.HTTP] or [wire.Host] to the host and
	// returns the body of its answer. Nil: there is no network.
	Ask func(kind wire.Kind, body map[string]any) (map[string]any, error)
	// Program makes the script a program of its own; nil: it belongs to a chart.
	Program *Program
}

// Function describes a function, or a constant, for people.
type Function struct {
	// Name is how a script writes it: "yaml.decode", "file:read".
	Name string
	// Signature is Name with its arguments and, behind "→", its results.
	Signature string
	// Text says in one or two sentences what it does.
	Text string
	// Permission is what a chart needs to have it, "" for nothing.
	Permission string
}

// Reference describes everything that Install can install for a chart, in the
// order in which documentation shows it.
func Reference() []Function {
	var out []Function
	for _, f := range new(module).functions() {
		out = append(out, f.Function)
	}
	return out
}

// function is a Function and how it works.
type function struct {
	Function
	args int  // how many arguments it looks at
	etc  bool // whether it takes any number more
	do   func(*call) error
	// value is the constant's value, where it is none that can be called.
	value func() rt.Value
}

// module is the state of one chart's functions.
type module struct {
	*bridge.Bridge
	o       Options
	started time.Time

	patterns map[string]pattern // compiled, by their text
	files    files
}

// pattern is a compiled regular expression and what one byte of text costs.
type pattern struct {
	*regexp.Regexp
	steps uint64
}

// Install puts the tables into env. The function that it returns is called when
// a request of the host is done and when the chart's scripts end: it writes out
// what io.write holds back and, if end is true, closes files and ends commands
// that scripts left open.
func Install(b *bridge.Bridge, env *rt.Table, o Options) (done func(end bool)) {
	m := &module{Bridge: b, o: o, started: time.Now(), patterns: map[string]pattern{}}
	m.files.init(m)
	for _, f := range slices.Concat(m.functions(), m.programFunctions()) {
		if f.Permission == "" || slices.Contains(o.Grants, f.Permission) {
			m.place(env, f)
		}
	}
	return m.files.done
}

// functions are all functions in the order of the reference.
func (m *module) functions() []function {
	return slices.Concat(
		m.helmFunctions(), m.yamlFunctions(), m.jsonFunctions(), m.textFunctions(),
		m.regexFunctions(), m.semverFunctions(), m.networkFunctions(), m.ioFunctions(),
		m.fileMethods(), m.osFunctions(),
	)
}
