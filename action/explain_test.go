// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/engine"
)

func TestAlignLines(t *testing.T) {
	for _, c := range []struct {
		old, now string
		want     []int
	}{
		{"a b c", "a b c", []int{0, 1, 2}},
		{"a b c", "a x c", []int{0, -1, 2}},
		{"a b c", "a c", []int{0, 2}},
		{"a c", "a b c", []int{0, -1, 1}},
		{"a b c d", "b d a", []int{1, 3, -1}},
		{"a a", "a a a", []int{0, 1, -1}},
		{"", "a b", []int{-1, -1}},
		{"a", "", []int{-1}},
	} {
		t.Run(c.old+" to "+c.now, func(t *testing.T) {
			if got := alignLines(strings.Split(c.old, " "), strings.Split(c.now, " ")); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Texts that are too large to be compared line by line keep their beginning and end.
func TestAlignManyLines(t *testing.T) {
	old, now := []string{"a"}, []string{"a"}
	for i := range 3000 {
		old, now = append(old, fmt.Sprint(i)), append(now, fmt.Sprint(-i-1))
	}
	got := alignLines(append(old, "z"), append(now, "z"))
	if got[0] != 0 || got[1] != -1 || got[3001] != 3001 {
		t.Errorf("got %d, %d and %d", got[0], got[1], got[3001])
	}
}

// The lines that a handler has not changed stay those of the template.
func TestChangedLines(t *testing.T) {
	old := "kind: A\nspec:\n  replicas: 1"
	known := make([]Line, 3)
	for i := range known {
		known[i].Pieces = []engine.Piece{{Site: &engine.Site{File: "t", Line: i + 1}}}
	}
	place := scriptPlace{name: "web", file: "web/s.lua", line: 1, text: "f()\n  o.spec.replicas = 2\n"}
	got := changedLines(old, known, "kind: A\nadded\nspec:\n  replicas: 2", place)
	var texts []string
	for _, l := range got {
		if l.Author != nil {
			texts = append(texts, fmt.Sprintf("%s:%d", l.Author.File, l.Author.Line))
			continue
		}
		texts = append(texts, fmt.Sprintf("%s:%d", l.Pieces[0].Site.File, l.Pieces[0].Site.Line))
	}
	if want := []string{"t:1", "web/s.lua:1", "t:2", "web/s.lua:2"}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}
