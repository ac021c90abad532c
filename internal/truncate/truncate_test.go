// SPDX-License-Identifier: Apache-2.0

package truncate

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBytes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"empty", "", 0, ""},
		{"shorter", "abc", 4, "abc"},
		{"as long", "abcd", 4, "abcd"},
		{"longer", "abcde", 4, "abcd…"},
		{"nothing may stay", "abc", 0, "…"},
		{"negative", "abc", -1, "…"},
		{"inside a character", "abc€", 5, "abc…"},
		{"after a character", "ab€cd", 5, "ab€…"},
		{"inside four bytes", "a😀b", 4, "a…"},
		{"first character is longer", "😀😀", 2, "…"},
		{"not UTF-8", strings.Repeat("\x80", 10), 6, strings.Repeat("\x80", 6) + "…"},
		{"one invalid byte stays", "a\xffbcd", 3, "a\xffb…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Bytes(test.text, test.most, "…"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRunes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"empty", "", 0, ""},
		{"as long", "a€😀", 3, "a€😀"},
		{"longer", "a€😀b", 3, "a€😀..."},
		{"nothing may stay", "abc", 0, "..."},
		{"negative", "abc", -1, "..."},
		{"invalid bytes", "\xff\xffab", 3, "\xff\xffa..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Runes(test.text, test.most, "..."); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"one line", "abc", "abc"},
		{"first of several", "\n  abc\ndef\n", "abc"},
		{"longer", "abcdef\nx", "abcde…"},
		{"spaces alone", " \n\t", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Line(test.text, 5, "…"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Valid text stays valid, is a prefix, and is as long as it may be.
func FuzzTruncate(f *testing.F) {
	f.Add("a€😀b", 4)
	f.Add("\x80\x80\x80\x80\x80\x80", 5)
	f.Fuzz(func(t *testing.T, text string, most int) {
		for name, got := range map[string]string{"bytes": Bytes(text, most, ""), "runes": Runes(text, most, "")} {
			if !strings.HasPrefix(text, got) {
				t.Fatalf("%s: got %q, which %q does not begin with", name, got, text)
			}
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Fatalf("%s: %q of %q is not valid", name, got, text)
			}
		}
		if n := len(Bytes(text, most, "")); n > max(most, 0) || n < min(len(text), most)-utf8.UTFMax {
			t.Fatalf("%d bytes of %d, most %d", n, len(text), most)
		}
		if n := utf8.RuneCountInString(Runes(text, most, "")); n != min(utf8.RuneCountInString(text), max(most, 0)) {
			t.Fatalf("%d characters of %q, most %d", n, text, most)
		}
	})
}
