// SPDX-License-Identifier: Apache-2.0

package values

import (
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// JoinPath returns a path in the syntax of --set: "image.tag".
func JoinPath(keys ...string) string { return joinAll(keys) }

// Locate returns the last file or flag of o that sets the key at path, also one that sets it to a
// table. It returns the zero Origin if none does, or if a file cannot be read again.
func (o Options) Locate(read func(path string) ([]byte, error), path ...string) Origin {
	var found Origin
	for _, name := range o.Files {
		data, err := read(name)
		if err != nil {
			continue
		}
		if line := lineOf(yaml.Root(data), path); line > 0 {
			found = Origin{File: name, Line: line}
		}
	}
	for _, kind := range o.expressions() {
		for _, expr := range kind.exprs {
			alone := map[string]any{}
			if err := o.Lists.Apply(alone, kind.mode, expr, read); err == nil && hasPath(alone, path) {
				found = Origin{Flag: kind.mode.String() + " " + expr}
			}
		}
	}
	return found
}

// lineOf returns the line of the key at path, or 0.
func lineOf(n *yaml.Node, path []string) int {
	line := 0
	for _, key := range path {
		pair, ok := children(n)[key]
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
