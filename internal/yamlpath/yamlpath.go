// SPDX-License-Identifier: Apache-2.0

// Package yamlpath evaluates the paths of helm-unittest's suites, a dialect of JSONPath, on values
// as decoded from YAML. It accepts untrusted paths.
//
//	p, err := yamlpath.Parse(`spec.containers[?(@.name == "web")].image`)
//	found, err := p.Find(object)
//
// A path is a sequence of steps: .name, ['name', "other"], .*, [0], [-1], [1:3], [0,2], [*], ..name
// and [?(filter)]. The first name needs no dot, and "" and "$" are the whole value. A last ~ selects
// the names of properties instead of their values. Filters compare paths that begin with @ or $, and
// literals, with ==, !=, <, <=, >, >= and =~, and combine them with &&, ||, ! and parentheses.
package yamlpath

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Limits of a path, so that one in an untrusted suite does not take long.
const (
	maxLength = 4 << 10
	maxDepth  = 50
	maxFound  = 100_000
)

// ErrTooMany is returned if a path selects too many values.
var ErrTooMany = errors.New("the path selects more than 100000 values")

// A SyntaxError is returned for a path that cannot be parsed.
type SyntaxError struct {
	Path    string
	Pos     int // the offset in bytes
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at position %d, following %q", e.Problem, e.Pos, e.Path[:e.Pos])
}

// Hint says how to write a key with special characters.
func (e *SyntaxError) Hint() string {
	return `a key with dots or slashes is written in brackets: metadata.annotations["example.com/name"]`
}

// Path is a parsed path. It is safe for concurrent use.
type Path struct{ steps []step }

// Keys returns the names and indexes of the first steps of p, as far as each selects one value.
func (p *Path) Keys() []string {
	var out []string
	for _, st := range p.steps {
		switch st := st.(type) {
		case children:
			if len(st) != 1 {
				return out
			}
			out = append(out, st[0])
		case indexes:
			if len(st) != 1 || st[0].isRange || st[0].from < 0 {
				return out
			}
			out = append(out, strconv.Itoa(st[0].from))
		default:
			return out
		}
	}
	return out
}

// step selects values below v and passes them to yield.
type step interface {
	find(s *search, v any, yield func(any))
}

// search is a run of a path.
type search struct {
	root  any
	found int
}

// tooMany is the panic value of a search that has found too many values.
type tooMany struct{}

func (s *search) count() {
	if s.found++; s.found > maxFound {
		panic(tooMany{})
	}
}

// Find returns the values that p selects in v. Maps are walked in the order of their keys. The error
// is [ErrTooMany].
func (p *Path) Find(v any) (found []any, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(tooMany); !ok {
				panic(r)
			}
			found, err = nil, ErrTooMany
		}
	}()
	s := &search{root: v}
	return s.run(p.steps, v), nil
}

func (s *search) run(steps []step, v any) []any {
	current := []any{v}
	for _, st := range steps {
		var next []any
		for _, c := range current {
			st.find(s, c, func(v any) {
				s.count()
				next = append(next, v)
			})
		}
		current = next
	}
	return current
}

// children selects the values of names, in their order.
type children []string

func (c children) find(_ *search, v any, yield func(any)) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, name := range c {
		if v, ok := m[name]; ok {
			yield(v)
		}
	}
}

// names selects the names themselves, of those that exist.
type names []string

func (n names) find(_ *search, v any, yield func(any)) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if len(n) == 1 && n[0] == "*" {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			yield(k)
		}
		return
	}
	for _, name := range n {
		if _, ok := m[name]; ok {
			yield(name)
		}
	}
}

// every selects all values of a map or a list.
type every struct{ onlyLists bool }

func (e every) find(_ *search, v any, yield func(any)) {
	switch v := v.(type) {
	case map[string]any:
		if e.onlyLists {
			return
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			yield(v[k])
		}
	case []any:
		for _, item := range v {
			yield(item)
		}
	}
}

// descend selects v and all values below it, parents first.
type descend struct{}

func (d descend) find(s *search, v any, yield func(any)) {
	yield(v)
	every{}.find(s, v, func(inner any) { d.find(s, inner, yield) })
}

// span is an index, or a range of indexes with a step.
type span struct {
	from, to, by     int
	isRange          bool
	openFrom, openTo bool
}

// indexes selects items of a list.
type indexes []span

func (x indexes) find(_ *search, v any, yield func(any)) {
	list, ok := v.([]any)
	if !ok {
		return
	}
	for _, s := range x {
		s.each(len(list), func(i int) { yield(list[i]) })
	}
}

func (s span) each(n int, yield func(int)) {
	fromEnd := func(i int) int {
		if i < 0 {
			return i + n
		}
		return i
	}
	if !s.isRange {
		if i := fromEnd(s.from); i >= 0 && i < n {
			yield(i)
		}
		return
	}
	from, to := fromEnd(s.from), fromEnd(s.to)
	if s.by > 0 {
		if s.openFrom {
			from = 0
		}
		if s.openTo {
			to = n
		}
		for i := max(from, 0); i < min(to, n); i += s.by {
			yield(i)
		}
		return
	}
	if s.openFrom {
		from = n - 1
	}
	if s.openTo {
		to = -1
	}
	for i := min(from, n-1); i > max(to, -1); i += s.by {
		yield(i)
	}
}

// filtered selects the items of a list, or the values of a map, that satisfy a filter.
type filtered struct{ test filter }

func (f filtered) find(s *search, v any, yield func(any)) {
	keep := func(item any) {
		s.count()
		if f.test.matches(s, item) {
			yield(item)
		}
	}
	if m, ok := v.(map[string]any); ok {
		keep(m) // a filter on an object applies to the object
		return
	}
	every{}.find(s, v, keep)
}
