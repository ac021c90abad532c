// SPDX-License-Identifier: Apache-2.0

package yamlpath

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// filter is the condition of a filter.
type filter interface {
	matches(s *search, item any) bool
}

type (
	anyOf  []filter
	allOf  []filter
	negate struct{ filter }
	// exists is true if the path selects something.
	exists struct{ term }
	// compare is true if all pairs of values of its terms compare so. Without values it is false.
	compare struct {
		left, right term
		op          string
	}
	match struct {
		left    term
		pattern *regexp.Regexp
	}
)

func (f anyOf) matches(s *search, item any) bool {
	for _, inner := range f {
		if inner.matches(s, item) {
			return true
		}
	}
	return false
}

func (f allOf) matches(s *search, item any) bool {
	for _, inner := range f {
		if !inner.matches(s, item) {
			return false
		}
	}
	return true
}

func (f negate) matches(s *search, item any) bool { return !f.filter.matches(s, item) }
func (f exists) matches(s *search, item any) bool { return len(f.values(s, item)) > 0 }

func (f compare) matches(s *search, item any) bool {
	left, right := f.left.values(s, item), f.right.values(s, item)
	for _, l := range left {
		for _, r := range right {
			s.count()
			if !compares(l, r, f.op) {
				return false
			}
		}
	}
	return len(left) > 0 && len(right) > 0
}

func (f match) matches(s *search, item any) bool {
	left := f.left.values(s, item)
	for _, l := range left {
		if text, ok := l.(string); !ok || !f.pattern.MatchString(text) {
			return false
		}
	}
	return len(left) > 0
}

// term is a path or a literal.
type term struct {
	path    []step
	isPath  bool
	rooted  bool // the path begins with $
	literal any
}

func (t term) values(s *search, item any) []any {
	switch {
	case !t.isPath:
		return []any{t.literal}
	case t.rooted:
		return s.run(t.path, s.root)
	}
	return s.run(t.path, item)
}

func compares(a, b any, op string) bool {
	x, xIsNumber := number(a)
	y, yIsNumber := number(b)
	switch op {
	case "==", "!=":
		same := reflect.DeepEqual(a, b)
		if xIsNumber && yIsNumber {
			same = x == y
		}
		return same == (op == "==")
	}
	if !xIsNumber || !yIsNumber {
		return false
	}
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func (p *parser) or() filter {
	if p.depth++; p.depth > maxDepth {
		p.fail("the filter is nested too deep")
	}
	defer func() { p.depth-- }()
	list := anyOf{p.and()}
	for p.operator("||") {
		list = append(list, p.and())
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (p *parser) and() filter {
	list := allOf{p.basic()}
	for p.operator("&&") {
		list = append(list, p.basic())
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// operator skips spaces and op.
func (p *parser) operator(op string) bool {
	p.spaces()
	return p.next(op)
}

func (p *parser) basic() filter {
	if p.depth++; p.depth > maxDepth {
		p.fail("the filter is nested too deep")
	}
	defer func() { p.depth-- }()
	p.spaces()
	switch {
	case p.next("!"):
		return negate{p.basic()}
	case p.next("("):
		f := p.or()
		if !p.operator(")") {
			p.fail("invalid filter expression")
		}
		return f
	}
	left := p.term()
	for _, op := range []string{"=~", "==", "!=", "<=", ">=", "<", ">"} {
		if !p.operator(op) {
			continue
		}
		if op == "=~" {
			return match{left, p.regex()}
		}
		right := p.term()
		if strings.ContainsAny(op, "<>") && (isText(left) || isText(right)) {
			p.fail("strings cannot be compared using " + op)
		}
		return compare{left, right, op}
	}
	if !left.isPath {
		p.fail("invalid filter expression")
	}
	return exists{left}
}

func isText(t term) bool {
	_, ok := t.literal.(string)
	return ok
}

func (p *parser) term() term {
	p.spaces()
	if p.pos >= len(p.text) {
		p.fail("missing filter term")
	}
	switch c := p.text[p.pos]; c {
	case '@', '$':
		p.pos++
		return term{isPath: true, rooted: c == '$', path: p.steps(false)}
	case '\'', '"':
		return term{literal: p.quoted()}
	}
	from := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune(" \t\n)]&|=!<>", rune(p.text[p.pos])) {
		p.pos++
	}
	switch word := p.text[from:p.pos]; word {
	case "true", "false":
		return term{literal: word == "true"}
	case "null":
		return term{}
	default:
		if n, err := strconv.Atoi(word); err == nil {
			return term{literal: n}
		}
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			p.fail("invalid filter term")
		}
		return term{literal: n}
	}
}

// regex parses a regular expression between slashes.
func (p *parser) regex() *regexp.Regexp {
	p.spaces()
	if !p.next("/") {
		p.fail("a regular expression begins with /")
	}
	var b strings.Builder
	for ; p.pos < len(p.text) && p.text[p.pos] != '/'; p.pos++ {
		if strings.HasPrefix(p.text[p.pos:], `\/`) {
			p.pos++
		}
		b.WriteByte(p.text[p.pos])
	}
	if !p.next("/") {
		p.fail("a regular expression ends with /")
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		p.fail(err.Error())
	}
	return re
}
