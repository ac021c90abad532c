// SPDX-License-Identifier: Apache-2.0

// Package scriptapi describes what charts' scripts can use: the context of handlers, and the
// functions that are not in a module. It is the one table that docs/scripts-reference.md, the
// type definitions, lint and the engine's errors are made from.
//
// The functions of modules (helm, yaml, http and others) are described by
// [github.com/moonhelm/moonhelm/script/engine/modules.Reference], where they are implemented.
package scriptapi

import (
	"slices"
	"strings"
)

// Class is a kind of table that scripts are given.
type Class struct {
	// Name is its name in type definitions: "Chart".
	Name string
	// Path is where a handler finds it: "ctx.chart". It is "" for one that is an item of lists.
	Path string
	// Text describes it in one sentence.
	Text string
	// Fields are its fields, in the order of the documentation.
	Fields []Field
	// Open is set where there may be other fields: objects of the cluster.
	Open bool
	// ReadOnly is set where no field may change at any event, but for those that are Mutable.
	ReadOnly bool
}

// Field is a field of a Class.
type Field struct {
	Name string
	// Type is its type in the notation of lua-language-server: "string", "File[]",
	// "table<string, Context>". Other classes have their Name.
	Type string
	// Text says what it is, in the words of docs/scripts-reference.md.
	Text string
	// Optional is set where the field can be nil.
	Optional bool
	// Mutable is set where a handler of some event may assign it.
	Mutable bool
	// Params and Returns are those of a field that is a function.
	Params  []Param
	Returns string
}

// Function is a function that every script has, but for those of modules.
type Function struct {
	// Name is how a script writes it: "events.on".
	Name string
	// Signature is Name with its arguments, as the reference writes it.
	Signature string
	// Text describes it.
	Text string
	// Params are its parameters, Returns the type of its result; "" for none.
	Params  []Param
	Returns string
}

// Param is a parameter of a function.
type Param struct {
	Name     string
	Type     string // in the notation of lua-language-server
	Optional bool
}

// ClassOf returns the class with a name; ok is false where there is none.
func ClassOf(name string) (c Class, ok bool) {
	for _, one := range classes() {
		if one.name == name {
			return one.make(), true
		}
	}
	return Class{}, false
}

// Names returns the names of a class's fields.
func (c Class) Names() []string {
	out := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		out[i] = f.Name
	}
	return out
}

// Field returns the field with a name; ok is false where there is none.
func (c Class) Field(name string) (f Field, ok bool) {
	i := slices.IndexFunc(c.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return c.Fields[i], true
}

// Element returns the class of a field's value, or of its elements where it is a list or a
// map of them: "File" for "File[]", "Context" for "table<string, Context>". It is "" for a
// value that has no class, such as text or a chart's values.
func (f Field) Element() (class string, list bool) {
	name, list := strings.CutSuffix(f.Type, "[]")
	if inner, ok := strings.CutPrefix(name, "table<string, "); ok {
		name, list = strings.TrimSuffix(inner, ">"), true
	}
	if !slices.ContainsFunc(classes(), func(c classMaker) bool { return c.name == name }) {
		return "", list
	}
	return name, list
}

// HasField reports whether a context has a field: "chart", "name" for ctx.chart.name. What a
// field without a class holds is not known, and is not a field. No names are the context
// itself.
func HasField(names []string) bool {
	class, list := "Context", false
	for _, name := range names {
		c, ok := ClassOf(class)
		f, known := c.Field(name)
		if !ok || !known || list {
			return false
		}
		class, list = f.Element()
	}
	return true
}

// Tables returns the names of the tables that hold functions, with the names of what they
// hold: "events" with "off" and "on". Tables of modules are not among them.
func Tables() map[string][]string {
	out := map[string][]string{}
	for _, f := range Functions() {
		if table, name, ok := strings.Cut(f.Name, "."); ok {
			out[table] = append(out[table], name)
		}
	}
	for alias, table := range Aliases() {
		out[alias] = out[table]
	}
	return out
}

// Aliases returns the other names of tables of functions: "event" of "events".
func Aliases() map[string]string {
	return map[string]string{"event": "events", "subchart": "subcharts"}
}
