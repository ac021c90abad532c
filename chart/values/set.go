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

// Mode is the flag that an expression was given with.
type Mode int

// The modes, by their flags.
const (
	Set        Mode = iota // --set: true, false, null and whole numbers are typed, all else is text
	SetString              // --set-string: everything is text
	SetJSON                // --set-json: values are JSON, or the expression is one JSON object
	SetFile                // --set-file: values are paths of files, read as text
	SetLiteral             // --set-literal: one path, everything behind its '=' is text
)

// String is the flag's name, with its dashes.
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

// Limits of an expression, against those that would take all memory or the
// whole stack.
const (
	MaxIndex   = 65536 // the highest index of a list
	MaxNesting = 30    // how many names and indexes a path may hold
)

// A SetError is returned for an expression of a --set flag that cannot be parsed or
// applied.
type SetError struct {
	Mode    Mode
	Expr    string
	Problem string
	Err     error // the cause, nil where Problem says it all
}

func (e *SetError) Error() string {
	return fmt.Sprintf("failed parsing %s data: %s (in %q)", e.Mode, e.Problem, clip(e.Expr))
}

func (e *SetError) Unwrap() error { return e.Err }

// Apply puts one expression of a --set flag into dst, which it changes, lists
// and tables within dst included. read is asked for the files that --set-file
// names; other modes do not use it. After an error, of type [*SetError], dst
// may hold a part of the expression.
func Apply(dst map[string]any, mode Mode, expr string, read func(path string) ([]byte, error)) error {
	p := &setParser{in: expr, mode: mode, read: read}
	err := p.run(dst)
	var known *SetError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &SetError{Mode: mode, Expr: expr, Problem: err.Error(), Err: errors.Unwrap(err)}
}

// setParser walks one expression from left to right and writes as it goes.
type setParser struct {
	in   string
	pos  int
	mode Mode
	read func(path string) ([]byte, error)

	inList bool // the table that is read next is an item of a list
}

// run reads the whole expression: assignments between commas, or one of the
// forms that are not.
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
		if err := p.table(dst, 0); err != nil {
			return err
		}
	}
	return nil
}

// object merges an expression that is one JSON object.
func (p *setParser) object(dst map[string]any) error {
	var obj map[string]any
	if err := json.Unmarshal([]byte(p.in), &obj); err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	if exact, ok := jsonTable([]byte(p.in)); ok {
		obj = exact
	}
	mergeInto(dst, obj)
	return nil
}

// mergeInto merges over into dst in place.
func mergeInto(dst, over map[string]any) {
	for k, v := range over {
		if table, ok := v.(map[string]any); ok {
			if under, ok := dst[k].(map[string]any); ok {
				mergeInto(under, table)
				continue
			}
		}
		dst[k] = v
	}
}

// table reads "name=value", "name.…" or "name[…" and writes it into dst.
// Helm writes nothing for a name that is empty, so a script's "--set $KEY=x"
// with an empty KEY has to pass; further down an empty name is a mistake where the
// table would stay empty, except where --set and --set-string give it an empty value.
func (p *setParser) table(dst map[string]any, depth int) error {
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
		if err = p.table(inner, depth+1); err == nil && len(inner) == 0 {
			return nil
		}
		v = inner
	case '[':
		list, ok := dst[name].([]any)
		if !ok && dst[name] != nil {
			return fmt.Errorf("cannot set an index of %q, which is %s", name, kind(dst[name]))
		}
		v, err = p.item(list, depth+1)
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

var errTooDeep = errors.New("nests deeper than 30 levels")

// item reads an index and what follows it, and returns the list with that
// written into it.
func (p *setParser) item(list []any, depth int) ([]any, error) {
	if depth > MaxNesting {
		return nil, errTooDeep
	}
	i, err := p.index()
	if err != nil {
		return nil, err
	}
	junk, stop := p.word(".[=")
	if junk != "" {
		return nil, fmt.Errorf("%q follows an index, only '=', '.' or '[' may", junk)
	}
	if stop == 0 { // "a[0]" leaves the list as it is, and an empty one where there was none
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
		list[i], err = p.value()
	case '.':
		inner, ok := list[i].(map[string]any)
		if !ok {
			inner = map[string]any{}
		}
		p.inList = true
		err = p.table(inner, depth+1)
		list[i] = inner
	case '[':
		inner, ok := list[i].([]any)
		if !ok && list[i] != nil {
			return nil, fmt.Errorf("cannot set an index of [%d], which is %s", i, kind(list[i]))
		}
		list[i], err = p.item(inner, depth+1)
	}
	return list, err
}

// index reads the number of an index and its closing bracket.
func (p *setParser) index() (int, error) {
	text, stop := p.word("]")
	if stop != ']' {
		return 0, fmt.Errorf("the index [%s is not closed with ']'", text)
	}
	i, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the index [%s] is not a whole number", text)
	case i < 0:
		return 0, fmt.Errorf("the index [%s] is negative", text)
	case i > MaxIndex:
		return 0, fmt.Errorf("the index [%s] is higher than %d", text, MaxIndex)
	}
	return i, nil
}

// value reads what follows '=', up to and with the comma that ends it.
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

// list reads the values of "{a,b}". "{}" holds one empty text, as Helm has it.
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

// jsonValue reads one JSON value, null where there is none.
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

// skipComma steps over the comma behind a list or a JSON value. What else
// is there begins the next key.
func (p *setParser) skipComma() {
	if strings.HasPrefix(p.in[p.pos:], ",") {
		p.pos++
	}
}

// typed turns the text of a value into what the mode makes of it.
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
		case strings.HasPrefix(text, "0"): // 007 is not a number but a name
			return text, nil
		}
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
	}
	return text, nil
}

// stops are the characters that end a key.
func (p *setParser) stops() string {
	if p.mode == SetLiteral {
		return ".[="
	}
	return ".[=,"
}

// word reads up to one of the stops, which it consumes and returns; 0 is the
// end of the expression. A backslash takes the meaning from what follows it,
// but in literal expressions it is a character like any other.
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
