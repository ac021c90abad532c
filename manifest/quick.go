// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/moonhelm/moonhelm/internal/yaml"

// Quick decodes one document of the subset of YAML that charts nearly always use: block
// maps and lists, scalars on one line, literal blocks, flow collections on one line. ok is
// false where text holds anything else, valid or not: then a full YAML parser has to read
// it. Where ok is true, a full parser would return the same.
//
// number, if not nil, makes the value of each number: of whole, where it is written without
// point and exponent, or else of float, which is finite. nil makes them int64 and float64.
func Quick(text string, number func(isWhole bool, whole int64, float float64) any) (v any, ok bool) {
	return quickDocument(text, number, nil)
}

// quickDecode is Quick for one document. With headOnly only what [Object]
// needs is built, but everything is checked.
func quickDecode(raw string, headOnly bool) (v any, ok bool) {
	if headOnly {
		return quickDocument(raw, nil, isHead)
	}
	return quickDocument(raw, nil, nil)
}

func isHead(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

func quickDocument(text string, number func(bool, int64, float64) any, wanted func(key string) bool) (any, bool) {
	if !yaml.Simple(text) {
		return nil, false
	}
	q := quick{Reader: yaml.Reader{Text: text}, number: number}
	q.Next()
	if q.End {
		return nil, !q.Bad
	}
	var v any
	if wanted != nil && !q.AtItem() {
		v = q.mapping(q.Indent, true, wanted)
	} else {
		v = q.block(q.Indent, true)
	}
	if q.Bad || !q.End {
		return nil, false
	}
	return v, true
}

// quick makes values of what its reader finds.
type quick struct {
	yaml.Reader
	number func(isWhole bool, whole int64, float float64) any
	depth  int
	odd    bool // the last key is a number or boolean made text
}

func (q *quick) fail() any {
	q.Fail()
	return nil
}

// block reads the map or list that begins here.
func (q *quick) block(indent int, build bool) any {
	if q.depth++; q.depth > yaml.MaxDepth {
		return q.fail()
	}
	defer func() { q.depth-- }()
	if q.AtItem() {
		return q.list(indent, build)
	}
	return q.mapping(indent, build, nil)
}

func (q *quick) mapping(indent int, build bool, wanted func(string) bool) any {
	var m map[string]any
	if build {
		m = make(map[string]any, 4)
	}
	odd := false
	for !q.Bad && q.Indent == indent && !q.End {
		key, ok := q.key(q.Key())
		odd = odd || q.odd
		if !ok || odd && has(m, key) {
			return q.fail()
		}
		keep := build && (wanted == nil || wanted(key))
		v := q.value(indent, keep, true)
		if keep {
			m[key] = v
		}
	}
	if q.Indent > indent {
		return q.fail()
	}
	return m
}

func (q *quick) list(indent int, build bool) any {
	list := []any{}
	for !q.Bad && q.Indent == indent && !q.End && q.AtItem() {
		q.At++
		start := q.At
		q.Spaces()
		var v any
		if q.At < len(q.Text) && q.Text[q.At] != '\n' && (q.AtItem() || q.KeyAhead()) {
			q.Indent = indent + 1 + q.At - start
			v = q.block(q.Indent, build)
		} else {
			v = q.value(indent, build, false)
		}
		if build {
			list = append(list, v)
		}
	}
	if q.Indent > indent {
		return q.fail()
	}
	return list
}

// value reads what follows a key's colon or an item's dash; indent is that of
// the collection. A list may stand right below its key.
func (q *quick) value(indent int, build, ofKey bool) any {
	if q.Spaces(); q.AtValue() {
		return q.scalar(indent, build)
	}
	q.EndLine()
	switch {
	case q.Bad || q.End:
		return nil
	case q.Indent > indent && !q.AtItem() && !q.KeyAhead():
		return q.scalar(indent, build)
	case q.Indent > indent, ofKey && q.Indent == indent && q.AtItem():
		return q.block(q.Indent, build)
	}
	return nil
}

// scalar reads a scalar or a collection in brackets that begins here; indent is
// that of the collection around it.
func (q *quick) scalar(indent int, build bool) any {
	var v any
	switch q.Text[q.At] {
	case '|', '>':
		s := q.Block(indent, build)
		if !build || q.Bad {
			return nil
		}
		return s
	case '"', '\'':
		s, ok := q.Quoted()
		if !ok {
			return q.fail()
		}
		v = s
	case '[', '{':
		v = q.flow(build)
	default:
		s := q.Plain(indent, build)
		switch {
		case q.Bad:
			return nil
		case build:
			return q.resolve(s)
		case notFinite(s):
			return q.fail()
		}
		return nil
	}
	if q.Bad {
		return nil
	}
	q.EndLine()
	if q.Indent > indent { // the scalar goes on in the next line, or so it seems
		return q.fail()
	}
	return v
}

// flow reads a collection in brackets that ends in its line.
func (q *quick) flow(build bool) any {
	if q.depth++; q.depth > yaml.MaxDepth {
		return q.fail()
	}
	defer func() { q.depth-- }()
	open := q.Text[q.At]
	q.At++
	list, closing := []any{}, byte(']')
	var m map[string]any
	if open == '{' {
		m, closing = map[string]any{}, '}'
	}
	odd := false
	for first := true; ; first = false {
		q.Spaces()
		if first && q.Is(closing) {
			break
		}
		if open == '{' {
			key, ok := q.key(q.FlowKey())
			odd = odd || q.odd
			if !ok || odd && has(m, key) {
				return q.fail()
			}
			m[key] = q.flowValue(build)
		} else {
			list = append(list, q.flowValue(build))
		}
		if q.Bad {
			return nil
		}
		q.Spaces()
		if q.Is(closing) {
			break
		}
		if !q.Is(',') {
			return q.fail()
		}
		q.At++
	}
	q.At++
	if open == '{' {
		return m
	}
	return list
}

func has(m map[string]any, key string) bool {
	_, there := m[key]
	return there
}

func (q *quick) flowValue(build bool) any {
	q.Spaces()
	if q.At == len(q.Text) {
		return q.fail()
	}
	switch q.Text[q.At] {
	case '[', '{':
		return q.flow(build)
	case '"', '\'':
		s, ok := q.Quoted()
		if !ok {
			return q.fail()
		}
		return s
	}
	s := q.FlowWord()
	if s == "" || q.Is(':') {
		return q.fail()
	}
	return q.resolve(s)
}
