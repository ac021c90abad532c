// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strconv"
	"strings"
)

// Root returns the value of the first document of text as a node, nil where text is not
// YAML or holds nothing.
func Root(text []byte) *Node {
	var doc Node
	if UnmarshalV3(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// Target returns n, or what it stands for if it is an alias; nil for nil.
func Target(n *Node) *Node {
	for i := 0; n != nil && n.Kind == AliasNode && n.Alias != nil && i < MaxDepth; i++ {
		n = n.Alias
	}
	return n
}

// Find returns where the key of that name stands in n.Content, with its value behind it;
// -1 where n is not a map or has no such key. Of equal keys the last one counts. same says
// which names are equal; nil for those of the same bytes.
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

// Value returns the value of a key of a map, nil where there is none; of equal keys the last
// one's.
func Value(n *Node, name string) *Node {
	if i := Find(n, name, nil); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// Line returns the line of a key, or of a list's item, in n: path are the names of the keys
// on the way to it, in any case where none is the same, and the numbers of items. Of what is
// not there it is the line of the nearest that is, 0 for nothing.
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

// CutLine returns the line and the problem of a reader's complaint, "line 7: what"; ok is
// false where text names no line.
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

// Complaint returns the text of an error of [Unmarshal] without the names of the readers
// that it came through.
func Complaint(err error) string {
	text := err.Error()
	for _, noise := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ",
		"yaml: ", "json: "} {
		text = strings.TrimPrefix(text, noise)
	}
	return text
}
