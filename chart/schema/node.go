// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// text returns a node for a string, quoted if needed.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case plainWord(s):
	case strings.Contains(s, "\n") && isBlock(s):
		n.Style = yaml.LiteralStyle
	default:
		if v, ok := read(s); !ok || v != any(s) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}

// isBlock reports whether a string with several lines can be written as a literal block.
func isBlock(s string) bool {
	if strings.TrimSpace(s) == "" || s[0] == ' ' || s[0] == '\n' {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") {
			return false
		}
		for _, r := range line {
			if r != ' ' && !strconv.IsPrint(r) {
				return false
			}
		}
	}
	return true
}

// typeList returns the value of the keyword type: a single type or a list.
func typeList(kinds []string) *yaml.Node {
	switch len(kinds) {
	case 0:
		return nil
	case 1:
		return text(kinds[0])
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, k := range kinds {
		list.Content = append(list.Content, text(k))
	}
	return list
}

// kindsOf returns the types in the value of the keyword type.
func kindsOf(n *yaml.Node) []string {
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	case n.Kind == yaml.SequenceNode:
		var kinds []string
		for _, e := range n.Content {
			kinds = append(kinds, e.Value)
		}
		return kinds
	}
	return nil
}

// literal returns a node for a value, or nil if the value has more than most nodes or cannot
// be written in a schema.
func literal(v any, most int) *yaml.Node {
	l := literals{left: most}
	n := l.write(v, 0)
	if l.failed || l.left < 0 {
		return nil
	}
	return n
}

type literals struct {
	left   int
	failed bool
}

func (l *literals) write(v any, depth int) *yaml.Node {
	scalar := func(tag, value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	}
	if l.left--; l.left < 0 || l.failed || depth > maxDerivedDepth {
		l.failed = true
		return scalar("!!null", "null")
	}
	switch v := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int, int64, uint64:
		return scalar("!!int", fmt.Sprint(v))
	case float64:
		return scalar("!!float", floatText(v))
	case string:
		l.failed = !utf8.ValidString(v)
		return text(v)
	case time.Time:
		return text(v.Format(time.RFC3339Nano))
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range v {
			n.Content = append(n.Content, l.write(e, depth+1))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case map[any]any:
		n := mapping()
		for _, e := range (&source{}).entries(v, nil) {
			l.failed = l.failed || !utf8.ValidString(e.name)
			add(n, e.name, l.write(e.value, depth+1))
		}
		return n
	}
	l.failed = true
	return scalar("!!null", "null")
}

// floatText returns v with a decimal point or an exponent.
func floatText(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

func add(n *yaml.Node, key string, v *yaml.Node) {
	n.Content = append(n.Content, text(key), v)
}

func prepend(n *yaml.Node, key string, v *yaml.Node) {
	n.Content = append([]*yaml.Node{text(key), v}, n.Content...)
}

func set(n *yaml.Node, name string, v *yaml.Node) {
	if i := yaml.Find(n, name, nil); i >= 0 {
		n.Content[i+1] = v
		return
	}
	add(n, name, v)
}

func remove(n *yaml.Node, name string) {
	for i := yaml.Find(n, name, nil); i >= 0; i = yaml.Find(n, name, nil) {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// block sets block style for a tree, except for short lists of scalars. It quotes strings if
// needed. Strings that were quoted stay so, unless requote is set.
func block(n *yaml.Node, requote bool, depth int) {
	if depth > 2*maxDepth {
		return
	}
	switch n.Kind {
	case yaml.ScalarNode:
		quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
		if n.ShortTag() == "!!str" && (n.Style == 0 || quoted && requote) {
			n.Style = text(n.Value).Style
		}
	case yaml.MappingNode:
		n.Style = 0
	case yaml.SequenceNode:
		flow := true
		for _, e := range n.Content {
			flow = flow && e.Kind == yaml.ScalarNode && len(e.Value) < 40
		}
		if n.Style&yaml.FlowStyle != 0 && (!flow || len(n.Content) > 12) {
			n.Style = 0
		}
	}
	for i, c := range n.Content {
		block(c, requote, depth+1)
		// The comment after a map in flow style moves to its key.
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Style&yaml.FlowStyle == 0 && c.Kind != yaml.ScalarNode &&
			c.LineComment != "" {
			key := n.Content[i-1]
			if key.LineComment == "" && len(c.Content) > 0 {
				key.LineComment, c.LineComment = c.LineComment, ""
			}
		}
	}
}

func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoderV3(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
