// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/release"
)

// annotation is one of metadata.annotations that is meant for Helm.
type annotation struct {
	key, value string
	line       int // in its document
}

// annotations are an object's own.
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

// itemAnnotations are those of a List's items.
func itemAnnotations(n *yaml.Node) []annotation {
	var out []annotation
	if items := child(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
		for _, item := range items.Content {
			out = append(out, annotations(yaml.Target(item))...)
		}
	}
	return out
}

// child is the value of a map's key, nil where there is none.
func child(n *yaml.Node, name string) *yaml.Node { return yaml.Target(yaml.Value(n, name)) }

// duplicates are the keys that a map has already.
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

// hookEvents are the events that annotations may name; "test-success" is what
// Helm 2 called "test".
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
