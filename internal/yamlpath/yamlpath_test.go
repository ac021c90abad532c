// SPDX-License-Identifier: Apache-2.0

package yamlpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const document = `{"kind": "Z", "metadata": {"name": "zn"},
	"m": {"a": {"v": 1, "n": "x"}, "b": {"v": 2, "n": "y"}},
	"l": [{"v": 1, "n": "x", "k.k": 1}, {"v": 2, "n": "y"}, {"v": 3}], "s": ["a", "b", "c"]}`

func decode(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The results are those of helm-unittest 1.1.2.
func TestFind(t *testing.T) {
	doc := decode(t, document)
	tests := []struct{ path, want string }{
		{`$[?(@.kind == "Z")].metadata.name`, `["zn"]`},
		{`$[?(@.kind == "Q")].metadata.name`, `[]`},
		{`m[?(@.v == 1)].n`, `[]`},
		{`l[?(@.v == 1 && @.n == "x")].v`, `[1]`},
		{`l[?(@.v == 1 || @.v == 3)].v`, `[1,3]`},
		{`l[?(@.n)].v`, `[1,2]`},
		{`l[?(!@.n)].v`, `[3]`},
		{`l[?(!(@.v == 1))].v`, `[2,3]`},
		{`l[?(@.n =~ /x|z/)].v`, `[1]`},
		{`l[?(@.v >= 2)].v`, `[2,3]`},
		{`l[?(@.v<=1)].v`, `[1]`},
		{`l[?(@.v<2)].v`, `[1]`},
		{`l[?(@.v>2)].v`, `[3]`},
		{`l[?(@.n == 'x')].v`, `[1]`},
		{`l[?(@['k.k'] == 1)].v`, `[1]`},
		{`l[?(@.v == $.l[0].v)].v`, `[1]`},
		{`l[?(@.v=="1")].v`, `[]`},
		{`l[?(@.v == 1.0)].v`, `[1]`},
		{`l[?(@.v == null)].v`, `[]`},
		{`l[?(@.v==true)].v`, `[]`},
		{`l[?(@.v!=1)].v`, `[2,3]`},
		{`s[?(@ == 'b')]`, `["b"]`},
		{`s[-1]`, `["c"]`},
		{`s[1:]`, `["b","c"]`},
		{`s[:2]`, `["a","b"]`},
		{`s[0:10]`, `["a","b","c"]`},
		{`s[::2]`, `["a","c"]`},
		{`s[::-1]`, `["c","b","a"]`},
		{`s[0,2]`, `["a","c"]`},
		{`s[*]`, `["a","b","c"]`},
		{`s.*`, `["a","b","c"]`},
		{`s[10]`, `[]`},
		{`s[-10]`, `[]`},
		{`l..v`, `[1,2,3]`},
		{`$..v`, `[1,2,3,1,2]`},
		{`..v`, `[1,2,3,1,2]`},
		{`m.*.v`, `[1,2]`},
		{`m[*].v`, `[]`},
		{`m['a','b'].v`, `[1,2]`},
		{`m["a"].n`, `["x"]`},
		{`m.a~`, `["a"]`},
		{`m['a', "c"]~`, `["a"]`},
		{`kind~`, `["kind"]`},
		{`.kind`, `["Z"]`},
		{`$.kind`, `["Z"]`},
		{`['kind']`, `["Z"]`},
		{`l[0]["k.k"]`, `[1]`},
		{`l[0].k.k`, `[]`},
		{`m[0]`, `[]`},
		{`kind.x`, `[]`},
		{`l.0`, `[]`},
		{`m.a[?(@.v == 1)].n`, `["x"]`},
		{`metadata.labels["a/b"]`, `[]`},
		{`metadata`, `[{"name":"zn"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			p, err := Parse(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := p.Find(doc)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(append([]any{}, found...))
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

func TestFindWhole(t *testing.T) {
	for _, path := range []string{"", "$"} {
		p, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := p.Find("x"); err != nil || len(found) != 1 || found[0] != "x" {
			t.Errorf("%q: got %v, %v", path, found, err)
		}
	}
}

func TestKeys(t *testing.T) {
	tests := []struct{ path, want string }{
		{"a.b[0].c", "a b 0 c"}, {`a["b.c"]`, "a b.c"}, {"a[*].b", "a"}, {"a[-1]", "a"}, {"a[0:1]", "a"}, {"a['b','c']", "a"},
		{"..a", ""}, {"$", ""},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			p, err := Parse(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.Keys(), " "); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ path, want string }{
		{`$kind`, `invalid path syntax at position 1, following "$"`},
		{`m[a]`, `invalid array index [a]: non-integer array index at position 4, following "m[a]"`},
		{`s[1`, `unmatched [ at position 3, following "s[1"`},
		{`s[`, `unmatched [ at position 2, following "s["`},
		{`s[]`, `subscript missing from [] at position 3, following "s[]"`},
		{`s[::0]`, `invalid array index [::0]: the step must not be 0 at position 6, following "s[::0]"`},
		{`s[1:2:3:4]`, `invalid array index [1:2:3:4]: too many colons at position 10, following "s[1:2:3:4]"`},
		{`s.`, `child name missing at position 2, following "s."`},
		{`m..`, `child name or array access or filter missing after recursive descent at position 3, following "m.."`},
		{`m['a`, `unmatched quote at position 4, following "m['a"`},
		{`m['a'x]`, `unmatched [ at position 5, following "m['a'"`},
		{`l[?(@.v == 1]`, `invalid filter expression at position 12, following "l[?(@.v == 1"`},
		{`l[?(1)]`, `invalid filter expression at position 5, following "l[?(1"`},
		{`l[?(@.v == )]`, `invalid filter term at position 11, following "l[?(@.v == "`},
		{`l[?(@.v =~ x)]`, `a regular expression begins with / at position 11, following "l[?(@.v =~ "`},
		{`l[?(@.v =~ /(/)]`, "error parsing regexp: missing closing ): `(` at position 14, following \"l[?(@.v =~ /(/\""},
		{`l[?(@.v =~ /x`, `a regular expression ends with / at position 13, following "l[?(@.v =~ /x"`},
		{`l[?(@.n < 'y')].v`, `strings cannot be compared using < at position 13, following "l[?(@.n < 'y'"`},
		{`m.a b`, `invalid path syntax at position 3, following "m.a"`},
		{` kind`, `child name missing at position 0, following ""`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			_, err := Parse(tt.path)
			var bad *SyntaxError
			if !errors.As(err, &bad) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	for _, path := range []string{strings.Repeat("a", maxLength+1), "l[?(" + strings.Repeat("(", 60), "l[?(" + strings.Repeat("!", 60)} {
		if _, err := Parse(path); err == nil {
			t.Errorf("%.20q...: no error", path)
		}
	}
	var deep any = "x"
	for i := range 400 {
		deep = map[string]any{fmt.Sprint(i): deep}
	}
	p, err := Parse("$..*..*..*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(deep); !errors.Is(err, ErrTooMany) {
		t.Errorf("got %v, want ErrTooMany", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`a.b[0]`, `$..x[?(@.y == "z" && !@.q)].w`, `a['b',"c"]~`, `s[1:2:-1,3]`, `x[?(@ =~ /a\/b/)]`} {
		f.Add(s)
	}
	doc := decode(f, document)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var bad *SyntaxError
			if !errors.As(err, &bad) {
				t.Fatalf("%T: %v", err, err)
			}
			_ = bad.Error()
			return
		}
		if _, err := p.Find(doc); err != nil && !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
	})
}
