// SPDX-License-Identifier: Apache-2.0

package yaml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// lineText describes the lines of keys and items of a node.
func lineText(n *yaml.Node) string {
	var b strings.Builder
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		n = yaml.Target(n)
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				below := path + "." + yaml.KeyName(n.Content[i])
				fmt.Fprintf(&b, "%s %d\n", below, n.Content[i].Line)
				walk(n.Content[i+1], below)
			}
		case yaml.SequenceNode:
			for i, e := range n.Content {
				below := fmt.Sprintf("%s[%d]", path, i)
				fmt.Fprintf(&b, "%s %d\n", below, e.Line)
				walk(e, below)
			}
		}
	}
	if n != nil {
		walk(n, "")
	}
	return b.String()
}

// The lines are those of the full parser.
func TestRootLines(t *testing.T) {
	texts := map[string]string{
		"empty": "", "comment": "# a\n", "anchors": "a: &x {b: 1}\nc: *x\n", "invalid": "a: [\n", "scalar": "a\n",
		"lists": "# c\na:\n- x\n- y: 1\n  z: 2\n\n-\n  q: 3\n- [1, 2]\n- |\n  t\n  u\n- - n\n  - m\n- \"long\"\nb: [p, {c: d}]\n",
		"words": "off: 1\n\"on\": 2\n'y': 3\n7: 4\n1.50: 5\n~: 6\n",
		"maps":  "a:\n  b: |\n    text\n\n    more\n  c: >-\n    x\n  \"d\": {e: {f: 1}}\n\n\n  # c\n  g:\nh: plain\n  goes on\ni: 1\n",
	}
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "charts", "*", "values.yaml"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(filepath.Dir(file))] = string(text)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			got, want := lineText(yaml.RootLines([]byte(text))), lineText(yaml.Root([]byte(text)))
			if got == want {
				return
			}
			g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
			for i := range min(len(g), len(w)) {
				if g[i] != w[i] {
					t.Fatalf("got %s, want %s", g[i], w[i])
				}
			}
			t.Errorf("got %d lines, want %d", len(g), len(w))
		})
	}
}

func FuzzRootLines(f *testing.F) {
	f.Add("a:\n- b: 1\n  c: [1, 2]\n- d\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			t.Skip("the reference takes too long")
		}
		if got, want := lineText(yaml.RootLines([]byte(text))), lineText(yaml.Root([]byte(text))); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", text, got, want)
		}
	})
}
