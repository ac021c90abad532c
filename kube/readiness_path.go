// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// path is a JSONPath as Kubernetes writes it, as far as it names fields:
//
//	.name  ['name']  ["a.b/c"]  .with\.dots   a field
//	.*  [*]                                   all fields, or all of a list
//	[0]  [-1]                                 one of a list, from the end on
//	..name                                    a field at any depth, once
//	[?(@.type=="Ready")]                      those of a list that are so
//
// client-go's reader of them is not used: there are texts at which it panics,
// and these come from charts.
type path []step

type step struct {
	name  string // of a field
	index *int
	all   bool
	deep  bool // name at any depth
	keep  *filter
}

// filter keeps elements by a field of theirs; without op the field must exist.
type filter struct {
	path      path
	op, value string
}

func parsePath(s string) (path, error) {
	var out path
	for s != "" {
		st, rest, err := parseStep(s)
		if err != nil {
			return nil, err
		}
		out, s = append(out, st), rest
	}
	if len(out) == 0 {
		return nil, errors.New("it is empty")
	}
	if n := len(slices.DeleteFunc(slices.Clone(out), func(s step) bool { return !s.deep })); n > 1 {
		return nil, errors.New("it may search all depths (..) once")
	}
	return out, nil
}

func parseStep(s string) (step, string, error) {
	if s[0] == '[' {
		return parseBracket(s)
	}
	if s[0] != '.' {
		return step{}, "", fmt.Errorf("it must go on with a dot or a bracket at %q", s)
	}
	rest, deep := strings.CutPrefix(s[1:], ".")
	var name strings.Builder
	i := 0
	for ; i < len(rest) && rest[i] != '.' && rest[i] != '['; i++ {
		if rest[i] == '\\' && i+1 < len(rest) {
			i++
		}
		name.WriteByte(rest[i])
	}
	st := step{name: name.String(), deep: deep}
	if st.name == "*" && !deep {
		st = step{all: true}
	}
	if name.Len() == 0 || strings.ContainsAny(st.name, " \t\n(){}]") {
		return step{}, "", fmt.Errorf("a name is missing, or odd, at %q", s)
	}
	return st, rest[i:], nil
}

// parseBracket reads [0], [*], ['name'] or a filter.
func parseBracket(s string) (step, string, error) {
	end := closing(s[1:], ']')
	if end < 0 {
		return step{}, "", fmt.Errorf("the bracket does not end at %q", s)
	}
	inner, rest := strings.TrimSpace(s[1:end+1]), s[end+2:]
	if inner == "*" {
		return step{all: true}, rest, nil
	}
	if name, ok := unquote(inner); ok {
		return step{name: name}, rest, nil
	}
	if f, ok := strings.CutPrefix(inner, "?("); ok && strings.HasSuffix(f, ")") {
		keep, err := parseFilter(strings.TrimSuffix(f, ")"))
		return step{keep: keep}, rest, err
	}
	n, err := strconv.Atoi(inner)
	if err != nil {
		return step{}, "", fmt.Errorf("[%s] is not a number, no name in quotes, no * and no filter", inner)
	}
	return step{index: &n}, rest, nil
}

func parseFilter(s string) (*filter, error) {
	s, ok := strings.CutPrefix(strings.TrimSpace(s), "@")
	if !ok {
		return nil, errors.New("a filter must begin with @")
	}
	f := &filter{}
	name := s
	for i := range s {
		if strings.ContainsRune("=!<>", rune(s[i])) {
			name = s[:i]
			var err error
			if f.op, f.value, err = parseComparison(s[i:]); err != nil {
				return nil, err
			}
			break
		}
	}
	if strings.Contains(name, "?") || strings.Contains(name, "..") {
		return nil, errors.New("a filter names fields only")
	}
	var err error
	f.path, err = parsePath(strings.TrimSpace(name))
	return f, err
}

// parseComparison reads "== value".
func parseComparison(s string) (op, value string, err error) {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		rest, ok := strings.CutPrefix(s, op)
		if !ok {
			continue
		}
		value := strings.TrimSpace(rest)
		if inner, ok := unquote(value); ok {
			value = inner
		} else if value == "" {
			return "", "", fmt.Errorf("the value after %s is missing", op)
		}
		if _, err := strconv.ParseFloat(value, 64); err != nil && op != "==" && op != "!=" {
			return "", "", fmt.Errorf("only numbers can be compared with %s, and %q is none", op, value)
		}
		return op, value, nil
	}
	return "", "", errors.New("after the path it needs one of ==, !=, <, <=, >, >= and a value")
}

func unquote(s string) (string, bool) {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1], true
	}
	return s, false
}

// closing is where the bracket that s is inside of ends, -1 where it does not;
// what is in quotes does not count.
func closing(s string, end byte) int {
	quote := byte(0)
	for i := range len(s) {
		switch {
		case quote != 0:
			if s[i] == quote {
				quote = 0
			}
		case s[i] == '"' || s[i] == '\'':
			quote = s[i]
		case s[i] == end:
			return i
		}
	}
	return -1
}

// find returns what the path leads to from v, in order.
func (p path) find(v any) []any {
	found := []any{v}
	for _, s := range p {
		var next []any
		for _, v := range found {
			next = s.from(next, v)
		}
		found = next
	}
	return found
}

// from appends what the step leads to from v.
func (s step) from(out []any, v any) []any {
	if s.deep {
		if m, ok := v.(map[string]any); ok {
			if x, ok := m[s.name]; ok {
				out = append(out, x)
			}
		}
		for _, x := range children(v) {
			out = s.from(out, x)
		}
		return out
	}
	switch v := v.(type) {
	case map[string]any:
		if x, ok := v[s.name]; ok && s.index == nil && s.keep == nil && !s.all {
			return append(out, x)
		}
	case []any:
		if s.index != nil {
			i := *s.index
			if i < 0 {
				i += len(v)
			}
			if i >= 0 && i < len(v) {
				return append(out, v[i])
			}
			return out
		}
	}
	for _, x := range children(v) {
		if s.all || s.keep != nil && s.keep.holds(x) {
			out = append(out, x)
		}
	}
	return out
}

// children are the elements of a list, or the fields' values by name.
func children(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		out := make([]any, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, v[k])
		}
		return out
	}
	return nil
}

func (f *filter) holds(v any) bool {
	found := f.path.find(v)
	if f.op == "" || len(found) == 0 {
		return len(found) > 0
	}
	return slices.ContainsFunc(found, func(x any) bool {
		s, ok := plainValue(x)
		return ok && (f.op == "!=" && !compare(s, "==", f.value) || f.op != "!=" && compare(s, f.op, f.value))
	})
}

// plainValue is a text, a number or a boolean as text.
func plainValue(v any) (string, bool) {
	switch v.(type) {
	case string, bool, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}
