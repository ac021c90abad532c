// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/moonhelm/moonhelm/internal/yaml"

// quick reads a piece of YAML in block style onto a tape: the plain subset that
// indexes are written in nearly always. What it takes, the full parser would
// read the same; what it does not take may be valid or not.
type quick struct {
	*tape
	yaml.Reader
	depth int
}

// quickly appends the document text to t. Where ok is false t is as it was.
func quickly(t *tape, text string) (ok bool) {
	before := len(*t)
	q := quick{tape: t, Reader: yaml.Reader{Text: text}}
	if !yaml.Simple(text) {
		return false
	}
	q.Next()
	if !q.End {
		q.block(q.Indent)
	}
	if q.Bad || !q.End || len(*t) == before {
		*t = (*t)[:before]
		return false
	}
	return true
}

// block reads the table or list that begins here.
func (q *quick) block(indent int) {
	if q.depth++; q.depth > yaml.MaxDepth {
		q.Fail()
		return
	}
	if q.AtItem() {
		q.list(indent)
	} else {
		q.table(indent)
	}
	q.depth--
}

func (q *quick) table(indent int) {
	i := q.open(table, 0)
	for q.Indent == indent && !q.End {
		key, _, ok := q.Key()
		if !ok {
			q.Fail()
			return
		}
		q.tape.scalar(key, false, 0)
		q.value(indent, true)
	}
	q.tape.close(i)
	if q.Bad || q.Indent > indent || q.duplicate(i) >= 0 {
		q.Fail()
	}
}

func (q *quick) list(indent int) {
	i := q.open(list, 0)
	for q.Indent == indent && !q.End && q.AtItem() {
		q.At++
		start := q.At
		q.Spaces()
		if q.At < len(q.Text) && q.Text[q.At] != '\n' && (q.AtItem() || q.KeyAhead()) {
			q.Indent = indent + 1 + q.At - start
			q.block(q.Indent)
		} else {
			q.value(indent, false)
		}
	}
	q.tape.close(i)
	if q.Indent > indent {
		q.Fail()
	}
}

// value reads what follows a key's colon or an item's dash; indent is that of
// the collection. A list may stand right below its key.
func (q *quick) value(indent int, ofKey bool) {
	if q.Spaces(); q.AtValue() {
		q.scalar(indent)
		return
	}
	q.EndLine()
	switch {
	case q.Bad:
	case q.Indent > indent && !q.AtItem() && !q.KeyAhead():
		q.scalar(indent)
	case q.Indent > indent, ofKey && q.Indent == indent && !q.End && q.AtItem():
		q.block(q.Indent)
	default:
		q.tape.scalar("", true, 0)
	}
}

// scalar reads a scalar or a collection in brackets that begins here; indent is
// that of the collection around it.
func (q *quick) scalar(indent int) {
	switch q.Text[q.At] {
	case '|', '>':
		if s := q.Block(indent, true); !q.Bad {
			q.tape.scalar(s, false, 0)
		}
		return
	case '"', '\'':
		s, ok := q.Quoted()
		if !ok {
			q.Fail()
			return
		}
		q.tape.scalar(s, false, 0)
	case '[', '{':
		q.flow()
	default:
		if s := q.Plain(indent, true); !q.Bad {
			q.tape.scalar(s, true, 0)
		}
		return
	}
	if !q.Bad {
		q.EndLine()
	}
	if q.Indent > indent { // the scalar goes on in the next line, or so it seems
		q.Fail()
	}
}

// flow reads a collection in brackets that ends in its line.
func (q *quick) flow() {
	if q.depth++; q.depth > yaml.MaxDepth {
		q.Fail()
		return
	}
	open, kind, end := q.Text[q.At], list, byte(']')
	if open == '{' {
		kind, end = table, '}'
	}
	q.At++
	i := q.open(kind, 0)
	for first := true; !q.Bad; first = false {
		q.Spaces()
		if first && q.Is(end) {
			break
		}
		if kind == table {
			key, _, ok := q.FlowKey()
			if !ok {
				q.Fail()
				return
			}
			q.tape.scalar(key, false, 0)
		}
		q.flowValue()
		q.Spaces()
		if q.Is(end) {
			break
		}
		if !q.Is(',') {
			q.Fail()
			return
		}
		q.At++
	}
	q.At++
	q.tape.close(i)
	if !q.Bad && kind == table && q.duplicate(i) >= 0 {
		q.Fail()
	}
	q.depth--
}

func (q *quick) flowValue() {
	q.Spaces()
	if q.At == len(q.Text) {
		q.Fail()
		return
	}
	switch q.Text[q.At] {
	case '[', '{':
		q.flow()
	case '"', '\'':
		s, ok := q.Quoted()
		if !ok {
			q.Fail()
			return
		}
		q.tape.scalar(s, false, 0)
	default:
		s := q.FlowWord()
		if s == "" || q.Is(':') {
			q.Fail()
			return
		}
		q.tape.scalar(s, true, 0)
	}
}
