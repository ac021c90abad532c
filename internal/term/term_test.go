// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// CVE-2021-21303: untrusted text must not control the terminal.
func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"plain text":             "plain text",
		"two\nlines\tand a tab":  "two\nlines\tand a tab",
		"grün 猫 🚀":               "grün 猫 🚀",
		"\x1b[31mred\x1b[0m":     `\x1b[31mred\x1b[0m`,
		"\x1b]0;title\a":         `\x1b]0;title\x07`,
		"over\rwritten":          `over\x0dwritten`,
		"windows\r\nlines\r\n":   "windows\r\nlines\r\n",
		"\r\r\n\x1b\r":           "\\x0d\r\n\\x1b\\x0d",
		"back\b\b":               `back\x08\x08`,
		"nul\x00 del\x7f":        `nul\x00 del\x7f`,
		"C1 \u009b31m":           `C1 \x9b31m`,
		"\u202etxt.exe":          `\u202etxt.exe`,
		"\u2066isolate\u2069":    `\u2066isolate\u2069`,
		"bad \xff byte":          `bad \xff byte`,
		"cut \xe7\x8c":           `cut \xe7\x8c`,
		"a real \ufffd stays":    "a real \ufffd stays",
		"bad \xff and \ufffd":    "bad \\xff and \ufffd",
		"surrogate \xed\xa0\x80": `surrogate \xed\xa0\x80`,
	} {
		if got := Safe(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestSafeLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb": "a b", "a\r\nb": "a b", "a\tb": "a b", "a\rb": `a\x0db`, "a\vb": `a\x0bb`, "\u0085": `\x85`, "plain": "plain",
	} {
		if got := SafeLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Safe(text)
		if !utf8.ValidString(got) || strings.ContainsAny(strings.ReplaceAll(got, "\r\n", ""), "\x1b\r\x00\x07\x7f\u202e\u2066") {
			t.Errorf("%q gave %q", text, got)
		}
		if again := Safe(got); again != got {
			t.Errorf("%q: Safe is not idempotent: %q, %q", text, got, again)
		}
		if line := SafeLine(text); strings.ContainsAny(line, "\n\t\r") {
			t.Errorf("%q: %q", text, line)
		}
	})
}

func TestSafeWriterFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if SafeWriter(f) != io.Writer(f) || IsTerminal(f) || Width(f) != 80 || Width(nil) != 80 {
		t.Error("IsTerminal(file) = true")
	}
	var b bytes.Buffer
	n, err := safeWriter{&b}.Write([]byte("\x1b[1m"))
	if n != 4 || err != nil || b.String() != `\x1b[1m` {
		t.Errorf("a terminal's writer: %d, %v, %q", n, err, b.String())
	}
	if _, err := (safeWriter{broken{}}).Write([]byte("a")); err == nil {
		t.Error("Write: no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestColored(t *testing.T) {
	for _, test := range []struct {
		name, color string
		env         map[string]string
		want        bool
	}{
		{"a pipe has none", "auto", nil, false},
		{"a pipe has none by default", "", nil, false},
		{"the flag turns it on", "always", nil, true},
		{"the flag is stronger than NO_COLOR", "always", map[string]string{"NO_COLOR": "1"}, true},
		{"the flag turns it off", "never", nil, false},
		{"dumb terminals have none", "", map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Streams{Color: test.color, Getenv: func(k string) string { return test.env[k] }}
			got := s.Style(&bytes.Buffer{}).Red("x") == "\x1b[31mx\x1b[0m"
			if got != test.want || s.Colored(&bytes.Buffer{}) != test.want {
				t.Errorf("%s: got %t", test.name, got)
			}
		})
	}
	for _, paint := range []func(Style, string) string{Style.Bold, Style.Dim, Style.Red, Style.Green, Style.Yellow, Style.Cyan} {
		if got := paint(Style{}, "x"); got != "x" {
			t.Errorf("the zero style gave %q", got)
		}
		if got := paint(Style{on: true}, "x"); !strings.HasPrefix(got, "\x1b[") || !strings.HasSuffix(got, "x\x1b[0m") {
			t.Errorf("got %q", got)
		}
	}
}

func TestAsk(t *testing.T) {
	for in, want := range map[string]string{"yes\n": "yes", "  no  \r\nmore\n": "no", "no line end": "no line end", "\n": ""} {
		var out bytes.Buffer
		got, err := Streams{In: strings.NewReader(in), Err: &out}.Ask("Sure? ")
		if err != nil || got != want || out.String() != "Sure? " {
			t.Errorf("%q: %q, %v, asked %q", in, got, err, out.String())
		}
	}
	for _, s := range []Streams{{}, {In: strings.NewReader("")}} {
		if _, err := s.Ask("?"); !errors.Is(err, io.EOF) || s.Interactive() {
			t.Errorf("Ask without input: %v", err)
		}
	}
}

func TestReadUntil(t *testing.T) {
	got, err := ReadUntil(t.Context(), strings.NewReader("open sesame"), 4)
	if string(got) != "open" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	nobody, stays := io.Pipe()
	defer stays.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := ReadUntil(ctx, nobody, 4); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
}
