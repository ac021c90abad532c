// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
)

func TestRender(t *testing.T) {
	for _, test := range []struct {
		name, source string
		columns      int
		want         string
	}{
		{"nothing", "", 80, ""},
		{"headings", "# One\n\nText\n\n## Two `x`\n", 80, "# One\n\nText\n\n## Two x\n"},
		{"a wrapped paragraph", "one two *three* four\nfive", 10, "one two\nthree four\nfive\n"},
		{"a line break", "one  \ntwo<br>three", 80, "one\ntwo\nthree\n"},
		{"a long word", "see https://example.com/a", 10, "see\nhttps://ex\nample.com/\na\n"},
		{"wide characters", "猫猫猫 猫猫", 6, "猫猫猫\n猫猫\n"},
		{"lists", "1. one\n2. two\n   - a\n   - b c d e f g h i j k l m\n\n- x\n\n- y\n", 27,
			"1. one\n2. two\n   • a\n   • b c d e f g h i j k l\n     m\n\n• x\n\n• y\n"},
		{"tasks", "- [ ] open\n- [x] done\n", 80, "• [ ] open\n• [x] done\n"},
		{"a quotation", "> one\n> two\n>\n> three\n", 80, "│ one two\n│\n│ three\n"},
		{"code is not wrapped", "```sh\nhelm install web ./web\n\tb\n```\n\n    indented\n", 10,
			"    helm install web ./web\n        b\n\n    indented\n"},
		{"links", "[docs](https://a.example) [part](#part) <https://b.example> [ref]\n\n[ref]: https://c.example", 80,
			"docs (https://a.example) part https://b.example ref (https://c.example)\n"},
		{"images", "[![build](https://a.example/x.svg)](https://b.example)", 80, "build (https://b.example)\n"},
		{"HTML", "<p align=\"center\">a <b>bold</b> &amp; word</p>\n<!-- hidden\nstill -->\n\n<script>x()</script>\n\na<i>b</i><!-- c -->", 80,
			"a bold & word\n\nab\n"},
		{"a rule", "a\n\n---\n", 5, "a\n\n─────\n"},
		{"a table", "| Name | Value |\n|---|:-:|\n| `a\\|b` | one two three |\n| c |\n| d | e | f |\n", 16,
			"Name  Value\n────  ──────────\na|b   one two\n      three\nc\nd     e\n"},
		{"a table below text", "text\n| a |\n|---|\n| b |\n", 80, "text\n\na\n─\nb\n"},
		{"no table", "a | b\n--- | --- | ---\nc\n", 80, "a | b --- | --- | --- c\n"},
		{"references to characters", "&#27;[2J &#x202e; &copy; \\*", 80, "\\x1b[2J \\u202e © *\n"},
		{"control characters", "a\x1b[2Jb `\x1b` \u202e\n\n```\n\x1b]0;x\a\n```\n\n<p>\x1b</p>\n", 80,
			"a\\x1b[2Jb \\x1b \\u202e\n\n    \\x1b]0;x\\x07\n\n\\x1b\n"},
		{"a backslash in HTML", `<p>\*&amp;`, 80, "\\*&\n"},
		{"a byte order mark", "\ufeff# One\n", 80, "# One\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Render([]byte(test.source), Options{Columns: test.columns}); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func always() term.Style { return term.Streams{Color: "always"}.Style(nil) }

func TestRenderColours(t *testing.T) {
	st := always()
	got := Render([]byte("# One\n\n**bold** _it_ `code`\n"), Options{Style: st})
	want := "\x1b[1;4mOne\x1b[0m\n\n\x1b[1mbold\x1b[0m \x1b[3mit\x1b[0m \x1b[36mcode\x1b[0m\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// hostile are documents of which parsers are afraid.
func hostile() map[string]string {
	nested, ticks := strings.Builder{}, strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(&nested, "%s- a\n", strings.Repeat("  ", i))
		fmt.Fprintf(&ticks, "x%s", strings.Repeat("`", i))
	}
	out := map[string]string{
		"nested lists": nested.String(), "ticks": ticks.String(),
		"quotations": strings.Repeat(">", 50_000) + "a", "columns": "|" + strings.Repeat("a|", 50_000) + "\n|" + strings.Repeat("-|", 50_000) + "\n",
		"a long word": strings.Repeat("a", maxSource-1), "large": strings.Repeat("\x1b", maxSource+1),
	}
	for _, s := range []string{"[", "![", "[a](", "*a _b ", "**a", "<", "<!--", "&", "\\", "`", "|", "~", "[a]: b\n", "[a](b \"", "![a](<b", "[a][", "]", "*a**", "_a*", "a|\n-|\n", "a\n--\n", "> ", "* ", "1. ", "    ", "\n", "\n>", "<a x=\"", "<?", "<!A",
		"<![CDATA[", "&#", "&a", "`a``b", "[a]: b '\n", "[a]: <b\n", "- a\n\n", "~~~\n", "a ", "é", "a\n\n", "- ", "<a "} {
		out[s] = strings.Repeat(s, 200_000/len(s))
	}
	return out
}

func TestRenderHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, source := range hostile() {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := Render([]byte(source), Options{Columns: 60})
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it took %s", took)
			}
			if term.Safe(got) != got {
				t.Error("the output has control characters")
			}
		})
	}
}

func FuzzRender(f *testing.F) {
	f.Add("# a\n\n| a | b |\n|--|--|\n| `c` | *d* |\n\n> - x\n>   1. y\n", 20)
	f.Add("&#27; <b>\x1b</b> [a](\x1b)\n\n    \x9b\n", 1)
	f.Fuzz(func(t *testing.T, source string, columns int) {
		if len(source) > 10_000 {
			t.Skip("large documents are slow")
		}
		began := time.Now()
		got := Render([]byte(source), Options{Columns: columns % 200})
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		if term.Safe(got) != got {
			t.Errorf("%q has control characters", got)
		}
	})
}
