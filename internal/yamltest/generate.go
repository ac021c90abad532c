// SPDX-License-Identifier: Apache-2.0

// Package yamltest supports tests of YAML readers. [Document] generates YAML of all kinds from a
// fuzzer's bytes, and [Values] and [Object] read YAML as Helm does, with a full parser:
//
//	f.Fuzz(func(t *testing.T, seed []byte) {
//		text := yamltest.Document(yamltest.AnyMap, seed)
//		want, err := yamltest.Values(text)
//		...
//	})
//
// It imports no other package of the module, and only tests import it.
package yamltest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Form is the kind of a generated document.
type Form int

// The forms.
const (
	AnyMap     Form = iota // a values file
	Kubernetes             // an object with apiVersion, kind and metadata
	ChartIndex             // an index.yaml
)

// Document generates a document from seed. Most documents are valid YAML; some are almost valid.
// The same seed generates the same document. Bytes are used in order, so that a small change of the
// seed results in a small change of the document.
func Document(form Form, seed []byte) string {
	g := &generator{seed: seed}
	g.mild = !g.chance(3)
	style := g.pick(16)
	switch form {
	case Kubernetes:
		g.object()
	case ChartIndex:
		g.index()
	default:
		g.stream()
	}
	return g.finish(style)
}

// generator generates YAML. An exhausted seed selects 0, which always ends a production.
type generator struct {
	strings.Builder
	seed  []byte
	depth int
	// mild makes unusual syntax much rarer.
	mild bool
	// distinct makes keys unique: an index with a duplicate key is invalid as a whole.
	distinct bool
	keys     int
}

// pick returns a number less than n.
func (g *generator) pick(n int) int {
	if len(g.seed) == 0 {
		return 0
	}
	b := g.seed[0]
	g.seed = g.seed[1:]
	return int(b) % n
}

// chance returns true once in n calls, and false at the end of the seed.
func (g *generator) chance(n int) bool { return g.pick(n) == n-1 }

// odd is chance for unusual syntax.
func (g *generator) odd(n int) bool {
	if g.mild {
		n = min(10*n, 250)
	}
	return g.chance(n)
}

// ofUsual returns one of from, mostly one of the first usual elements.
func (g *generator) ofUsual(usual int, from []string) string {
	if !g.mild || g.chance(40) {
		usual = len(from)
	}
	return g.of(from[:usual])
}

func (g *generator) of(from []string) string { return from[g.pick(len(from))] }

func (g *generator) indent(n int) { g.WriteString(strings.Repeat(" ", n)) }

// finish changes line ends and the beginning and end of the text.
func (g *generator) finish(style int) string {
	text := g.String()
	switch style {
	case 8, 9:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 10:
		text = strings.Replace(text, "\n", "\r", 2)
	case 11:
		text = "\ufeff" + text
	case 12:
		text = strings.Replace(text, "\n", "\r\r\n", 1)
	}
	switch style % 4 {
	case 1:
		text = strings.TrimRight(text, "\r\n")
	case 2:
		text = strings.TrimSuffix(text, "\n")
	case 3:
		text += "\n"
	}
	return text
}

// stream generates one or more documents.
func (g *generator) stream() {
	if g.odd(12) {
		g.WriteString(g.of([]string{"---\n", "--- \n", "--- # c\n", "%YAML 1.1\n---\n", "# c\n---\n",
			"---\n---\n", "\n", "# c\n", "--- ", "---\t\n", "...\n", "#\n\n#c\n"}))
	}
	g.blockMap(0)
	for g.odd(8) {
		g.WriteString(g.of([]string{"---\n", "--- # c\n", "...\n", "...\n---\n", "---\n# c\n", "---\n\n",
			" ---\n", "----\n"}))
		g.blockMap(0)
	}
	if g.odd(12) {
		g.WriteString(g.of([]string{"# end", "...\n", "---\n", "  # end\n", " ", "\t", "\n\n", "... # end\n"}))
	}
}

