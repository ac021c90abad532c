// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// byGoldmark parses source with goldmark.
func byGoldmark(source []byte) *node {
	p := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()
	doc := &node{kind: document}
	convertChildren(doc, p.Parse(text.NewReader(source)), source)
	return doc
}

func convertChildren(to *node, n ast.Node, source []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		convert(to, c, source)
	}
}

// convert adds n to the node to.
func convert(to *node, n ast.Node, source []byte) {
	c := &node{}
	switch n := n.(type) {
	case *ast.Text:
		add(to, plainText, unescaped(n.Segment.Value(source)))
		switch {
		case n.HardLineBreak():
			add(to, hardBreak, "")
		case n.SoftLineBreak():
			add(to, softBreak, "")
		}
		return
	case *ast.String:
		add(to, plainText, unescaped(n.Value))
		return
	case *ast.RawHTML:
		add(to, rawHTML, string(n.Segments.Value(source)))
		return
	case *ast.AutoLink:
		add(to, autolink, string(n.URL(source)))
		return
	case *ast.CodeSpan:
		var b strings.Builder
		for t := n.FirstChild(); t != nil; t = t.NextSibling() {
			b.Write(t.(*ast.Text).Segment.Value(source))
		}
		add(to, codeSpan, strings.ReplaceAll(b.String(), "\n", " "))
		return
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		add(to, codeBlock, string(n.Lines().Value(source)))
		return
	case *ast.HTMLBlock:
		html := string(n.Lines().Value(source))
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(source))
		}
		add(to, htmlBlock, html)
		return
	case *ast.Heading:
		c.kind, c.level = heading, n.Level
	case *ast.Paragraph, *ast.TextBlock:
		c.kind = paragraph
	case *ast.ThematicBreak:
		c.kind = rule
	case *ast.Blockquote:
		c.kind = quotation
	case *ast.List:
		c.kind, c.level, c.ordered, c.tight = list, n.Start, n.IsOrdered(), n.IsTight
	case *ast.ListItem:
		c.kind, c.tight = item, to.tight
	case *east.Table:
		c.kind = table
	case *east.TableHeader, *east.TableRow:
		c.kind = row
	case *east.TableCell:
		c.kind = cell
	case *ast.Emphasis:
		c.kind = emphasis + kind(n.Level-1)
	case *ast.Link:
		c.kind, c.text = link, unescaped(n.Destination)
	case *ast.Image:
		c.kind, c.text = image, unescaped(n.Destination)
	}
	to.add(c)
	convertChildren(c, n, source)
}

func add(to *node, k kind, text string) { to.add(&node{kind: k, text: text}) }

func unescaped(b []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}

