// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strconv"
	"strings"
)

// FieldLine returns the line of a field of the object root. The field is in the notation of API
// servers: "spec.containers[0].env[name=\"A\"]" or "metadata.labels[example.com/a]". For a
// missing field it returns the line of the nearest ancestor.
func FieldLine(root *Node, field string) int {
	if line := Line(root, fieldSteps(root, field)...); line > 0 || root == nil {
		return line
	}
	return root.Line
}

// fieldSteps splits a field into the keys and indexes on the way to it from root.
func fieldSteps(root *Node, field string) []string {
	var steps []string
	at := Target(root)
	for field != "" {
		var step string
		if rest, ok := strings.CutPrefix(field, "["); ok {
			step, field, _ = strings.Cut(rest, "]")
		} else {
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			step, field = field[:end], field[end:]
		}
		field = strings.TrimPrefix(field, ".")
		if at != nil && at.Kind == SequenceNode {
			step = itemIndex(at, step)
		}
		steps = append(steps, step)
		at = stepInto(at, step)
	}
	return steps
}

func stepInto(n *Node, step string) *Node {
	if n == nil {
		return nil
	}
	if n.Kind != SequenceNode {
		return Target(Value(n, step))
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
		return Target(n.Content[i])
	}
	return nil
}

// itemIndex returns the index of the item of a list that has the keys of step, such as
// `containerPort=80,protocol="TCP"`. It returns a step without keys unchanged.
func itemIndex(list *Node, step string) string {
	if !strings.Contains(step, "=") {
		return step
	}
	for i, item := range list.Content {
		if hasKeys(Target(item), step) {
			return strconv.Itoa(i)
		}
	}
	return step
}

func hasKeys(item *Node, keys string) bool {
	for pair := range strings.SplitSeq(keys, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		// The server sets keys that the object does not have to their defaults.
		if have := Value(item, name); have != nil && have.Value != value {
			return false
		}
	}
	return true
}
