// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// A ParseError is returned for a file that values cannot be read from.
type ParseError struct {
	Name    string // the file, as the caller named it
	Line    int    // 1-based, 0 where no single line is to blame
	Problem string
	// Syntax is set where the file is not YAML.
	Syntax bool
}

// Error is in Helm's words as far as they go.
func (e *ParseError) Error() string {
	text := "failed to parse " + e.Name + ": "
	if e.Syntax {
		text += "error converting YAML to JSON: yaml: "
	}
	if e.Line > 0 {
		text += fmt.Sprintf("line %d: ", e.Line)
	}
	return text + e.Problem
}

// maxDepth bounds how deep maps and lists may nest in a values file; nothing
// that a person writes comes near it, and what walks values recursively stays
// far from the end of its stack.
const maxDepth = 1000

// maxDocuments bounds how many documents one file may hold.
const maxDocuments = 10_000

// Parse reads the values of one YAML or JSON file: maps are map[string]any,
// lists []any, scalars string, bool, float64 (every number) or nil, as
// templates know them from Helm; only where a float64 does not tell the whole
// truth, a number is a [Long] or a [Real]. YAML is read by the rules of version 1.1 that
// Helm charts are written for: yes, no, on and off are booleans, 0777 is octal,
// dates are strings, of two equal keys the last wins. Keys that are numbers or
// booleans become strings. Nothing but comments is an empty map.
//
// Of several documents each is laid over those before it. Lines end in a line
// feed, the last one too: "\r\n" is one, and where the last line has none it is
// read as if it had, which a block scalar at the end of the file can see.
//
// name stands for the file in errors, which are of type [*ParseError]. The
// result shares nothing with data.
func Parse(name string, data []byte) (map[string]any, error) {
	out := map[string]any{}
	rest, line := wholeLines(data), 0
	for n, first := 0, true; first || len(rest) > 0; n, first = n+1, false {
		if n == maxDocuments {
			return nil, &ParseError{Name: name, Line: line, Problem: fmt.Sprintf("it has more than %d documents", maxDocuments)}
		}
		doc, lines, next := cut(rest)
		layer, err := document(name, doc, line)
		if err != nil {
			return nil, err
		}
		if first {
			out = layer
		} else {
			mergeInto(out, layer)
		}
		rest, line = next, line+lines
	}
	return out, nil
}

// wholeLines ends every line of data in a line feed, as Helm's reader of
// documents does before the YAML parser sees them. It does not change data.
func wholeLines(data []byte) []byte {
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		data = append(data[:n:n], '\n')
	}
	return data
}

// cut takes the first document off a stream: what precedes a line that
// begins with "---". It also tells how many lines that were. What follows the
// dashes on their line belongs to the next document.
func cut(data []byte) (doc []byte, lines int, rest []byte) {
	directives := bytes.HasPrefix(data, []byte("%"))
	for at := 0; ; {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return data, lines, nil
		}
		at += end + 1
		lines++
		if !bytes.HasPrefix(data[at:], []byte("---")) {
			continue
		}
		if !directives {
			return data[:at], lines, data[at:]
		}
		directives = false
	}
}

// document reads one YAML document that begins behind so many lines of its
// file.
func document(name string, data []byte, line int) (map[string]any, error) {
	if v, ok := yaml.Quick(string(data), number); ok {
		return top(name, v, line)
	}
	return slowDocument(name, data, line)
}

// slowDocument reads a document with the real YAML parser.
func slowDocument(name string, data []byte, line int) (map[string]any, error) {
	var doc any
	if err := yaml.UnmarshalV2(data, &doc); err != nil {
		if table, ok := jsonTable(data); ok { // JSON knows escapes that YAML does not
			return table, nil
		}
		return nil, syntaxError(name, line, err)
	}
	v, err := plain(doc, 0)
	if err != nil {
		return nil, &ParseError{Name: name, Problem: err.Error()}
	}
	return top(name, v, line)
}

// top is a document that is a table, as it must be, or empty.
func top(name string, v any, line int) (map[string]any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	}
	return nil, &ParseError{Name: name, Line: line + 1,
		Problem: fmt.Sprintf("holds %s, must hold keys and values (key: value)", kind(v))}
}

// syntaxError turns the YAML reader's error into ours. The reader counts lines
// from one but leaves out the first, and knows no line of what is wrong behind
// the syntax.
func syntaxError(name string, offset int, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	if line, problem, ok := yaml.CutLine(text); ok {
		return &ParseError{Name: name, Line: offset + line, Problem: problem, Syntax: true}
	}
	line := 0
	for _, s := range []string{"in this context", "any token", "did not find", "could not find", "found "} {
		if strings.Contains(text, s) {
			line = offset + 1
		}
	}
	return &ParseError{Name: name, Line: line, Problem: text, Syntax: true}
}

// pathError is a problem with the value at a path.
type pathError struct {
	path    string
	problem string
}

func (e *pathError) Error() string {
	if e.path == "" {
		return e.problem
	}
	return clip(e.path) + ": " + e.problem
}

// below puts a step in front of a problem's path.
func below(step string, err error) error {
	e, ok := err.(*pathError)
	switch {
	case !ok:
		return err
	case e.path == "" || e.path[0] == '[':
		return &pathError{step + e.path, e.problem}
	case len(e.path) > 200: // deep nesting, no one reads on
		return err
	}
	return &pathError{step + "." + e.path, e.problem}
}

// plain turns what the YAML reader makes of a document into the types of
// values.
func plain(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &pathError{problem: fmt.Sprintf("nests deeper than %d levels", maxDepth)}
	}
	switch v := v.(type) {
	case map[any]any:
		return plainTable(v, depth)
	case []any:
		for i, e := range v {
			p, err := plain(e, depth+1)
			if err != nil {
				return nil, below("["+strconv.Itoa(i)+"]", err)
			}
			v[i] = p
		}
		return v, nil
	case int:
		return wholeNumber(int64(v)), nil
	case int64:
		return wholeNumber(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &pathError{problem: fmt.Sprintf("is %v, values can only hold finite numbers", v)}
		}
		return floatNumber(v), nil
	case string:
		if !utf8.ValidString(v) { // from a !!binary
			return string([]rune(v)), nil
		}
		return v, nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	default:
		return v, nil
	}
}

func plainTable(v map[any]any, depth int) (any, error) {
	out, err := yaml.TextKeys(v, func(key string, v any) (any, error) {
		p, err := plain(v, depth+1)
		if err != nil {
			return nil, below(key, err)
		}
		return p, nil
	})
	if key, ok := errors.AsType[*yaml.KeyError](err); ok {
		return nil, &pathError{problem: fmt.Sprintf("the key %v is %s, must be text, a number or a boolean", key.Key,
			kind(key.Key))}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// kind names the kind of a value for a person.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any, map[any]any:
		return "a table"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case int, int64, uint64, float64, Long, Real:
		return "a number"
	}
	return fmt.Sprintf("a %T", v)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// clip shortens a path that would make an error unreadable.
func clip(path string) string {
	const most = 120
	if len(path) <= most {
		return path
	}
	return strings.ToValidUTF8(path[:most], "") + "…"
}
