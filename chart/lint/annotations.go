// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/release"
)

// annotation is an annotation for Helm, or a duplicate key.
type annotation struct {
	key, value string
	line       int // relative to the document
}

// annotations returns an object's annotations for Helm.
func annotations(n *yaml.Node) []annotation {
	var out []annotation
	m := child(child(n, "metadata"), "annotations")
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], yaml.Target(m.Content[i+1])
		if strings.HasPrefix(key.Value, annotationPrefix) && value.Kind == yaml.ScalarNode {
			out = append(out, annotation{key.Value, value.Value, key.Line})
		}
	}
	return out
}

// itemAnnotations returns the annotations for Helm of a List's items.
func itemAnnotations(n *yaml.Node) []annotation {
	var out []annotation
	if items := child(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
		for _, item := range items.Content {
			out = append(out, annotations(yaml.Target(item))...)
		}
	}
	return out
}

// child returns the value of a key, or nil if there is none.
func child(n *yaml.Node, name string) *yaml.Node { return yaml.Target(yaml.Value(n, name)) }

// duplicates returns the keys that occur more than once in a map.
func duplicates(n *yaml.Node, depth int) []annotation {
	if n == nil || depth > 1000 {
		return nil
	}
	var out []annotation
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yaml.ScalarNode {
				if seen[k.Value] {
					out = append(out, annotation{key: k.Value, line: k.Line})
				}
				seen[k.Value] = true
			}
		}
	}
	for _, c := range n.Content {
		out = append(out, duplicates(c, depth+1)...)
	}
	return out
}

func isInteger(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// hookEvents returns the valid hook events. "test-success" is Helm 2's name of "test".
func hookEvents() []string { return append(words(release.HookEvents()), "test-success") }

func deletePolicies() []string { return words(release.DeletePolicies()) }

func outputLogPolicies() []string { return words(release.OutputLogPolicies()) }

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
