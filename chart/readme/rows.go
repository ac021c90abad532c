// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// row is a value of the chart. The fields are those of helm-docs: the comment of a value is in
// AutoDescription and AutoDefault if it is above the value, and otherwise in Description and
// Default, where the value itself is if there is no "@default".
type row struct {
	Key             string
	Type            string
	NotationType    string
	AutoDefault     string
	Default         string
	AutoDescription string
	Description     string
	Section         string
	Column          int
	LineNumber      int
	Dependency      string
	IsGlobal        bool

	keys []string // the path; nil in a list
}

// maxDepth is the number of levels of a values.yaml, and maxRows the number of its rows. Both are
// far beyond what can be read.
const (
	maxDepth = 100
	maxRows  = 100_000
)

// A ValuesError is returned for a values.yaml that has no README.
type ValuesError struct {
	Line   int // 1-based, or 0 if it is not known
	Reason string
}

func (e *ValuesError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", chart.FileValues, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", chart.FileValues, e.Line, e.Reason)
}

// readRows returns the values that the README lists.
func readRows(in Input) ([]row, error) {
	f := in.Chart.File(chart.FileValues)
	if f == nil {
		return nil, nil
	}
	text := bytes.ReplaceAll(bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	var doc yaml.Node
	if err := yaml.UnmarshalV3(text, &doc); err != nil {
		return nil, &ValuesError{Reason: yaml.Complaint(err)}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	r := &reader{paths: byPath(strings.Split(string(text), "\n"))}
	root := yaml.Target(doc.Content[0])
	prune(root, 0)
	switch {
	case root.Kind == yaml.MappingNode:
		if err := r.mapping(place{}, root, false, 0); err != nil {
			return nil, err
		}
	case root.Tag != "!!null":
		return nil, &ValuesError{root.Line, "the values are not a map"}
	}
	if !r.commented {
		r.describe(in.Chart, text)
	}
	return sorted(in, r.rows), nil
}

func sorted(in Input, rows []row) []row {
	if in.OnlyDescribed {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.Description == "" && r.AutoDescription == "" })
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if in.Order == ByLine {
			return cmp.Or(cmp.Compare(a.LineNumber, b.LineNumber), cmp.Compare(a.Column, b.Column))
		}
		return cmp.Compare(a.Key, b.Key)
	})
	return rows
}

// reader makes the rows of a values.yaml.
type reader struct {
	paths     map[string]comment
	rows      []row
	commented bool // a value has a comment
}

// mapping adds the rows of a map's values. If described is set, the map has a row, and so only
// values with a comment get one.
func (r *reader) mapping(in place, n *yaml.Node, described bool, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], yaml.Target(n.Content[i+1])
		at := place{joined(in.path, key.Value), key.HeadComment, key.Line, key.Column, nil}
		if in.keys != nil || depth == 0 {
			at.keys = append(slices.Clip(in.keys), key.Value)
		}
		if err := r.value(at, value, described, depth); err != nil {
			return err
		}
	}
	return nil
}

// list adds the rows of a list's items.
func (r *reader) list(in place, n *yaml.Node, described bool, depth int) error {
	for i, item := range n.Content {
		at := place{fmt.Sprintf("%s[%d]", in.path, i), item.HeadComment, item.Line, item.Column, nil}
		if err := r.value(at, yaml.Target(item), described, depth); err != nil {
			return err
		}
	}
	return nil
}

// place is where a value is.
type place struct {
	path, head   string
	line, column int
	keys         []string // the path; nil in a list
}

func (r *reader) value(at place, n *yaml.Node, described bool, depth int) error {
	switch {
	case depth > maxDepth:
		return &ValuesError{at.line, fmt.Sprintf("the values nest deeper than %d levels", maxDepth)}
	case len(r.rows) > maxRows:
		return &ValuesError{at.line, fmt.Sprintf("there are more than %d values", maxRows)}
	}
	named, hasName := r.paths[at.path]
	auto := above(at.head)
	has := hasName || auto != comment{}
	r.commented = r.commented || has
	branch := (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) > 0
	if has || !described && !branch {
		r.rows = append(r.rows, newRow(at, n, named, auto))
	}
	switch {
	case !branch:
		return nil
	case n.Kind == yaml.MappingNode:
		return r.mapping(at, n, described || has, depth+1)
	default:
		return r.list(at, n, described || has, depth+1)
	}
}

// joined appends a key to a path. A key with dots or blanks is quoted.
func joined(path, key string) string {
	if strings.ContainsAny(key, ". ") {
		key = `"` + key + `"`
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func newRow(at place, n *yaml.Node, named, auto comment) row {
	out := row{
		Key: at.path, LineNumber: at.line, Column: at.column, keys: at.keys,
		Description: named.text, AutoDescription: auto.text,
		Default: named.fallback, AutoDefault: auto.fallback,
		Section: cmp.Or(named.section, auto.section), NotationType: auto.notation,
		Type: cmp.Or(named.typ, auto.typ, auto.notation, typeOf(n)),
	}
	switch {
	case out.Default != "" || out.AutoDefault != "":
	case n.Tag == "!!null":
		out.Default = "`nil`"
	case auto.notation != "":
		out.Default = notated(auto.notation, n)
	default:
		out.Default = "`" + string(jsonOf(n)) + "`"
	}
	if n.Tag == "!!null" {
		out.Type = cmp.Or(named.typ, auto.typ, "string")
		out.Description = cmp.Or(out.Description, auto.text)
	}
	return out
}

func typeOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "object"
	case n.Kind == yaml.SequenceNode:
		return "list"
	case n.Tag == "!!int", n.Tag == "!!bool", n.Tag == "!!float":
		return strings.TrimPrefix(n.Tag, "!!")
	}
	return "string"
}

// notated returns a value in the notation of a comment: YAML is written as it is in the file,
// and of others only scalars are.
func notated(notation string, n *yaml.Node) string {
	switch {
	case notation == "yaml" && n.Tag != "!!bool" && n.Tag != "!!int" && n.Tag != "!!float":
		text, err := yaml.MarshalV3(n)
		if err != nil {
			return ""
		}
		return string(text)
	case n.Kind == yaml.ScalarNode:
		return n.Value
	}
	return ""
}

// jsonOf returns a value as JSON in one line.
func jsonOf(n *yaml.Node) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(valueOf(n, 0)) != nil {
		return []byte(n.Value)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// valueOf returns the value of a node. Scalars that JSON does not have, such as dates, are text.
func valueOf(n *yaml.Node, depth int) any {
	n = yaml.Target(n)
	if depth > maxDepth {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = valueOf(n.Content[i+1], depth+1)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = valueOf(item, depth+1)
		}
		return out
	}
	var v any
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		if n.Decode(&v) == nil {
			return v
		}
	}
	return n.Value
}

// prune removes the ignored values of a tree.
func prune(n *yaml.Node, depth int) {
	if depth > maxDepth {
		return
	}
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	kept := n.Content[:0]
	for i := 0; i+step <= len(n.Content); i += step {
		if strings.Contains(n.Content[i].HeadComment, ignored) {
			continue
		}
		kept = append(kept, n.Content[i:i+step]...)
		prune(n.Content[i+step-1], depth+1)
	}
	n.Content = kept
}
