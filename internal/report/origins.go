// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// An OriginValue is a value with its origins in JSON.
type OriginValue struct {
	Path    []string        `json:"path"`
	Value   any             `json:"value"`
	Origins []values.Origin `json:"origins"`
}

// OriginValues returns the scalars and lists of vals with their origins, in the order of their keys.
// origins may be nil.
func OriginValues(vals map[string]any, origins *values.Origins) []OriginValue {
	return leaves(vals, origins, nil, []OriginValue{})
}

func leaves(vals map[string]any, origins *values.Origins, path []string, out []OriginValue) []OriginValue {
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		out = leaf(vals[key], origins, append(path[:len(path):len(path)], key), out)
	}
	return out
}

// leaf appends a value to out: of a table, or of a list that merges, what is in it.
func leaf(v any, origins *values.Origins, path []string, out []OriginValue) []OriginValue {
	if table, ok := v.(map[string]any); ok && len(table) > 0 {
		return leaves(table, origins, path, out)
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		if steps := origins.Items(list, path...); steps != nil {
			for i, step := range steps {
				out = leaf(list[i], origins, append(path[:len(path):len(path)], step), out)
			}
			return out
		}
	}
	of := origins.Of(path...)
	if of == nil {
		of = []values.Origin{}
	}
	return append(out, OriginValue{Path: path, Value: v, Origins: of})
}

// OriginText returns the origins of a value in one line, or "" if there are none.
func OriginText(origins []values.Origin) string {
	texts := originTexts(origins)
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return texts[0] + ", over " + strings.Join(texts[1:], ", ")
}

// ItemOriginText returns the places of the items of a list that merges in one line, or "" if there are
// none.
func ItemOriginText(origins []values.Origin) string {
	if len(origins) == 0 {
		return ""
	}
	return "items from " + strings.Join(originTexts(origins), ", ")
}

func originTexts(origins []values.Origin) []string {
	texts := make([]string, len(origins))
	for i, o := range origins {
		texts[i] = term.SafeLine(o.String())
	}
	return texts
}

// WriteOrigins prints vals as YAML with the origins as comments. origins may be nil.
func WriteOrigins(w io.Writer, vals map[string]any, origins *values.Origins) error {
	node, err := commented(vals, origins, nil)
	if err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	enc := yaml.NewEncoderV3(term.SafeWriter(w))
	enc.SetIndent(2)
	return errors.Join(enc.Encode(node), enc.Close())
}

// commented returns vals as a node with the origins as comments.
func commented(vals map[string]any, origins *values.Origins, path []string) (*yaml.Node, error) {
	pairs, err := nodesOf(vals, path)
	if err != nil {
		return nil, err
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		below := append(path[:len(path):len(path)], key)
		pair, ok := pairs[key]
		if !ok {
			return nil, fmt.Errorf("%s cannot be written as YAML", strings.Join(below, "."))
		}
		value, err := commentedValue(vals[key], pair[0], pair[1], origins, below)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, pair[0], value)
	}
	return out, nil
}

// nodesOf returns the nodes of the keys of a map and of their values, as helm get values writes them. In
// place of a map that commentedValue makes itself is an empty one, so that no part is encoded twice.
func nodesOf(vals map[string]any, path []string) (map[string][2]*yaml.Node, error) {
	shallow := make(map[string]any, len(vals))
	for key, v := range vals {
		if _, isMap := v.(map[string]any); isMap {
			v = map[string]any{}
		}
		shallow[key] = v
	}
	text, err := yaml.Marshal(shallow)
	if err != nil {
		return nil, err
	}
	root := yaml.Root(text)
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s cannot be written as YAML", strings.Join(path, "."))
	}
	out := make(map[string][2]*yaml.Node, len(vals))
	for i := 0; i+1 < len(root.Content); i += 2 {
		out[root.Content[i].Value] = [2]*yaml.Node{root.Content[i], root.Content[i+1]}
	}
	return out, nil
}

// commentedValue returns the node of v with the origins as comments. The comment of a list that does
// not merge is at name, the node of its key.
func commentedValue(v any, name, node *yaml.Node, origins *values.Origins, path []string) (*yaml.Node, error) {
	if table, ok := v.(map[string]any); ok && len(table) > 0 {
		return commented(table, origins, path)
	}
	list, _ := v.([]any)
	if steps := origins.Items(list, path...); steps != nil && len(list) > 0 && len(node.Content) == len(list) {
		for i, step := range steps {
			var err error
			below := append(path[:len(path):len(path)], step)
			item := node.Content[i]
			if node.Content[i], err = commentedValue(list[i], item, item, origins, below); err != nil {
				return nil, err
			}
		}
		return node, nil
	}
	if c := OriginText(origins.Of(path...)); c != "" {
		if node.Kind == yaml.ScalarNode || len(node.Content) == 0 {
			node.LineComment = c
		} else {
			name.LineComment = c
		}
	}
	return node, nil
}
