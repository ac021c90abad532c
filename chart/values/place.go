// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Lines returns a function that returns the line of the key or list item at a path in a values file, or that of
// the nearest one above it. Of a file with several documents, it is the line in the last document that sets
// the key. It is 0 if there is none, or if the file is not YAML.
func Lines(data []byte) func(path ...string) int {
	n := root(data, yaml.Root)
	return func(path ...string) int { return yaml.Line(n, path...) }
}

// rootLines returns what [yaml.RootLines] does, of all documents of a values file.
func rootLines(data []byte) *yaml.Node { return root(data, yaml.RootLines) }

// root returns the map of a values file, whose documents it merges like [Parse], or nil if it is not YAML.
func root(data []byte, parse func([]byte) *yaml.Node) *yaml.Node {
	doc, lines, rest := cut(wholeLines(data))
	out := parse(doc)
	for n := 1; len(rest) > 0 && n < maxDocuments; n++ {
		above := lines
		doc, lines, rest = cut(rest)
		next := parse(doc)
		shift(next, above, map[*yaml.Node]bool{})
		out, lines = overlay(out, next), above+lines
	}
	return out
}

// shift adds the lines of the documents above to the lines of n and the nodes below it.
func shift(n *yaml.Node, by int, seen map[*yaml.Node]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	n.Line += by
	shift(n.Alias, by, seen)
	for _, c := range n.Content {
		shift(c, by, seen)
	}
}

// overlay returns the map that has the keys of two documents. Those of over win, and maps merge.
func overlay(under, over *yaml.Node) *yaml.Node {
	under, over = yaml.Target(under), yaml.Target(over)
	if over == nil || over.Kind != yaml.MappingNode {
		return under
	}
	if under == nil || under.Kind != yaml.MappingNode {
		return over
	}
	below := children(under)
	out := *under
	out.Content = slices.Clone(under.Content)
	for name, pair := range children(over) {
		value := pair[1]
		if old, ok := below[name]; ok && isMap(old[1]) && isMap(value) {
			value = overlay(old[1], value)
		}
		out.Content = append(out.Content, pair[0], value)
	}
	return &out
}

func isMap(n *yaml.Node) bool {
	n = yaml.Target(n)
	return n != nil && n.Kind == yaml.MappingNode
}

// children returns the keys and values of a map, with those that merge keys (<<) bring, which have the lines of
// the anchored map. Of equal keys it has the last.
func children(n *yaml.Node) map[string][2]*yaml.Node {
	n = yaml.Target(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	out := make(map[string][2]*yaml.Node, len(n.Content)/2)
	addKeys(out, n, map[*yaml.Node]bool{})
	return out
}

// addKeys adds the keys of a map that out does not have, and then those of the maps that it merges. A map adds
// nothing the second time, so that each is visited once however often it is referred to.
func addKeys(out map[string][2]*yaml.Node, n *yaml.Node, seen map[*yaml.Node]bool) {
	n = yaml.Target(n)
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	if n.Kind == yaml.SequenceNode { // of maps to merge, the first of which wins
		for _, item := range n.Content {
			if isMap(item) {
				addKeys(out, item, seen)
			}
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	var merged []*yaml.Node
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if name := yaml.KeyName(key); out[name][0] == nil {
			out[name] = [2]*yaml.Node{key, value}
		}
	}
	for _, m := range slices.Backward(merged) {
		addKeys(out, m, seen)
	}
}
