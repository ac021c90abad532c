// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"regexp"
	"slices"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// fill adds to the schema have the keywords that only want has, and reports whether it added
// any. It adds nothing that a reference or alternatives in have may define.
func fill(have, want *yaml.Node, depth int) bool {
	if have.Kind != yaml.MappingNode || want.Kind != yaml.MappingNode || yaml.Value(have, "$ref") != nil ||
		depth > maxDepth {
		return false
	}
	hadType := yaml.Value(have, "type")
	changed := false
	put := func(k string, v *yaml.Node) {
		add(have, k, v)
		changed = true
	}
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, v := want.Content[i].Value, want.Content[i+1]
		cur := yaml.Value(have, key)
		switch key {
		case "type":
			if cur == nil && !hasAlternatives(have, v) {
				put(key, v)
			}
		case "default":
			if cur == nil && (hadType == nil || admits(hadType, yaml.Value(want, "type"))) {
				put(key, v)
			}
		case "items":
			if cur != nil {
				changed = fill(cur, v, depth+1) || changed
			} else if describes(have, "array") {
				put(key, v)
			}
		case "properties":
			if describes(have, "object") || cur != nil {
				changed = fillProperties(have, cur, v, depth) || changed
			}
		case "required":
			changed = require(have, cur, v) || changed
		default:
			if cur == nil {
				put(key, v)
			}
		}
	}
	return changed
}

// hasAlternatives reports whether a schema restricts values by other keywords than type: by
// an enum with values of other types, or by other schemas.
func hasAlternatives(have, types *yaml.Node) bool {
	for _, k := range []string{"anyOf", "oneOf", "allOf", "const"} {
		if yaml.Value(have, k) != nil {
			return true
		}
	}
	enum := yaml.Value(have, "enum")
	if enum == nil {
		return false
	}
	for _, e := range enum.Content {
		if !slices.Contains(kindsOf(types), kindOf(e)) {
			return true
		}
	}
	return false
}

// kindOf returns the JSON type of a literal.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode:
		return "array"
	}
	switch n.ShortTag() {
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	case "!!bool":
		return "boolean"
	case "!!null":
		return "null"
	}
	return "string"
}

// admits reports whether types includes one of others.
func admits(types, others *yaml.Node) bool {
	have := kindsOf(types)
	for _, k := range kindsOf(others) {
		if slices.Contains(have, k) || k == "integer" && slices.Contains(have, "number") {
			return true
		}
	}
	return false
}

// describes reports whether keywords for values of a kind can be added to a schema.
func describes(have *yaml.Node, kind string) bool {
	if t := yaml.Value(have, "type"); t != nil {
		return slices.Contains(kindsOf(t), kind)
	}
	return !hasAlternatives(have, text(kind))
}

// fillProperties fills the existing properties and adds the others, each after the property
// that precedes it in values.yaml. It does not add properties to which patternProperties or
// additionalProperties apply.
func fillProperties(have, cur, want *yaml.Node, depth int) bool {
	closed := false
	if others := yaml.Value(have, "additionalProperties"); others != nil && others.Kind == yaml.MappingNode &&
		len(others.Content) > 0 {
		closed = true
	}
	patterns := patternsOf(yaml.Value(have, "patternProperties"))
	changed := false
	if cur == nil {
		cur = mapping()
	}
	if cur.Kind != yaml.MappingNode {
		return false
	}
	index := make(map[string]int, len(cur.Content)/2) // the last of duplicate keys wins
	for i := 0; i+1 < len(cur.Content); i += 2 {
		index[cur.Content[i].Value] = i
	}
	added, after := map[int][]*yaml.Node{}, 0 // by the index to insert them at
	for i := 0; i+1 < len(want.Content); i += 2 {
		name, v := want.Content[i].Value, want.Content[i+1]
		if n, exists := index[name]; exists {
			changed = fill(cur.Content[n+1], v, depth+1) || changed
			after = n + 2
			continue
		}
		if closed || slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) }) {
			continue
		}
		added[after] = append(added[after], text(name), v)
	}
	if len(added) == 0 {
		return changed
	}
	var content []*yaml.Node
	for i := 0; i <= len(cur.Content); i += 2 {
		content = append(content, added[i]...)
		if i < len(cur.Content) {
			content = append(content, cur.Content[i], cur.Content[i+1])
		}
	}
	cur.Content, cur.Style = content, 0
	if yaml.Value(have, "properties") == nil {
		add(have, "properties", cur)
	}
	return true
}

func patternsOf(n *yaml.Node) []*regexp.Regexp {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var out []*regexp.Regexp
	for i := 0; i < len(n.Content); i += 2 {
		if re, err := regexp.Compile(n.Content[i].Value); err == nil {
			out = append(out, re)
		}
	}
	return out
}

// require adds names to the keyword required.
func require(have, cur, want *yaml.Node) bool {
	if cur == nil {
		add(have, "required", want)
		return true
	}
	if cur.Kind != yaml.SequenceNode {
		return false
	}
	changed := false
	for _, name := range want.Content {
		if !slices.ContainsFunc(cur.Content, func(e *yaml.Node) bool { return e.Value == name.Value }) {
			cur.Content = append(cur.Content, name)
			changed = true
		}
	}
	return changed
}
