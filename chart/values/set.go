// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Mode is the flag with which an expression was given.
type Mode int

// The modes, one for each flag.
const (
	Set        Mode = iota // --set: true, false, null and integers are typed, other values are strings
	SetString              // --set-string: values are strings
	SetJSON                // --set-json: values are JSON, or the expression is a JSON object
	SetFile                // --set-file: values are paths of files, whose contents are strings
	SetLiteral             // --set-literal: a single path; all text after its '=' is a string
)

// String returns the flag with its dashes: "--set-json".
func (m Mode) String() string {
	switch m {
	case SetString:
		return "--set-string"
	case SetJSON:
		return "--set-json"
	case SetFile:
		return "--set-file"
	case SetLiteral:
		return "--set-literal"
	}
	return "--set"
}

// Limits of an expression. They bound the memory for lists and the stack.
const (
	MaxIndex   = 65536 // the highest index of a list
	MaxNesting = 30    // the highest number of names and indexes after the first name
)

// A SetError is returned for an expression of a --set flag that cannot be parsed or
// applied.
type SetError struct {
	Mode    Mode
	Expr    string
	Problem string
	Err     error // the cause, or nil
}

func (e *SetError) Error() string {
	return fmt.Sprintf("failed parsing %s data: %s (in %q)", e.Mode, e.Problem, clip(e.Expr))
}

func (e *SetError) Unwrap() error { return e.Err }

// Apply applies an expression of a --set flag to dst. It modifies dst and the tables and
// lists in it. For [SetFile], it calls read for every file. Errors are of type
// [*SetError]; after one, a part of the expression may have been applied.
func Apply(dst map[string]any, mode Mode, expr string, read func(path string) ([]byte, error)) error {
	return (*Lists)(nil).Apply(dst, mode, expr, read)
}

// Apply is like the function [Apply]. In an expression, an item of a list that merges may be named by
// its keys: "ports[name=http].port=80".
func (l *Lists) Apply(dst map[string]any, mode Mode, expr string, read func(path string) ([]byte, error)) error {
	p := &setParser{in: expr, mode: mode, read: read, lists: l}
	err := p.run(dst)
	var known *SetError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &SetError{Mode: mode, Expr: expr, Problem: err.Error(), Err: errors.Unwrap(err)}
}

// setParser parses an expression from left to right and writes each value to the
// destination when it is complete.
type setParser struct {
	in    string
	pos   int
	mode  Mode
	read  func(path string) ([]byte, error)
	lists *Lists

	inList bool // the next table is an item of a list
}

// run parses the whole expression: assignments separated by commas, or a JSON object.
func (p *setParser) run(dst map[string]any) error {
	if p.mode == SetJSON {
		switch text := strings.TrimSpace(p.in); {
		case strings.HasPrefix(text, "{"):
			return p.object(dst)
		case strings.HasPrefix(text, "["):
			return errors.New("is a JSON list, must be key=JSON or one JSON object")
		}
	}
	for p.pos < len(p.in) {
		if err := p.table(dst, 0, p.lists); err != nil {
			return err
		}
	}
	return nil
}

// object merges an expression that is a JSON object into dst.
func (p *setParser) object(dst map[string]any) error {
	var obj map[string]any
	if err := json.Unmarshal([]byte(p.in), &obj); err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	if exact, ok := jsonTable([]byte(p.in)); ok {
		obj = exact
	}
	mergeInto(dst, obj, p.lists)
	return nil
}

// mergeInto merges over into dst in place.
func mergeInto(dst, over map[string]any, l *Lists) {
	for k, v := range over {
		if table, ok := v.(map[string]any); ok {
			if under, ok := dst[k].(map[string]any); ok {
				mergeInto(under, table, l.field(k))
				continue
			}
		}
		if list, ok := l.field(k).merge(dst[k], v, mergeTables); ok {
			dst[k] = list
			continue
		}
		dst[k] = replace(v, dst[k])
	}
}

