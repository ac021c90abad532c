// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzParse compares the fast path with the YAML parser.
func FuzzParse(f *testing.F) {
	for _, d := range documents {
		f.Add(d)
	}
	f.Add(serviceValues())
	f.Fuzz(func(t *testing.T, text string) {
		quick, err := Parse("values.yaml", []byte(text))
		var bad *ParseError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("not a *ParseError: %v", err)
		}
		if strings.Contains(text, "---") {
			return // more than one document
		}
		slow, serr := slowDocument("values.yaml", wholeLines([]byte(text)), 0)
		if (err == nil) != (serr == nil) || fmt.Sprintf("%#v", quick) != fmt.Sprintf("%#v", slow) {
			t.Errorf("%q\nquick: %v %s\n slow: %v %s", text, err, dump(quick), serr, dump(slow))
		}
	})
}

// FuzzApply applies expressions in all modes: none may panic or take long, and an error is
// always a *SetError.
func FuzzApply(f *testing.F) {
	for _, exprs := range [][]string{oddExpressions, jsonExpressions, literalExpressions} {
		for i, e := range exprs {
			f.Add(e, uint8(i%5))
		}
	}
	f.Fuzz(func(t *testing.T, expr string, mode uint8) {
		dst := map[string]any{"t": map[string]any{"x": 1.0}, "l": []any{nil, "y"}, "n": nil}
		read := func(path string) ([]byte, error) { return []byte("text of " + path), nil }
		err := Apply(dst, Mode(mode%5), expr, read)
		var bad *SetError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("not a *SetError: %v", err)
		}
		if depth(dst) > 2*MaxNesting+strings.Count(expr, "{")+strings.Count(expr, "[")+2 {
			t.Errorf("%q nests %d deep", expr, depth(dst))
		}
	})
}

func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			most = max(most, depth(e)+1)
		}
	case []any:
		for _, e := range v {
			most = max(most, depth(e)+1)
		}
	}
	return most
}
