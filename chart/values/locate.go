// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// JoinPath returns a path in the syntax of --set: "image.tag".
func JoinPath(keys ...string) string { return joinAll(keys) }

// Locator returns a function that returns the last file or flag of o that sets the key at a path, also one
// that sets it to a table. It returns the zero Origin if none does, or if a file cannot be read again. Files are
// read and flags are parsed at once. The Flag of an Origin is without its expression, which may have a secret: the
// place is for messages, which end up in logs. The function must not be called concurrently.
func (o Options) Locator(read func(path string) ([]byte, error)) func(path ...string) Origin {
	l := locator{children: map[*yaml.Node]map[string][2]*yaml.Node{}}
	for _, name := range o.Files {
		if data, err := read(name); err == nil {
			l.files = append(l.files, locatedFile{name, root(data, yaml.Root)})
		}
	}
	for _, kind := range o.expressions() {
		for _, expr := range kind.exprs {
			alone := map[string]any{}
			if err := o.Lists.Apply(alone, kind.mode, expr, read); err == nil {
				l.flags = append(l.flags, locatedFlag{kind.mode.String(), alone})
			}
		}
	}
	return l.locate
}

type locatedFile struct {
	name string
	root *yaml.Node
}

type locatedFlag struct {
	name string
	vals map[string]any
}

// locator has what sets values.
type locator struct {
	files    []locatedFile
	flags    []locatedFlag
	children map[*yaml.Node]map[string][2]*yaml.Node
}

func (l *locator) locate(path ...string) Origin {
	for _, f := range slices.Backward(l.flags) {
		if hasPath(f.vals, path) {
			return Origin{Flag: f.name}
		}
	}
	for _, f := range slices.Backward(l.files) {
		if line := l.lineOf(f.root, path); line > 0 {
			return Origin{File: f.name, Line: line}
		}
	}
	return Origin{}
}

// lineOf returns the line of the key at path, or 0.
func (l *locator) lineOf(n *yaml.Node, path []string) int {
	line := 0
	for _, key := range path {
		below, ok := l.children[n]
		if !ok {
			below = children(n)
			l.children[n] = below
		}
		pair, ok := below[key]
		if !ok {
			return 0
		}
		line, n = pair[0].Line, pair[1]
	}
	return line
}

// hasPath reports whether vals have a value at path, which may be null.
func hasPath(vals map[string]any, path []string) bool {
	for i, key := range path {
		v, ok := vals[key]
		if !ok || i == len(path)-1 {
			return ok
		}
		vals, _ = v.(map[string]any)
	}
	return false
}
