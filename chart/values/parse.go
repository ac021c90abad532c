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

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// A ParseError is returned for a values file that is not valid.
type ParseError struct {
	Name    string // the file name that the caller passed
	Line    int    // 1-based, or 0 if the error is not about a single line
	Problem string
	// Syntax is set if the file is not YAML.
	Syntax bool
}

// Error returns a message that begins like Helm's.
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

// maxDepth limits the nesting of maps and lists in a values file, so that recursion over
// values does not exhaust the stack.
const maxDepth = 1000

// maxDocuments limits the number of documents in a file.
const maxDocuments = 10_000

// Parse parses a YAML or JSON values file. A map becomes a map[string]any, a list a []any,
// and a scalar a string, bool, float64 or nil, as in Helm's templates, except that a number
// for which a float64 does not suffice becomes a [Long] or a [Real].
//
// As in Helm, YAML is that of version 1.1: yes, no, on and off are booleans, 0777 is octal,
// dates are strings, and the last of duplicate keys wins. Keys that are numbers or booleans
// become strings. A file that is empty or has only comments is an empty map.
//
// If a file has several documents, Parse merges each into those before it. It treats
// "\r\n" as a line feed and adds a missing line feed at the end of the file, which matters
// for a block scalar there.
//
// Errors are of type [*ParseError], with name as the file name. The result does not refer
// to data.
func Parse(name string, data []byte) (map[string]any, error) {
	out := map[string]any{}
	rest, line := wholeLines(data), 0
	for n, first := 0, true; first || len(rest) > 0; n, first = n+1, false {
		if n == maxDocuments {
			return nil, &ParseError{Name: name, Line: line,
				Problem: fmt.Sprintf("it has more than %d documents", maxDocuments)}
		}
		doc, lines, next := cut(rest)
		layer, err := document(name, doc, line)
		if err != nil {
			return nil, err
		}
		if first {
			out = layer
		} else {
			mergeInto(out, layer, nil)
		}
		rest, line = next, line+lines
	}
	return out, nil
}

// wholeLines returns data with every line ended by a line feed, like Helm, which does so
// before it parses YAML. It does not modify data.
func wholeLines(data []byte) []byte {
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		data = append(data[:n:n], '\n')
	}
	return data
}

// cut returns the first document of data, which ends before a line that begins with "---",
// its number of lines, and the rest of data.
func cut(data []byte) (doc []byte, lines int, rest []byte) {
	directives := bytes.HasPrefix(data, []byte("%"))
	for pos := 0; ; {
		end := bytes.IndexByte(data[pos:], '\n')
		if end < 0 {
			return data, lines, nil
		}
		pos += end + 1
		lines++
		if !bytes.HasPrefix(data[pos:], []byte("---")) {
			continue
		}
		if !directives {
			return data[:pos], lines, data[pos:]
		}
		directives = false
	}
}

// document parses a YAML document that begins after the given number of lines of its file.
func document(name string, data []byte, line int) (map[string]any, error) {
	if v, ok := yaml.Quick(string(data), number); ok {
		return top(name, v, line)
	}
	return slowDocument(name, data, line)
}

// slowDocument parses a document with the complete YAML parser.
func slowDocument(name string, data []byte, line int) (map[string]any, error) {
	var doc any
	if err := yaml.UnmarshalV2(data, &doc); err != nil {
		if table, ok := jsonTable(data); ok { // JSON has escapes that YAML does not have
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

// top returns a document's value as a table, or an error if it is neither a table nor null.
func top(name string, v any, line int) (map[string]any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	}
	return nil, &ParseError{Name: name, Line: line + 1,
		Problem: fmt.Sprintf("is %s, must be keys and values (key: value)", kind(v))}
}

// syntaxError converts an error of the YAML parser, whose document begins after offset
// lines of its file. The parser does not name line 1, and it has no lines for errors other
// than syntax errors.
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

// pathError is an error about the value at a path.
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

// below prepends a step to the path of an error.
func below(step string, err error) error {
	e, ok := err.(*pathError)
	switch {
	case !ok:
		return err
	case e.path == "" || e.path[0] == '[':
		return &pathError{step + e.path, e.problem}
	case len(e.path) > 200: // long enough
		return err
	}
	return &pathError{step + "." + e.path, e.problem}
}

// plain converts the result of the YAML parser into the types of values.
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
			return nil, &pathError{problem: fmt.Sprintf("is %v, must be a finite number", v)}
		}
		return floatNumber(v), nil
	case string:
		if !utf8.ValidString(v) { // a !!binary
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
		return nil, &pathError{problem: fmt.Sprintf("the key %v is %s, must be a string, a number or a boolean", key.Key,
			kind(key.Key))}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// kind returns the kind of v for messages: "a list".
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any, map[any]any:
		return "a table"
	case []any:
		return "a list"
	case string:
		return "a string"
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

// clip shortens a path for an error message.
func clip(path string) string {
	return truncate.Bytes(path, 120, "…")
}