func (g *generator) object() {
	if g.chance(10) {
		g.WriteString("# Source: a/templates/b.yaml\n")
	}
	g.WriteString(g.of([]string{"apiVersion: v1\nkind: ConfigMap\n", "kind: \"Secret\"\napiVersion: 'v1'\n",
		"{apiVersion: v1, kind: Pod}\n", "apiVersion: apps/v1\nkind: Deployment # c\n"}))
	g.WriteString("metadata:\n  name: ")
	g.scalar(2)
	for _, key := range []string{"labels", "annotations"} {
		if g.chance(3) {
			g.WriteString("  " + key + ":")
			g.node(2, false)
		}
	}
	if g.chance(4) {
		g.WriteString("  namespace: x\n")
	}
	g.WriteString("data:")
	g.node(0, true)
	if g.chance(2) {
		g.blockMap(0)
	}
}

func (g *generator) index() {
	if g.chance(10) {
		g.WriteString(g.of([]string{"---\n", "# c\n", "%YAML 1.1\n---\n"}))
	}
	g.WriteString(g.of([]string{"apiVersion: v1\n", "apiVersion: \"v1\" # c\n",
		"apiVersion: v1\nserverInfo: {contextPath: /x}\n"}))
	g.WriteString("entries:\n")
	dash := g.pick(3)
	g.distinct = !g.odd(5)
	first := g.pick(6)
	for i := range 1 + g.pick(3) {
		if !g.distinct {
			i = g.pick(6)
		}
		g.WriteString("  " + []string{"web", "\"zoo\"", "'a'", "1", "a.b", "b-c"}[(first+i)%6] + ":\n")
		for range 1 + g.pick(3) {
			g.indent(2 + dash)
			g.WriteString("- ")
			g.entry(4 + dash)
		}
	}
	if g.chance(2) {
		g.WriteString("generated: \"2026-01-02T03:04:05Z\"\n")
	}
}

// entry generates an entry of a chart, after the dash.
func (g *generator) entry(column int) {
	g.WriteString(g.of([]string{"name: web\n", "name: 'web' # c\n", "name:\n" + strings.Repeat(" ",
		column+2) + "web\n", "# c\n" + strings.Repeat(" ", column) + "name: web\n"}))
	used := [len(fields)]bool{}
	for range 1 + g.pick(6) {
		n := g.pick(len(fields))
		if used[n] && g.distinct {
			continue
		}
		used[n] = true
		g.comment(column)
		g.indent(column)
		g.WriteString(fields[n])
		switch n {
		case 0:
			g.WriteString(g.of([]string{" 1.0.0\n", " \"2.0.0\"\n", " 1.10\n", " 1.0.0-rc.1+b # c\n",
				"\n" + strings.Repeat(" ", column+1) + "1.0.0\n", " |-\n" + strings.Repeat(" ",
					column+1) + "1.0.0\n", " 1e3\n", " v1.2\n"}))
		case 1, 2:
			g.list(column)
		case 3:
			g.WriteString(" 2020-01-02T03:04:05.6Z\n")
		case 4:
			g.WriteString("\n")
			g.indent(column)
			g.WriteString("- name:")
			g.node(column+2, false)
		case 5:
			g.WriteString("\n")
			g.indent(column)
			g.WriteString("- {name: a, version: ")
			g.flow()
			g.WriteString("}\n")
		case 6, 7, 8:
			g.WriteString(" ")
			g.scalar(column)
		default:
			g.node(column, true)
		}
	}
}

// fields are the keys of an entry; entry generates their values.
var fields = [...]string{"version:", "urls:", "keywords:", "created:", "maintainers:", "dependencies:",
	"description:", "home:", "appVersion:", "annotations:", "x-y:", "\"icon\":"}

func (g *generator) list(column int) {
	g.WriteString("\n")
	for range 1 + g.pick(3) {
		g.indent(column)
		g.WriteString("- ")
		g.scalar(column)
	}
}

// blockMap generates a mapping in block style.
func (g *generator) blockMap(column int) {
	g.depth++
	defer func() { g.depth-- }()
	for range 1 + g.pick(4) {
		g.comment(column)
		g.indent(column)
		g.mapEntry(column)
	}
}

