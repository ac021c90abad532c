// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// The keywords of lists that merge.
const (
	listType = "x-kubernetes-list-type"
	listKeys = "x-kubernetes-list-map-keys"
)

// checkListTypes checks the keywords of the schema that say how lists merge. A list whose keywords are
// invalid is replaced, as without them, and no command says so.
func (l *linter) checkListTypes() {
	for _, name := range []string{chart.FileSchema, chart.FileSchemaYAML} {
		if f := l.files[name]; f != nil {
			c := listTypes{linter: l, file: name, seen: map[*yaml.Node]bool{}}
			c.schema(yaml.Root(f.Data))
		}
	}
}

type listTypes struct {
	*linter
	file string
	seen map[*yaml.Node]bool
}

// schema checks a schema and those in it.
func (c *listTypes) schema(n *yaml.Node) {
	if n = yaml.Target(n); n == nil || c.seen[n] {
		return
	}
	c.seen[n] = true
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			c.schema(item)
		}
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	if i := yaml.Find(n, listType, nil); i >= 0 {
		if problem := listProblem(n, yaml.Target(n.Content[i+1])); problem != "" {
			c.add(Warning, c.file, n.Content[i].Line, "%s; the list is replaced, not merged", problem)
		}
	} else if i := yaml.Find(n, listKeys, nil); i >= 0 {
		c.add(Warning, c.file, n.Content[i].Line, "%s needs %s: map; the list is replaced, not merged", listKeys,
			listType)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case "default", "enum", "const", "examples": // values
		case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas":
			c.named(n.Content[i+1])
		default:
			c.schema(n.Content[i+1])
		}
	}
}

// named checks the schemas of a map, whose keys are names.
func (c *listTypes) named(n *yaml.Node) {
	if n = yaml.Target(n); n == nil || n.Kind != yaml.MappingNode || c.seen[n] {
		return
	}
	c.seen[n] = true
	for i := 1; i < len(n.Content); i += 2 {
		c.schema(n.Content[i])
	}
}

// listProblem returns what is wrong with the keywords of the schema n, whose list type is kind, or "".
func listProblem(n, kind *yaml.Node) string {
	switch {
	case kind == nil || kind.Kind != yaml.ScalarNode:
		return listType + " is not a word: it must be map, set or atomic"
	case kind.Value == "set" || kind.Value == "atomic":
		return ""
	case kind.Value != "map":
		return fmt.Sprintf("%s is %q: it must be map, set or atomic", listType, kind.Value)
	}
	keys := yaml.Target(yaml.Value(n, listKeys))
	if keys == nil || keys.Kind != yaml.SequenceNode || len(keys.Content) == 0 {
		return fmt.Sprintf("%s: map needs %s, a list of the names of fields", listType, listKeys)
	}
	for _, key := range keys.Content {
		if key = yaml.Target(key); key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
			return listKeys + " must be a list of the names of fields"
		}
	}
	return ""
}