// table parses "name=value", "name.…" or "name[…" and writes the value to dst.
//
// As in Helm, an empty name at the top sets no value, so a script's "--set $KEY=x" with an
// empty KEY is not an error. An empty name in a table that would stay empty ("a.=x") is an
// error, unless --set or --set-string gives it an empty value ("a.=") or the table is an item
// of a list.
func (p *setParser) table(dst map[string]any, depth int, l *Lists) error {
	if depth > MaxNesting {
		return errTooDeep
	}
	inList := p.inList
	p.inList = false
	name, stop := p.word(p.stops())
	var v any
	var err error
	switch stop {
	case '=':
		v, err = p.value()
		if name == "" && v == "" && (depth == 0 || p.mode == Set || p.mode == SetString) {
			return err
		}
	case '.':
		inner, ok := dst[name].(map[string]any)
		if !ok && dst[name] != nil {
			return fmt.Errorf("cannot set a key below %q, which is %s", name, kind(dst[name]))
		}
		if inner == nil {
			inner = map[string]any{}
		}
		if err = p.table(inner, depth+1, l.field(name)); err == nil && len(inner) == 0 {
			return nil
		}
		v = inner
	case '[':
		list, ok := dst[name].([]any)
		if !ok && dst[name] != nil {
			return fmt.Errorf("cannot set an index of %q, which is %s", name, kind(dst[name]))
		}
		v, err = p.item(list, depth+1, l.field(name).list())
	default:
		if name == "" && stop == 0 {
			return nil
		}
		return fmt.Errorf("key %q has no value", name)
	}
	switch {
	case err != nil:
		return err
	case name != "":
		dst[name] = v
	case depth > 0 && len(dst) == 0 && !inList:
		return errors.New("a key is empty")
	}
	return nil
}

var errTooDeep = fmt.Errorf("nests deeper than %d levels", MaxNesting)

// item parses an index and the assignment after it, and returns the list with the item set. r says
// how the list merges, or is nil.
func (p *setParser) item(list []any, depth int, r *listRule) ([]any, error) {
	if depth > MaxNesting {
		return nil, errTooDeep
	}
	i, key, list, err := p.index(list, r)
	if err != nil {
		return nil, err
	}
	extra, stop := p.word(".[=")
	if extra != "" {
		return nil, fmt.Errorf("%q follows an index, only '=', '.' or '[' may", extra)
	}
	if stop == 0 { // as in Helm, "a[0]" without a value only creates a missing list
		if list == nil {
			list = []any{}
		}
		return list, nil
	}
	for len(list) <= i {
		list = append(list, nil)
	}
	switch stop {
	case '=':
		if list[i], err = p.value(); err == nil && key != nil {
			list[i], err = r.wholeItem(key, list[i])
		}
	case '.':
		inner, ok := list[i].(map[string]any)
		if !ok {
			inner = map[string]any{}
		}
		p.inList = true
		err = p.table(inner, depth+1, r.itemLists())
		if err == nil && key != nil {
			err = r.checkKeys(key, inner)
		}
		list[i] = inner
	case '[':
		inner, ok := list[i].([]any)
		if !ok && list[i] != nil {
			return nil, fmt.Errorf("cannot set an index of [%d], which is %s", i, kind(list[i]))
		}
		list[i], err = p.item(inner, depth+1, nil)
	}
	return list, err
}