// TestReference compares what is rendered of what we and goldmark find in short texts.
func TestReference(t *testing.T) {
	for _, source := range []string{
		"# a #\n## b ##c\n####### d\n#e\n#\n", "a\nb\n===\nc\n---\n", "a  \nb\\\nc", "  a\n   b", "***\n_ _ _\n--\n- - -\n",
		"*a* **b** ***c*** _d_ __e__ f_g_h *i**j*", "**a*b**c*", "*a _b* c_", "** a**", "*(**a**)*", "a*\"b\"*c", "*****a*****",
		"`a` `` b`c `` ` ` `d\ne` `f", "*a`*`*", "\\*a\\* \\a \\\\ \\", "&amp; &copy &nosuch; &#35; &#x41; &#0; &;",
		"[a](b) [a](<b c>) [a](b \"t\") [a]( b 't' ) [a](b (t)) [a]() [a](b c)", "[a](b\\)c) [a](b(c)d) [a](b(c)",
		"[a [b](c) d](e)", "![a [b](c) *d*](e)", "[![a](b)](c)", "[a](#b) [http://a](http://a)", "[a] [A][] [b][a] [b][c] [c]\n\n[a]: /x",
		"[a]:\n/x\n'a\nb'\nc [a]", "[a]: <x y> \"t\"\n[a]: z\n\n[a]", "[a]: x \"t\" b\n\n[a]", "[ a\n b ]\n\n[A B]: x",
		"<http://a> <a@b.example> <a:b> <ab:c d> < http://a>", "a <b c='d' e=\"f\" g=h i>j</b > <br> <br/>k <!-- l --> <?m?> <!N o> <![CDATA[p]]> <q",
		"```\na\n\n b\n```\nc", "~~~ go\na\n```\n~~~~", "  ```\n  a\n b\n   c\n  ```", "```\na", "``` a`b\nc", "    a\n\n      b\n\n\nc\n    d",
		"\ta\n \tb\n  \tc", "- a\n\n      b\n", "-\ta\n\n\tb\n", "> a\nb\n> c\n\nd", "> - a\n>\n> - b\n", "> ```\n> a\nb", ">a\n>> b\n> c", ">\n> a\n>",
		"- a\n- b\n\n- c", "- a\n\n  b\n- c", "- a\n  - b\n    - c\n- d\n", "- a\n  - b\n\n- c", "- a\n  - b\n\n    c\n- d", "- a\nb\n", "-\n  a\n-\n\n  b\n-",
		"- a\n+ b\n* c", "1. a\n2) b\n3. c\n", "007. a\n1234567890. b", "a\n- b\n2. c\n", "a\n1. b\n", "- a\n\n\n  b", "1. a\n  b\n   - c\n   d", "- - a\n  - b\n- # c\n- > d",
		"- a\n  ```\n  b\n\n  c\n  ```\n- d", "- a\n  > b\n  >\n- c", "- a\n<!-- b -->\n- c", "- [ ] a\n- [x] b", "* a *\n\n* * *\n- b\n- - -\n",
		"<div>\na *b*\n\n*c*\n</div>\n", "<!-- a\n\nb -->\nc", "<script>\na\n\nb</script>c\nd", "<a b>\nc\n\na\n<a b>\nc", "<p align=\"center\">\n  <img src=\"a\">\n  b\n</p>\n\nc", "<?a\n\n?>b", "<details>\n<summary>a</summary>\n\n- b\n\n</details>",
		"| a | b |\n|---|:-:|\n| c | d |\n| e |\n| f | g | h |\n\ni", "a|b\n-|-\nc|d", "| a |\n|---|\n| `b\\|c` \\| d |\n> e", "a\n| b |\n|---|\n| c |", "| a |\n|---|\n| b |\n---\nc",
		"> | a |\n> |---|\n> | *b* |\n", "- | a |\n  |---|\n  | b |\n", "| a |\n| --- |\n| b |\n- c", "a\r\nb\r\n\r\n- c\r\n", "\u00a0a *\u00a0b*", "a\x00b \xff",
	} {
		t.Run(source, func(t *testing.T) {
			o := Options{Columns: 60, Style: always()}
			compare(t, Render([]byte(source), o), render(byGoldmark([]byte(source)), o))
		})
	}
}

// TestReferenceDifferences has what we render otherwise than with goldmark, and why.
func TestReferenceDifferences(t *testing.T) {
	for _, test := range []struct{ why, source, want string }{
		{"an escaped ampersand starts no reference", `\&amp;`, "&amp;\n"},
		{"parentheses in an address are balanced", "[a]: b(\n", "[a]: b(\n"},
		{"a tab after a quotation's mark ends at a tab stop of the line", "> \t- a", "│ • a\n"},
		{"white space after a tag at the start of a block of HTML is any", "<b>\t\n*a*", "*a*\n"},
		{"a table's header has as many cells as the row below it", "a\n-|-", "a -|-\n"},
		{"a blank line in code is one without a line end too", "- ~~~\n  a\n  ", "•     a\n\n"},
	} {
		t.Run(test.why, func(t *testing.T) {
			got := Render([]byte(test.source), Options{})
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got == render(byGoldmark([]byte(test.source)), Options{}) {
				t.Error("it is the same with goldmark")
			}
		})
	}
}

// TestReferenceCorpus compares what is rendered of the READMEs of public charts.
func TestReferenceCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus", "charts")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the corpus of public charts is not here")
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.EqualFold(filepath.Ext(path), ".md") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t.Run(strings.TrimPrefix(path, root), func(t *testing.T) {
			o := Options{Columns: 80, Style: always()}
			compare(t, Render(source, o), render(byGoldmark(source), o))
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports the first line that differs.
func compare(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("line %d: got\n%s\nwant\n%s", i+1, g[i], w[i])
			return
		}
	}
	if len(g) != len(w) {
		t.Errorf("got %d lines, want %d", len(g), len(w))
	}
}
