// SPDX-License-Identifier: Apache-2.0

package jsonpath_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json" // whole numbers are int64, as in objects

	"github.com/moonhelm/moonhelm/internal/jsonpath"
)

const document = `{"phase":"Ready","count":3,"nodes":[{"name":"a","load":1},{"name":"b","load":5}],"none":null}`

func decode(t testing.TB) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFindAndPath(t *testing.T) {
	for _, tc := range []struct{ text, found, first, wrong string }{
		{text: `{.phase}`, found: "[Ready]", first: "phase"},
		{text: `{.nodes[*].load}`, found: "[1 5]", first: "nodes"},
		{text: `{.nodes[-1].name}`, found: "[b]", first: "nodes"},
		{text: `{.nodes[?(@.load>1)].name}`, found: "[b]", first: "nodes"},
		{text: `{..load}`, found: "[1 5]"},
		{text: `{.ghost}`, found: "[]", first: "ghost"},
		{text: `x{.phase}`, found: "[x Ready]", wrong: "one path in braces"},
		{text: `{.phase}{.count}`, found: "[Ready 3]", wrong: "one path in braces"},
		{text: `{.nodes[?(@..load>1)]..load}`, found: "", wrong: "more than one recursive descent (..)"},
		{text: `{.nodes[0,1]['name','load']}`, found: "[a b 1 5]", first: "nodes"},
		{text: `{.a` + strings.Repeat("[0,0]", 8) + `}`, first: "a"},
		{text: `{.a` + strings.Repeat("[0,0]", 9) + `}`, first: "", wrong: "unions select more than 256 values"},
		{text: `{.a[?(@` + strings.Repeat("['b','b']", 60) + `==1)]}`, first: "", wrong: "unions select more than 256 values"},
		{text: `{3}`, found: "[3]", wrong: "want a path of fields"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			p, err := jsonpath.Parse(tc.text, true)
			if err != nil {
				t.Fatal(err)
			}
			if tc.found != "" {
				if found, err := p.Find(decode(t)); err != nil || fmt.Sprint(found) != tc.found {
					t.Errorf("Find: got %v, %v, want %s", found, err, tc.found)
				}
			}
			first, err := p.Path()
			if first != tc.first {
				t.Errorf("Path: got %q, want %q", first, tc.first)
			}
			if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("Path: got error %v, want %q", err, tc.wrong)
			}
		})
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{`{.phase}`, `{.a[?(@.b=="c")].d}`, `{..a}`, `{.a[0:2]}`, `{['a','b']}`, `{range .nodes[*]}{.name}{end}`, `{.a[}`, `{"x`} {
		f.Add(s)
	}
	v := decode(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			return
		}
		p, err := jsonpath.Parse(text, true)
		if err != nil {
			return
		}
		if _, err := p.Path(); err == nil {
			_, _ = p.Find(v)
		}
	})
}
