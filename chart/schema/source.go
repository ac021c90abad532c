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

// source is a values file, read twice: by the YAML reader that Helm's values
// are read with, which says what the values are, and by one that knows lines
// and the order of keys.
type source struct {
	name   string
	lines  []string
	values map[any]any
	roots  []*yaml.Node // of all documents, the last one first
	// comments are the lines that are comments, where they were found beside
	// nodes, without indentation.
	comments map[string]bool
}

func readSource(name string, data []byte) (*source, error) {
	s := &source{name: name, values: map[any]any{}, comments: map[string]bool{}}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	// What YAML 1.1 takes for the end of a line.
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	s.lines = strings.Split(ends.Replace(string(data)), "\n")
	if err := s.readValues(data); err != nil {
		return nil, err
	}
	if err := s.readNodes(data); err != nil {
		if bytes.Contains(data, []byte(annotation)) {
			return nil, yamlError(name, 0, err)
		}
		s.roots = nil // without comments, and in another order
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
			if json.Unmarshal(data, &table) != nil { // JSON knows escapes that YAML does not
				return yamlError(s.name, 0, err)
			}
			doc = generic(table)
		}
		switch doc := doc.(type) {
		case nil:
		case map[any]any:
			overlay(s.values, doc)
		default:
			return &chart.InvalidError{File: s.name, Line: 1, Problem: "must hold keys and values (key: value)"}
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

// overlay lays a document over those before it.
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

// generic makes of a JSON reader's types those of a YAML reader.
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

// entry is one key of a table in its place in the file.
type entry struct {
	name  string
	value any
	key   *yaml.Node // nil where the key comes from elsewhere, by a merge
	node  *yaml.Node // the value's, nil like key
}

// entries lists a table's keys in the order of the file; those that were merged
// in come last, sorted.
func (s *source) entries(table map[any]any, nodes []*yaml.Node) []entry {
	left := make(map[string]any, len(table))
	for k, v := range table {
		if _, isText := k.(string); !isText {
			if _, dup := table[fmt.Sprint(k)]; dup {
				continue // "1" and 1: the text is meant
			}
		}
		left[fmt.Sprint(k)] = v
	}
	var out []entry
	at := map[string]int{}
	for _, n := range nodes {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			name := keyName(n.Content[i])
			if j, again := at[name]; again { // of two equal keys the last one counts
				if n == nodes[0] {
					out[j].key, out[j].node = n.Content[i], n.Content[i+1]
				}
				continue
			}
			v, ok := left[name]
			if !ok {
				continue
			}
			at[name] = len(out)
			delete(left, name)
			out = append(out, entry{name, v, n.Content[i], n.Content[i+1]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out = append(out, entry{name: name, value: left[name]})
	}
	return out
}

// keyName is the name that the values' reader gives a key.
func keyName(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return n.Value
	}
	if v, ok := read(n.Value); ok && v != nil {
		return fmt.Sprint(v)
	}
	return n.Value
}

// read reads a plain scalar by the rules of values files.
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

// plainWord tells, without asking a reader, that a text is a string to every
// reader of YAML. It may say no where that is so.
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

// yamlError gives a YAML reader's complaint its file and line.
func yamlError(name string, offset int, err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
	bad := &chart.InvalidError{File: name, Problem: "is not valid YAML: " + text}
	if line, problem, ok := yaml.CutLine(text); ok {
		bad.Line, bad.Problem = offset+line, "is not valid YAML: "+problem
	}
	return bad
}
