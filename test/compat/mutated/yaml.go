// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Raw is the text of a scalar in YAML, such as 0o17, 1e3 or ~.
type Raw string

// Removed is the value of an edit that removes a key from values.yaml.
type Removed struct{}

// plain returns a value in which every Raw is decoded.
func plain(v any) any {
	switch v := v.(type) {
	case Raw:
		var out any
		if yaml.Unmarshal([]byte(v), &out) != nil {
			return string(v)
		}
		switch out.(type) {
		case bool, string, int, int64, uint64, nil:
			return out
		}
		return string(v) // dates and floats, which JSON and --set write differently
	case Removed:
		return nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	}
	return v
}

// clone copies maps and lists.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// writer writes values as YAML in styles that people use.
type writer struct{ seed uint64 }

func (w *writer) random() *rand.Rand { return rand.New(rand.NewPCG(w.seed, 77)) }

func (w *writer) text(v map[string]any) (string, error) {
	r := w.random()
	return encode(node(r, v), r)
}

// encode encodes a document, sometimes with CRLF or without the last line feed.
func encode(n *yaml.Node, r *rand.Rand) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return "", err
	}
	if err := e.Close(); err != nil {
		return "", err
	}
	text := b.String()
	if r.IntN(3) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	if r.IntN(50) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text, nil
}

// node returns the node of a value in a random style.
func node(r *rand.Rand, v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: flow(r)}
		keys := slices.Sorted(maps.Keys(v))
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for _, k := range keys {
			n.Content = append(n.Content, node(r, k), node(r, v[k]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: flow(r)}
		for _, e := range v {
			n.Content = append(n.Content, node(r, e))
		}
		return n
	case Raw:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(v)}
	case Removed:
		v = Removed{}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case string:
		n := &yaml.Node{}
		n.SetString(v)
		n.Style = style(r, v)
		return n
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		panic(err) // values are decoded from YAML
	}
	return n
}

func flow(r *rand.Rand) yaml.Style {
	if r.IntN(8) == 0 {
		return yaml.FlowStyle
	}
	return 0
}

// style returns a random style for a string. The encoder uses another one if necessary.
func style(r *rand.Rand, text string) yaml.Style {
	if strings.Contains(text, "\n") {
		return []yaml.Style{yaml.LiteralStyle, yaml.LiteralStyle, yaml.FoldedStyle, yaml.DoubleQuotedStyle, 0}[r.IntN(5)]
	}
	return []yaml.Style{0, 0, 0, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle}[r.IntN(5)]
}

// edit applies an edit to the tree of a values file.
func edit(r *rand.Rand, n *yaml.Node, path []string, value any) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	index := -1
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == path[0] {
			index = i
		}
	}
	_, remove := value.(Removed)
	switch {
	case len(path) > 1 && index < 0:
		n.Content = append(n.Content, node(r, path[0]), &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
		edit(r, n.Content[len(n.Content)-1], path[1:], value)
	case len(path) > 1:
		edit(r, n.Content[index+1], path[1:], value)
	case remove && index >= 0:
		n.Content = slices.Delete(n.Content, index, index+2)
	case remove:
	case index < 0:
		n.Content = append(n.Content, node(r, path[0]), node(r, value))
	default:
		n.Content[index+1] = node(r, value)
	}
}