// mapEntry generates a key and its value, after the indentation.
func (g *generator) mapEntry(column int) {
	n := g.pick(40)
	if g.mild && !g.chance(8) {
		n = 0
	}
	switch n {
	case 37:
		g.WriteString("<<: " + g.merged() + "\n")
		return
	case 38:
		g.WriteString("? " + g.key() + "\n")
		g.indent(column)
		g.WriteString(":")
	case 39:
		g.WriteString(g.of([]string{"&k ", "!!str ", "*a1 ", "[a]", "? |\n  "}) + g.key() + " :")
	default:
		g.WriteString(g.key() + ":")
	}
	g.node(column, true)
}

func (g *generator) merged() string {
	return g.of([]string{"{m: 1, a: 2}", "*a1", "[*a1, {b: 1}]", "[{c: 1}, {c: 2, d: 3}]", "1", "~", "{}",
		"{1: 2, a: ~}"})
}

func (g *generator) comment(column int) {
	if g.chance(14) {
		g.indent(column + g.pick(4))
		g.WriteString(g.ofUsual(6, []string{"# c\n", "#\n", "# a: b\n", "#-\n", "\n", "   \n", "\t# c\n",
			"\t\n", "# \u00e9\n"}))
	}
}

// node generates a value after a colon or a dash at column, including the end of its last line.
func (g *generator) node(column int, ofKey bool) {
	if g.odd(16) {
		g.WriteString(g.of([]string{" &a1", " !!str", " !x", " !!int", " !!float", " !!binary", " &a2 !!map",
			" !!null", " !!bool", " !", " !!seq", " !!timestamp"}))
	}
	if g.depth > 5 {
		g.WriteString(" ")
		g.scalar(column)
		return
	}
	n := g.pick(12)
	if g.mild && (n == 7 || n == 9) {
		n = 0
	}
	switch n {
	case 1, 2:
		g.WriteString("\n")
		g.blockMap(column + 2 - g.shift())
	case 3, 4:
		g.WriteString("\n")
		g.blockList(max(0, column+2*g.pick(2)-g.shift()), ofKey)
	case 5:
		g.WriteString(" ")
		g.flow()
		g.WriteString(g.ofUsual(3, []string{"\n", " # c\n", " \n", "#c\n"}))
	case 6:
		g.WriteString(g.ofUsual(3, []string{"\n", " \n", " # c\n", "\t\n", " ~\n"}))
	case 7:
		g.WriteString(g.of([]string{" *a1\n", " *a2\n", " *a1 # c\n"}))
	case 8:
		g.WriteString("\n")
		g.indent(column + 1 + g.pick(3))
		g.scalar(column)
	case 9:
		g.WriteString(g.of([]string{"  ", "\t", "   ", " \t"}))
		g.scalar(column)
	default:
		g.WriteString(" ")
		g.scalar(column)
	}
}

func (g *generator) blockList(column int, ofKey bool) {
	if !ofKey {
		column++
	}
	g.depth++
	defer func() { g.depth-- }()
	for range 1 + g.pick(3) {
		g.comment(column)
		g.indent(column)
		g.WriteString("-")
		switch g.pick(6) {
		case 1:
			gap := 1 + g.pick(3)
			g.indent(gap)
			g.mapEntry(column + 1 + gap)
			if g.chance(2) {
				g.blockMap(column + 1 + gap)
			}
		case 2:
			g.WriteString(" - ")
			g.scalar(column + 2)
		default:
			g.node(column, false)
		}
	}
}

