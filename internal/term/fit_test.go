// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

func TestFit(t *testing.T) {
	for _, test := range []struct {
		name             string
		text             string
		columns          int
		fit, pad, middle string
	}{
		{"short", "web", 5, "web", "web  ", "web"},
		{"exact", "hello", 5, "hello", "hello", "hello"},
		{"long", "hello world", 7, "hello …", "hello …", "hell…ld"},
		{"wide characters", "猫猫猫猫", 5, "猫猫…", "猫猫…", "猫猫…"},
		{"no room", "web", 0, "", "", ""},
		{"one column", "web", 1, "…", "…", "…"},
		{"negative", "web", -3, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			fit, pad, middle := Fit(test.text, test.columns), Pad(test.text, test.columns), FitMiddle(test.text, test.columns)
			if fit != test.fit || pad != test.pad || middle != test.middle {
				t.Errorf("got %q, %q, %q, want %q, %q, %q", fit, pad, middle, test.fit, test.pad, test.middle)
			}
		})
	}
}

func TestFitMiddleLongText(t *testing.T) {
	got := FitMiddle("head-"+strings.Repeat("é", 1<<20)+"-tail", 20)
	if w := displaywidth.String(got); w > 20 || !strings.HasPrefix(got, "head-") || !strings.HasSuffix(got, "-tail") {
		t.Errorf("got %q, %d columns", got, w)
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name, text     string
		columns, lines int
		want           string
	}{
		{"it fits", "a b", 3, 2, "a b"},
		{"at a space", "one two three", 9, 3, "one two|three"},
		{"after a whole word", "one two three", 7, 3, "one two|three"},
		{"a short first word", "main: CrashLoopBackOff, crashed", 22, 3, "main:|CrashLoopBackOff,|crashed"},
		{"a word longer than a line", "a " + strings.Repeat("x", 12), 10, 3, "a xxxxxxxx|xxxx"},
		{"too many lines", "one two three four", 5, 2, "one|two …"},
		{"wide characters", "猫猫猫", 4, 2, "猫猫|猫"},
		{"no columns", "abc", 0, 2, "a|"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(Fold(test.text, test.columns, test.lines), "|"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
