// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// source is a values file. It is parsed twice: by the YAML 1.1 parser for values, and into
// nodes, which have lines, comments and the order of keys.
type source struct {
	name   string
	lines  []string
	values map[any]any
	roots  []*yaml.Node // of all documents, the last document first
	// comments is the set of comment lines of all nodes, without indentation.
	comments map[string]bool
}

func readSource(name string, data []byte) (*source, error) {
	s := &source{name: name, values: map[any]any{}, comments: map[string]bool{}}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	// All line breaks of YAML 1.1.
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	s.lines = strings.Split(ends.Replace(string(data)), "\n")
	if err := s.readValues(data); err != nil {
		return nil, err
	}
	if err := s.readNodes(data); err != nil {
		if bytes.Contains(data, []byte(annotation)) {
			return nil, yamlError(name, 0, err)
		}
		s.roots = nil // derive without comments and with sorted keys
	}
	return s, nil
}

func (s *source) readValues(data []byte) error {
	dec := yaml.NewDecoderV2(bytes.NewReader(data))
	for {
		var doc any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			var table map[string]any
			if json.Unmarshal(data, &table) != nil { // JSON has escapes that YAML does not have
				return yamlError(s.name, 0, err)
			}
			doc = generic(table)
		}
		switch doc := doc.(type) {
		case nil:
		case map[any]any:
			overlay(s.values, doc)
		default:
			return &chart.InvalidError{File: s.name, Line: 1, Problem: "must be keys and values (key: value)"}
		}
		if err != nil {
			return nil
		}
	}
}

func (s *source) readNodes(data []byte) error {
	dec := yaml.NewDecoderV3(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.noteComments(&doc)
		if len(doc.Content) > 0 {
			s.roots = append([]*yaml.Node{doc.Content[0]}, s.roots...)
		}
	}
}

func (s *source) noteComments(n *yaml.Node) {
	for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.SplitSeq(text, "\n") {
			if line != "" {
				s.comments[strings.TrimSpace(line)] = true
			}
		}
	}
	for _, c := range n.Content {
		s.noteComments(c)
	}
}

// overlay merges src, a later document, into dst.
func overlay(dst, src map[any]any) {
	for k, v := range src {
		below, ok := dst[k].(map[any]any)
		if table, both := v.(map[any]any); ok && both {
			overlay(below, table)
			continue
		}
		dst[k] = v
	}
}

// generic converts the types of a JSON decoder into those of a YAML decoder.
func generic(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[any]any, len(v))
		for k, e := range v {
			out[k] = generic(e)
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = generic(e)
		}
	case float64:
		if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
			return int64(v)
		}
	}
	return v
}

// entry is a key of a table with its nodes in the file.
type entry struct {
	name  string
	value any
	key   *yaml.Node // nil if the key comes from a merge
	node  *yaml.Node // the value's node, or nil if key is nil
}

// entries returns a table's keys in the order of the file. Keys from a merge are last and
// sorted.
func (s *source) entries(table map[any]any, nodes []*yaml.Node) []entry {
	left := make(map[string]any, len(table))
	for k, v := range table {
		if _, isText := k.(string); !isText {
			if _, dup := table[fmt.Sprint(k)]; dup {
				continue // of "1" and 1, the string wins
			}
		}
		left[fmt.Sprint(k)] = v
	}
	var out []entry
	indexes := map[string]int{}
	for _, n := range nodes {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			name := keyName(n.Content[i])
			if j, again := indexes[name]; again { // the last of duplicate keys wins
				if n == nodes[0] {
					out[j].key, out[j].node = n.Content[i], n.Content[i+1]
				}
				continue
			}
			v, ok := left[name]
			if !ok {
				continue
			}
			indexes[name] = len(out)
			delete(left, name)
			out = append(out, entry{name, v, n.Content[i], n.Content[i+1]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out = append(out, entry{name: name, value: left[name]})
	}
	return out
}

// keyName returns the name of a key in the parsed values.
func keyName(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return n.Value
	}
	if v, ok := read(n.Value); ok && v != nil {
		return fmt.Sprint(v)
	}
	return n.Value
}

// read parses a plain scalar of a values file.
func read(text string) (any, bool) {
	if plainWord(text) {
		return text, true
	}
	var v any
	if yaml.UnmarshalV2([]byte(text), &v) != nil {
		return nil, false
	}
	switch v.(type) {
	case map[any]any, []any:
		return nil, false
	}
	return v, true
}

// plainWord reports whether text is certainly a string in every version of YAML. It may
// return false for other strings.
func plainWord(text string) bool {
	if len(text) < 6 { // yes, off, null, False and the like
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != '/') {
			return false
		}
	}
	return true
}

// yamlError converts an error of a YAML parser into an InvalidError.
func yamlError(name string, offset int, err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
	bad := &chart.InvalidError{File: name, Problem: "is not valid YAML: " + text}
	if line, problem, ok := yaml.CutLine(text); ok {
		bad.Line, bad.Problem = offset+line, "is not valid YAML: "+problem
	}
	return bad
}