// flow generates a value in flow style.
func (g *generator) flow() {
	g.depth++
	defer func() { g.depth-- }()
	gap := g.ofUsual(3, []string{"", "", " ", "\n  ", " # c\n  "})
	switch n := g.pick(9); {
	case n == 1 && g.depth < 6:
		g.WriteString("[" + gap)
		for i := range g.pick(4) {
			if i > 0 {
				g.WriteString(g.ofUsual(3, []string{", ", ",", " , ", ",\n  "}))
			}
			g.flow()
		}
		g.WriteString(g.ofUsual(3, []string{"]", "]", " ]", ",]", "\n ]"}))
	case n == 2 && g.depth < 6:
		g.WriteString("{" + gap)
		for i := range g.pick(4) {
			if i > 0 {
				g.WriteString(g.ofUsual(3, []string{", ", ",", " , ", ",\n  "}))
			}
			g.WriteString(g.key() + g.ofUsual(2, []string{": ", ": ", " : ", ":", ":\n  ", ""}))
			g.flow()
		}
		g.WriteString(g.ofUsual(3, []string{"}", "}", " }", ",}", "\n }"}))
	case n == 3 && !g.mild:
		g.WriteString(g.of([]string{"*a1", "&a3 x", "!!str 1", "a: b", "- a", "? a", "<<: {a: 1}"}))
	case n == 4:
		g.WriteString(g.number())
	case n == 5:
		g.quoted()
	case n == 6:
		g.WriteString(g.word())
	default:
		g.WriteString(g.of(plainWords))
	}
}

// scalar generates a scalar and its line end. column is the column of the enclosing collection.
func (g *generator) scalar(column int) {
	n := g.pick(12)
	if g.mild && (n == 6 || n == 7) && !g.chance(10) {
		n = 0
	}
	switch n {
	case 1:
		g.WriteString(g.number())
	case 2:
		g.WriteString(g.word())
	case 3:
		g.quoted()
	case 4:
		g.block(column)
		return
	case 5:
		g.WriteString(g.of(plainWords))
		for range 1 + g.pick(3) {
			g.WriteString(g.ofUsual(4, []string{"\n", "\n\n", " \n", "\n \n", "\t\n"}))
			g.indent(column + 1 + g.pick(3))
			g.WriteString(g.of(plainWords))
		}
	case 6:
		g.WriteString(g.of(oddPlain))
	case 7:
		fmt.Fprintf(g, "%s %s", g.of(plainWords), g.of(oddPlain))
	default:
		g.WriteString(g.of(plainWords))
	}
	g.WriteString(g.ofUsual(6, []string{"\n", "\n", "\n", " # c\n", "  \n", " #\n", "#c\n", "\t\n", "\t# c\n"}))
}

var (
	plainWords = []string{"a", "text", "10Gi", "1.2.3", "x-y", "/bin/sh", "nginx:1.27", "a b", "é",
		"http://h:80/p", "a@b", "$(X)", "100m", "a.b/c", "v1", "日本"}
	oddPlain = []string{"-", "- x", "?", ": x", "a: b", "a:", "a #b", "a#b", "it's", "say \"x\"", "@x", "`x",
		"%x", "*x", "&x y", "!x y", "|x", ">x", "=", "<<", "-x", "--x", "---", "--- x", "...", "~x", ",x", "]",
		"}", "a]b}", "x,y", "{x", "[x", "\\x", "x\\", "\x07", "\u2028", "\u0085x", "\ufeffx", "\xff", "a\tb",
		"\u00a0", "a\u00a0b", "-\tx", "?x", ":x", "<", "^", "(x)", ";", "+", ".", "..", "'", "\"", "\u007f",
		"\ud7ff", "\ufffd", "\U0001f600"}
)

func (g *generator) number() string {
	return g.of([]string{"1", "0", "-1", "1.5", "1e3", "010", "08", "0o7", "0x1F", "0b11", "1_000", "+5", "-0",
		"-0.0", ".5", "5.", "1e400", ".inf", "-.Inf", ".NaN", "+.inf", "12345678901234567890",
		"9007199254740993", "-9223372036854775808", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", "1:30", "190:20:30", "2001-12-14", "2001-12-14t21:59:43.10-05:00",
		"2001-12-14 21:59:43.10 -5", "1__2", "_1", "0x_1", "0X1F", "0B11", "00", "-010", "+0e2", "0b0", "1e-7",
		"1.0", "1.10", "6.8523015e+5", "685_230.15", "0.1", "100000000000000000000", "1e21", "-0b11", "+0x1",
		"0777", "1,000", "1e+3", "1.e3", "e3", "1E3", "0.", "-.5", "-5.", "--1", "1-1", "0x", "0b2", "1e",
		"2001-1-2", "2001-12-14T21:59:43Z"})
}

