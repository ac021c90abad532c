// SPDX-License-Identifier: Apache-2.0

package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
)

// paint writes the colours of a text by their names.
func paint(text string) string {
	return strings.NewReplacer("\x1b[0m", "}", "\x1b[1m", "bold{", "\x1b[2m", "dim{", "\x1b[31m", "red{",
		"\x1b[32m", "green{", "\x1b[33m", "yellow{", "\x1b[36m", "cyan{").Replace(text)
}

func TestTraceText(t *testing.T) {
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	for _, tt := range []struct {
		name          string
		change        event.Change
		plain, colour string
	}{
		{"a value that is new", event.Change{Path: "values.a", To: "1"}, "values.a: + 1\n", "values.a: green{+ 1}\n"},
		{"a value that is gone", event.Change{Path: "values.a", From: "1"}, "values.a: - 1\n", "values.a: red{- 1}\n"},
		{"a value that has changed", event.Change{Path: "values.a", From: "1", To: "2\x1b[2J"},
			"values.a: 1 → 2\\x1b[2J\n", "values.a: red{1} → green{2\\x1b[2J}\n"},
		{"an object that is new", event.Change{Path: "objects: ConfigMap/a", To: "9 bytes", After: "kind: x\nname: a\n"},
			"objects: + ConfigMap/a\n",
			"green{objects: + ConfigMap/a}\n        green{+kind: x}\n        green{+name: a}\n"},
		{"a file that has changed", event.Change{Path: "files: a", From: "1 bytes", To: "1 bytes", Before: "a\nb\n", After: "a\nc\n"},
			"files: ~ a\n", "yellow{files: ~ a}\n        dim{@@ -1,2 +1,2 @@}\n         a\n        red{-b}\n        green{+c}\n"},
		{"a Secret", event.Change{Path: "objects: Secret/a", From: "1 bytes"}, "objects: - Secret/a\n",
			"red{objects: - Secret/a}\n"},
		{"more than is shown", event.Change{Path: "… and 3 more"}, "… and 3 more\n", "yellow{… and 3 more}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for want, style := range map[string]term.Style{
				"pre-render\n  0.5 web chart.lua:1 1ms\n      " + tt.plain:                   {},
				"bold{pre-render}\n  0.5 web cyan{chart.lua:1} dim{1ms}\n      " + tt.colour: colours(t),
			} {
				var b strings.Builder
				ui.TraceText(&b, style)(event.Step{Event: "pre-render", Owner: "web", Where: "chart.lua:1", Priority: 0.5,
					Took: time.Millisecond, Changes: []event.Change{tt.change}})
				if got := paint(b.String()); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
	t.Run("a long file", func(t *testing.T) {
		var b strings.Builder
		ui.TraceText(&b, colours(t))(event.Step{Changes: []event.Change{{Path: "files: a", To: "x", After: long.String()}},
			Err: errors.New("no\nmore")})
		if n := strings.Count(b.String(), "\n"); n > 50 || !strings.Contains(b.String(), "… and 61 more lines") {
			t.Errorf("%d lines:\n%s", n, b.String())
		}
	})
}

// colours returns a style with colours.
func colours(t *testing.T) term.Style {
	t.Helper()
	style := term.Streams{Color: "always"}.Style(nil)
	if !style.On() {
		t.Fatal("no colours")
	}
	return style
}
