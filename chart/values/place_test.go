// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

func TestOriginLines(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]int
	}{
		{"several documents", "a: 2\nb: 3\nm:\n  k: 1\n---\na: 9\nc: 4\nm:\n  j: 2\n---\n# nothing\n---\nc: 5\nl: [{x: 1}]\n",
			map[string]int{"a": 6, "b": 2, "c": 13, "m.k": 4, "m.j": 9, "l": 14}},
		{"a map in place of a scalar", "a: 1\n---\na:\n  b: 1\n", map[string]int{"a.b": 4}},
		{"anchors of a later document", "a: 1\n---\nx: &x\n  k: 1\nz: *x\n", map[string]int{"x.k": 4, "z.k": 4}},
		{"line ends of Windows", "a: 1\r\n---\r\nb: 1\r\n", map[string]int{"a": 1, "b": 3}},
		{"a merge key", "base: &x\n  cpu: 1\n  mem: 2\nweb:\n  mem: 3\n  <<: *x\n",
			map[string]int{"web.cpu": 2, "web.mem": 5}},
		{"a list of merged maps", "x: &x\n  a: 1\n  b: 1\ny: &y\n  <<: *x\n  b: 2\nz:\n  <<: [*y, {c: 1}, *x]\n",
			map[string]int{"z.a": 2, "z.b": 6, "z.c": 8}},
		{"a key that only looks like one", "x:\n  \"<<\": {a: 1}\n", map[string]int{"x.<<.a": 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Files: []string{"v.yaml"}}
			read := func(string) ([]byte, error) { return []byte(tt.text), nil }
			origins, err := o.Origins(read)
			if err != nil {
				t.Fatal(err)
			}
			locate := o.Locator(read)
			for path, line := range tt.want {
				want := []string{fmt.Sprintf("v.yaml:%d", line)}
				keys := strings.Split(path, ".")
				if got := texts(origins.Of(keys...)); !slices.Equal(got, want) {
					t.Errorf("%s: got origins %v, want %v", path, got, want)
				}
				if got := locate(keys...).String(); got != want[0] {
					t.Errorf("%s: located at %s, want %s", path, got, want[0])
				}
			}
		})
	}
}

// TestRootOfManyMerges has maps that merge the one before many times, which would be visited 20^20 times if each
// was followed.
func TestRootOfManyMerges(t *testing.T) {
	var b strings.Builder
	b.WriteString("m0: &m0 {k: 1}\n")
	for i := range 20 {
		fmt.Fprintf(&b, "m%d: &m%d\n  <<: [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*m%d, ", i), 20), ", "))
	}
	pair := children(children(yaml.Root([]byte(b.String())))["m20"][1])["k"]
	if pair[0] == nil || pair[0].Line != 1 {
		t.Errorf("got %v, want the key of line 1", pair)
	}
}