func (g *generator) word() string {
	return g.of([]string{"true", "True", "TRUE", "tRue", "false", "yes", "Yes", "yEs", "no", "NO", "on", "On",
		"off", "OFF", "y", "Y", "n", "N", "null", "Null", "NULL", "nUll", "~", "nil", "none", "", "t", "f"})
}

func (g *generator) key() string {
	n := g.pick(10)
	if g.mild && n > 7 && !g.chance(4) {
		n = 0
	}
	switch n {
	case 6:
		return g.number()
	case 7:
		return g.word()
	case 8:
		return g.of([]string{"\"a\"", "'b'", "\"1\"", "'true'", "\"\\u00e9\"", "'it''s'", "\"a b\"", "''",
			"\"\\\"\"", "'a: b'", "\"#\"", "\"a\tb\"", "'0'"})
	case 9:
		return g.of([]string{"a b", "a.b/c", "/x", "$x", ".x", "-x", "a:b", "é", "a  b", "x@y", "a#b", "(x)",
			"a+b", "~x", "=", "<<", "<", "a,b", "?x", "_", "a'b", "@x", "a\tb", "日", strings.Repeat("k", 199),
			strings.Repeat("k", 1025), "a]", "|x"})
	}
	k := g.of([]string{"a", "b", "c", "name", "image", "tag", "app.kubernetes.io/name", "x1"})
	if g.distinct {
		g.keys++
		k += strconv.Itoa(g.keys)
	}
	return k
}

// quoted generates a quoted scalar, possibly with several lines.
func (g *generator) quoted() {
	pieces := []string{"a", " ", "text", ": ", "#", " # ", "-", "'", "é", "{", "\n  ", "\n\n   ", "\t",
		"\n    ", "\n", "  "}
	quote := "'"
	if g.chance(2) {
		quote = "\""
		pieces = append(pieces, "\\n", "\\t", "\\\"", "\\\\", "\\u00e9", "\\x41", "\\/", "\\ ", "\\\n   ",
			"\\0", "\\e", "\\N", "\\U0001f600", "\\ud83d\\ude00", "\\q", "\\_", "\\L", "\\a")
	} else {
		pieces = append(pieces, "''", "\"", "\\")
	}
	g.WriteString(quote)
	for range g.pick(6) {
		p := g.ofUsual(10, pieces)
		if p == quote && !g.chance(8) {
			continue
		}
		g.WriteString(p)
	}
	g.WriteString(quote)
}

// block generates a block scalar. column is the column of the enclosing collection.
func (g *generator) block(column int) {
	header := g.ofUsual(6, []string{"|", ">", "|-", ">-", "|+", ">+", "|2", ">1", "|2-", "|-2", "|+1", ">3+",
		"|0", "|10", "|--", "|x"})
	g.WriteString(header + g.ofUsual(5, []string{"\n", "\n", "\n", " # c\n", "  \n", "#c\n", " #\n", "\t\n"}))
	inner := column + 1 + g.pick(4)
	for range g.pick(6) {
		line := g.ofUsual(12, []string{"x", "text: y", "  more", "", " ", "    ", "# c", "- a", "x  ", "\"q",
			"---", "é", "\ttab", "x\t", "x\\", "\u2028y", " \t", "...", "\u0085"})
		if line != "" || g.chance(3) {
			g.indent(inner - min(inner, g.unindent()))
		}
		g.WriteString(line + "\n")
	}
}

// shift returns the deviation from the usual indentation, which is mostly 0.
func (g *generator) shift() int {
	if g.odd(6) {
		return []int{1, -1, -2, 2}[g.pick(4)]
	}
	return 0
}

// unindent returns by how much less than its block a line is indented, which is mostly 0.
func (g *generator) unindent() int {
	if g.odd(12) {
		return 1 + g.pick(3)
	}
	return 0
}

// Seeds returns seeds for a fuzz target.
func Seeds() [][]byte {
	out := make([][]byte, 64)
	for i := range out {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		out[i] = make([]byte, 16+2*i)
		for j := range out[i] {
			out[i][j] = byte(r.Uint32())
		}
	}
	return out
}
