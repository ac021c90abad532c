// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/term"
)

// hostile is a name that means something to each of the formats and to a terminal.
const hostile = "a\"];evil[\\\"<script>alert(1)</script>&#35;`;\n\x1b[2J%%{init}%% --> \u202e\ufffe\\n"

func TestDrawingEscapes(t *testing.T) {
	d := &drawing{title: hostile}
	from := d.add(&node{lines: []string{hostile, strings.Repeat("x", 1000)}, class: plain})
	d.edges = append(d.edges, edge{from, d.add(&node{lines: []string{"b"}, class: old, layer: 1})})
	t.Run("dot", func(t *testing.T) {
		for line := range strings.Lines(d.text(asDOT)) {
			// Without what is escaped, strings are closed, and nothing of the name is outside of them.
			bare := strings.NewReplacer(`\\`, "", `\"`, "").Replace(line)
			if strings.Count(bare, `"`)%2 != 0 {
				t.Errorf("%q leaves a string open", line)
			}
			for i, part := range strings.Split(bare, `"`) {
				if i%2 == 0 && strings.Contains(part, "evil") {
					t.Errorf("%q has the name outside of a string", line)
				}
			}
		}
	})
	t.Run("mermaid", func(t *testing.T) {
		got := d.text(asMermaid)
		if n := strings.Count(got, "\n"); n != 6 {
			t.Errorf("%d lines, want 6: %s", n, got)
		}
		for _, bad := range []string{"<script", "evil[", "%%", "a\"]"} {
			if strings.Contains(got, bad) {
				t.Errorf("%q is in %s", bad, got)
			}
		}
		if !strings.Contains(got, "#60;script#62;") {
			t.Errorf("the name is not in %s", got)
		}
	})
	t.Run("svg", func(t *testing.T) {
		got := d.text(asSVG)
		decoder, elements := xml.NewDecoder(strings.NewReader(got)), 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, got)
			}
			if e, ok := token.(xml.StartElement); ok {
				elements++
				if e.Name.Local == "script" {
					t.Error("the name is an element")
				}
			}
		}
		if elements != 11 {
			t.Errorf("%d elements, want 11: %s", elements, got)
		}
	})
	for _, o := range []format{asDOT, asMermaid, asSVG} {
		if got := d.text(o); term.Safe(got) != got || len(got) > 4000 {
			t.Errorf("%s: control characters, or %d bytes", o, len(got))
		}
		if again := d.text(o); again != d.text(o) {
			t.Errorf("%s differs from run to run", o)
		}
	}
}

func TestTreeIsBounded(t *testing.T) {
	wide := &chart.Chart{Metadata: &chart.Metadata{Name: "wide", Version: "1.0.0"}}
	for i := range 5000 {
		wide.Metadata.Dependencies = append(wide.Metadata.Dependencies, &chart.Dependency{Name: fmt.Sprint("d", i)}, nil)
	}
	if n := len(treeOf(wide).children); n != maxNodes {
		t.Errorf("%d dependencies, want %d", n, maxNodes)
	}
	deep := &chart.Chart{Metadata: &chart.Metadata{Name: "deep"}}
	for range 100 {
		above := &chart.Chart{Metadata: &chart.Metadata{Name: "deep", Dependencies: []*chart.Dependency{{Name: "deep"}}}}
		above.SetDependencies(deep)
		deep = above
	}
	depth := 0
	for d := treeOf(deep); len(d.children) > 0; d = d.children[0] {
		depth++
	}
	if depth != maxDepth {
		t.Errorf("depth %d, want %d", depth, maxDepth)
	}
}

func TestStatus(t *testing.T) {
	root := &dependencyNode{}
	for _, test := range []struct {
		name string
		node dependencyNode
		want string
	}{
		{"ok", dependencyNode{vendored: "1.0.0", fits: true, newest: "1.0.0"}, "ok"},
		{"a newer one", dependencyNode{vendored: "1.0.0", fits: true, newest: "1.0.1"}, "newer"},
		{"the lock counts", dependencyNode{vendored: "1.0.0", locked: "2.0.0", fits: true, newest: "1.0.1"}, "ok"},
		{"versions that are none", dependencyNode{vendored: "x", fits: true, newest: "y"}, "ok"},
		{"missing", dependencyNode{newest: "1.0.0"}, "not vendored"},
		{"wrong", dependencyNode{vendored: "1.0.0"}, "wrong version"},
		{"off", dependencyNode{disabled: "a.enabled"}, "off: a.enabled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.node.parent = root
			if got, _ := test.node.status(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got, _ := root.status(); got != "" {
		t.Errorf("the root: got %q, want nothing", got)
	}
}

func TestBoxesDoNotOverlap(t *testing.T) {
	d := &drawing{}
	for i := range 3 {
		parent := d.add(&node{lines: make([]string, 1+4*i), class: plain})
		for range i {
			d.edges = append(d.edges, edge{parent, d.add(&node{lines: []string{"child"}, class: plain, layer: 1})})
		}
	}
	width, height := d.place()
	for i, a := range d.nodes {
		if a.x < 0 || a.y < 0 || a.x+a.width > width || a.y+a.height > height {
			t.Errorf("box %d is outside of the image of %dx%d", i, width, height)
		}
		for j, b := range d.nodes[:i] {
			if a.x < b.x+b.width && b.x < a.x+a.width && a.y < b.y+b.height && b.y < a.y+a.height {
				t.Errorf("boxes %d and %d overlap", i, j)
			}
		}
	}
}
