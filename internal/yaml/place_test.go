// SPDX-License-Identifier: Apache-2.0

package yaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

func TestLine(t *testing.T) {
	root := yaml.Root([]byte("a: &x\n  b: 1\n  c: 2\n  c: 3\nlist:\n- c: 1\n- *x\n"))
	for _, tc := range []struct {
		name string
		path []string
		want int
	}{
		{"a key", []string{"list"}, 5},
		{"of equal keys the last", []string{"a", "c"}, 4},
		{"a key in another case", []string{"A", "b"}, 2},
		{"an item", []string{"list", "0"}, 6},
		{"below an alias", []string{"list", "1", "b"}, 2},
		{"what is not there: its parent", []string{"list", "0", "z"}, 6},
		{"an item that is not there", []string{"list", "7"}, 5},
		{"nothing", []string{"z"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := yaml.Line(root, tc.path...); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	if got := yaml.Line(yaml.Root([]byte("{")), "a"); got != 0 {
		t.Errorf("got line %d of what is not YAML", got)
	}
}

func TestCutLine(t *testing.T) {
	complaint := yaml.Complaint(errors.New("error converting YAML to JSON: yaml: line 7: did not find expected key"))
	if line, problem, ok := yaml.CutLine(complaint); line != 7 || problem != "did not find expected key" || !ok {
		t.Errorf("got %d, %q, %v", line, problem, ok)
	}
	for _, text := range []string{"line x: y", "line 7", "control characters are not allowed"} {
		if line, problem, ok := yaml.CutLine(text); line != 0 || problem != text || ok {
			t.Errorf("%q: got %d, %q, %v", text, line, problem, ok)
		}
	}
}

// After SetText has replaced a value, the text has the new value.
func FuzzSetText(f *testing.F) {
	for _, text := range []string{"version: 1.0.0 # c\n", "a: 1", "{Version: 'x', b: é}\n", "version: &v 1\n", "# c\n", "version: |\n  x\n", "version: a\n  b\nc: d\n", "<<: {version: 1}\n", "version: 1\r\nb: 2\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := yaml.SetText(text, "version", "2.0.0", false)
		if err != nil || yaml.Find(yaml.Root([]byte(text)), "version", strings.EqualFold) < 0 {
			return // a new key may be added in another place
		}
		if again, err := yaml.SetText(out, "version", "2.0.0", false); err != nil || again != out {
			t.Fatalf("%q became %q, and then %q, %v", text, out, again, err)
		}
		root := yaml.Root([]byte(out))
		i := yaml.Find(root, "version", strings.EqualFold)
		if i < 0 || root.Content[i+1].Value != "2.0.0" {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
