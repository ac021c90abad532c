// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// unknownFields warns of unknown and duplicate keys in Chart.yaml.
func (l *linter) unknownFields(f *chart.File) {
	if root := yaml.Root(f.Data); root != nil {
		l.unknown(f, root, reflect.TypeFor[chart.Metadata](), "", 0)
	}
}

// maxNesting limits recursion. No field of Chart.yaml is nested deeper.
const maxNesting = 20

func (l *linter) unknown(f *chart.File, n *yaml.Node, t reflect.Type, at string, depth int) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case depth > maxNesting:
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			l.unknown(f, item, t.Elem(), fmt.Sprintf("%s[%d]", at, i), depth+1)
		}
	case n.Kind == yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			name := strings.TrimPrefix(at+"."+key.Value, ".")
			if first, again := seen[key.Value]; again && key.Kind == yaml.ScalarNode {
				l.add(Warning, f.Name, key.Line, "key %q is already set in line %d; the last one counts", name, first)
			}
			seen[key.Value] = key.Line
			if t.Kind() != reflect.Struct || key.ShortTag() == "!!merge" {
				continue
			}
			if field, ok := fieldOf(t, key.Value); ok {
				l.unknown(f, value, field, name, depth+1)
			} else {
				l.add(Warning, f.Name, key.Line, "unknown field %q", name)
			}
		}
	}
}

func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if strings.EqualFold(tag, key) {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}
