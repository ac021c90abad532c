// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name, text string
		columns    int
		want       string
	}{
		{"it fits", "Error: a b c\n  d", 20, "Error: a b c\n  d"},
		{"the last column is free", "abc def", 7, "abc\n  def"},
		{"a hanging indent", "  Deployment/web: 0 of 1 pods", 20, "  Deployment/web: 0\n    of 1 pods"},
		{"a word without room", "a " + strings.Repeat("x", 20) + " b", 10, "a\n  " + strings.Repeat("x", 20) + "\n  b"},
		{"a log", "    | one two three four", 10, "    | one two three four"},
		{"an excerpt", "  > 12 | a: b c d e f", 10, "  > 12 | a: b c d e f"},
		{"wide characters", "猫猫 猫猫", 9, "猫猫\n  猫猫"},
		{"colours have no width", "\x1b[31mError:\x1b[0m a", 10, "\x1b[31mError:\x1b[0m a"},
		{"no columns", "a b", 0, "a\n  b"},
		{"deep", strings.Repeat(" ", 30) + "a b", 33, strings.Repeat(" ", 30) + "a\n        b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Fold(test.text, test.columns); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
