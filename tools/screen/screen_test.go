// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []line
	}{
		"plain":                {"a b\n", []line{{{0, style{}, "a b"}}}},
		"colour":               {"a \x1b[32mok\x1b[39m b", []line{{{0, style{}, "a "}, {2, style{colour: 3}, "ok"}, {4, style{}, " b"}}}},
		"bold and bright":      {"\x1b[1;91mx\x1b[0m", []line{{{0, style{colour: 10, bold: true}, "x"}}}},
		"over a line end":      {"\x1b[2ma\nb", []line{{{0, style{dim: true}, "a"}}, {{0, style{dim: true}, "b"}}}},
		"letters beyond Latin": {"✓ \x1b[31mx", []line{{{0, style{}, "✓ "}, {2, style{colour: 2}, "x"}}}},
		"a colour by number":   {"\x1b[38;5;208mx", []line{{{0, style{}, "x"}}}},
		"empty lines":          {"a\n\nb\n\n\n", []line{{{0, style{}, "a"}}, nil, {{0, style{}, "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(test.text); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, text := range []string{"$ helm <list>\n", "  \x1b[32mready\x1b[0m & well\n"} {
		file := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	out := filepath.Join(dir, "out.svg")
	if err := run(append([]string{"-o", out, "-columns", "20", "-title", "a & b"}, files...)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(data)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, data)
		}
	}
	for _, want := range []string{
		`viewBox="0 0 192 50"`, "<title>a &amp; b</title>", `>$ helm &lt;list&gt;</text>`,
		`<text x="32" y="29" textLength="40" fill="#7fd49b">ready</text>`, "prefers-reduced-motion: reduce",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the picture lacks %q:\n%s", want, data)
		}
	}
}