// index parses an index and its closing bracket: a number, or the keys of an item in a list that
// merges. It returns the list with that item, which it adds if it is not there, and its keys.
func (p *setParser) index(list []any, r *listRule) (i int, key map[string]any, with []any, err error) {
	text, stop := p.word("]")
	if stop != ']' {
		return 0, nil, nil, fmt.Errorf("the index [%s is not closed with ']'", text)
	}
	i, err = strconv.Atoi(text)
	switch {
	case err != nil && r != nil && r.keys != nil:
		return r.find(list, text)
	case err != nil && r != nil:
		return 0, nil, nil, fmt.Errorf("the index [%s] is not a whole number: the list is a set, whose items have no "+
			"keys; an item {value: VALUE, $patch: delete} in a file removes one", text)
	case err != nil && strings.Contains(text, "="):
		return 0, nil, nil, fmt.Errorf("the index [%s] is not a whole number, and the chart's schema does not say "+
			"by which keys the items merge (x-kubernetes-list-map-keys)", text)
	case err != nil:
		return 0, nil, nil, fmt.Errorf("the index [%s] is not a whole number", text)
	case i < 0:
		return 0, nil, nil, fmt.Errorf("the index [%s] is negative", text)
	case i > MaxIndex:
		return 0, nil, nil, fmt.Errorf("the index [%s] is higher than %d", text, MaxIndex)
	}
	return i, nil, list, nil
}

// value parses a value after '=' and the comma that ends it.
func (p *setParser) value() (any, error) {
	rest := p.in[p.pos:]
	switch {
	case p.mode == SetLiteral:
		p.pos = len(p.in)
		return rest, nil
	case p.mode == SetJSON:
		return p.jsonValue()
	case strings.HasPrefix(rest, "{"):
		p.pos++
		return p.list()
	}
	text, _ := p.word(",")
	if text == "" {
		return "", nil
	}
	return p.typed(text)
}

// list parses "{a,b}". As in Helm, "{}" is a list with an empty string.
func (p *setParser) list() (any, error) {
	out := []any{}
	for {
		text, stop := p.word(",}")
		if stop == 0 {
			return nil, errors.New("a list is not closed with '}'")
		}
		v, err := p.typed(text)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if stop == '}' {
			p.skipComma()
			return out, nil
		}
	}
}

// jsonValue parses a JSON value. A missing value is null.
func (p *setParser) jsonValue() (any, error) {
	rest := p.in[p.pos:]
	if rest == "" || rest[0] == ',' {
		p.skipComma()
		return nil, nil
	}
	dec := json.NewDecoder(strings.NewReader(rest))
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	if exact, ok := jsonValue(json.NewDecoder(strings.NewReader(rest))); ok {
		v = exact
	}
	p.pos += int(dec.InputOffset())
	p.pos += len(p.in[p.pos:]) - len(strings.TrimLeft(p.in[p.pos:], " \t\r\n"))
	p.skipComma()
	return v, nil
}

// skipComma skips a comma after a list or a JSON value. Any other character begins the next
// key.
func (p *setParser) skipComma() {
	if strings.HasPrefix(p.in[p.pos:], ",") {
		p.pos++
	}
}

// typed returns the value that text has in the parser's mode.
func (p *setParser) typed(text string) (any, error) {
	switch p.mode {
	case SetFile:
		data, err := p.read(text)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", text, err)
		}
		return string(data), nil
	case Set:
		switch {
		case strings.EqualFold(text, "true"):
			return true, nil
		case strings.EqualFold(text, "false"):
			return false, nil
		case strings.EqualFold(text, "null"):
			return nil, nil
		case text == "0":
			return int64(0), nil
		case strings.HasPrefix(text, "0"): // as in Helm, 007 is a string
			return text, nil
		}
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
	}
	return text, nil
}

// stops returns the characters that end a key.
func (p *setParser) stops() string {
	if p.mode == SetLiteral {
		return ".[="
	}
	return ".[=,"
}

// word parses text up to one of the characters in stops. It consumes and returns that
// character, or returns 0 at the end of the expression. A backslash escapes the next
// character, except in mode SetLiteral.
func (p *setParser) word(stops string) (string, byte) {
	var b strings.Builder
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		p.pos++
		switch {
		case c == '\\' && p.mode != SetLiteral:
			if p.pos < len(p.in) {
				b.WriteByte(p.in[p.pos])
				p.pos++
			}
		case strings.IndexByte(stops, c) >= 0:
			return b.String(), c
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), 0
}
