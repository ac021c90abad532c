// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strconv"
	"strings"
)

// Root returns the first document of text as a node, or nil if text is empty or not YAML.
func Root(text []byte) *Node {
	var doc Node
	if UnmarshalV3(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// Target returns n, or the node to which n refers if it is an alias. It returns nil for nil.
func Target(n *Node) *Node {
	for i := 0; n != nil && n.Kind == AliasNode && n.Alias != nil && i < MaxDepth; i++ {
		n = n.Alias
	}
	return n
}

// KeyName returns the name of a key of a map as in [TextKeys]: that of the key off without quotes is "false".
func KeyName(key *Node) string {
	const text = DoubleQuotedStyle | SingleQuotedStyle | LiteralStyle | FoldedStyle | TaggedStyle
	if key.Kind != ScalarNode || key.Style&text != 0 {
		return key.Value
	}
	if v, ok := Resolve(key.Value); ok {
		if name, ok := keyText(v); ok {
			return name
		}
	}
	return key.Value
}

// Find returns the index of a key in n.Content, which the value follows, or -1 if n is not a
// map or has no such key. It returns the last of duplicate keys. same reports whether two
// names are equal; nil compares them byte by byte.
func Find(n *Node, name string, same func(a, b string) bool) int {
	if n == nil || n.Kind != MappingNode {
		return -1
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if key := n.Content[i].Value; key == name || same != nil && same(key, name) {
			return i
		}
	}
	return -1
}

// Value returns the value of a key of a map, or nil if there is none. It returns the value of
// the last of duplicate keys.
func Value(n *Node, name string) *Node {
	if i := Find(n, name, nil); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// Line returns the line of the key or list item of n at path, which has the names of keys and
// the indexes of items. If no key has a name, Line ignores its case. If path does not exist,
// Line returns the line of the nearest ancestor, or 0 if there is none.
func Line(n *Node, path ...string) int {
	line := 0
	for _, step := range path {
		switch n = Target(n); {
		case n == nil:
			return line
		case n.Kind == SequenceNode:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.Content) {
				return line
			}
			n = n.Content[i]
			line = n.Line
		default:
			i := Find(n, step, nil)
			if i < 0 {
				i = Find(n, step, strings.EqualFold)
			}
			if i < 0 {
				return line
			}
			line, n = n.Content[i].Line, n.Content[i+1]
		}
	}
	return line
}

// CutLine splits a parser's message "line 7: problem" into the line and the problem. ok is
// false if text has no line.
func CutLine(text string) (line int, problem string, ok bool) {
	rest, ok := strings.CutPrefix(text, "line ")
	if !ok {
		return 0, text, false
	}
	num, problem, ok := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(num)
	if !ok || err != nil {
		return 0, text, false
	}
	return line, problem, true
}

// Complaint returns the message of an error of [Unmarshal] without the prefixes of the
// libraries.
func Complaint(err error) string {
	text := err.Error()
	for _, noise := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ",
		"yaml: ", "json: "} {
		text = strings.TrimPrefix(text, noise)
	}
	return text
}
