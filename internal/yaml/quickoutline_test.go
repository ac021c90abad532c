// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"reflect"
	"testing"
)

func TestQuickOutline(t *testing.T) {
	for _, text := range []string{
		deployment,
		"",
		"# c\n",
		"a: 1",
		"a:\nb: ~\nc:\n",
		"- a\n- - b\n  - c\n-\n- d: |\n    x\n   # c\n  e: >+\n    y\n\n",
		"'a': {b: [1, \"x\"], c: {}}\n\"d e\": []\n",
		"a: one\n  two\n\n  three # c\nb:\n  plain below\n",
		"1: a\ntrue: b\noff: c\n",
		"a:\n- b: 1\n  c:\n  - d\nd: \"x\\\"y\"\n",
		"a:\n    b:\n    - c\n",
	} {
		t.Run(text, func(t *testing.T) {
			if _, _, _, ok := quickOutline(text); !ok {
				t.Fatal("not in the subset")
			}
			compareOutlines(t, text)
		})
	}
}

func FuzzQuickOutline(f *testing.F) {
	f.Add(deployment)
	f.Add("a:\n- b: 1\n  c: [1, {d: 'x'}]\n- |-\n  e\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			t.Skip("the reference takes too long")
		}
		compareOutlines(t, text)
	})
}

// compareOutlines compares quickOutline with the complete parser for a text that the package can decode.
func compareOutlines(t *testing.T, text string) {
	t.Helper()
	if _, ok := Quick(text, nil); !ok {
		return // Edit does not look at its outline
	}
	got, step, dashes, ok := quickOutline(text)
	want, wantStep, wantDashes, err := parsedOutline(text)
	if !ok || err != nil {
		return
	}
	if step != wantStep || dashes != wantDashes {
		t.Errorf("%q: got indentation %d and %d, want %d and %d", text, step, dashes, wantStep, wantDashes)
	}
	if g, w := describe(got, 0), describe(want, 0); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\ngot\n%s\nwant\n%s", text, g, w)
	}
}

func describe(p *part, depth int) string {
	if p == nil {
		return "nothing"
	}
	out := fmt.Sprintf("shape %d quote %q %d-%d column %d\n", p.shape, p.quote, p.start, p.end, p.column)
	for _, e := range p.entries {
		out += fmt.Sprintf("%*s%q %q at %d, %d: %s", depth*2+2, "", e.key, e.quote, e.start, e.after, describe(e.value, depth+1))
	}
	return out
}
