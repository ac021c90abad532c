// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"text/template/parse"
)

// compareParse compares our parser with Go's and reports whether ours supports text.
func compareParse(t *testing.T, text string) bool {
	t.Helper()
	known := newEngine(&Input{}).known
	got, ok := quickParse(text, known, &arena{})
	if !ok {
		return false
	}
	want, err := slowParse(text, known)
	if err != nil {
		t.Errorf("%q: we take it, Go says %v", text, err)
		return true
	}
	if len(got) != len(want) {
		t.Errorf("%q: got %d bodies, want %d", text, len(got), len(want))
	}
	for name, tree := range want {
		if got[name] == nil || !sameTree(got[name], tree) {
			t.Errorf("%q: %s is\n%v\nwant\n%v", text, name, got[name], tree)
		}
	}
	return true
}

// sameTree compares two trees, including the positions that errors use.
func sameTree(a, b parse.Node) bool {
	return a.String() == b.String() && places(a) == places(b)
}

func places(n parse.Node) string {
	var b strings.Builder
	var walk func(parse.Node)
	list := func(l *parse.ListNode) {
		if l != nil {
			walk(l)
		}
	}
	branch := func(x *parse.BranchNode) {
		walk(x.Pipe)
		list(x.List)
		list(x.ElseList)
	}
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			for _, c := range n.Nodes {
				walk(c)
			}
			return
		case *parse.PipeNode:
			if n == nil {
				return
			}
			for _, c := range n.Cmds {
				walk(c)
			}
			return
		case *parse.ActionNode:
			walk(n.Pipe)
			return
		case *parse.IfNode:
			branch(&n.BranchNode)
			return
		case *parse.WithNode:
			branch(&n.BranchNode)
			return
		case *parse.RangeNode:
			branch(&n.BranchNode)
			return
		case *parse.TextNode, *parse.BreakNode, *parse.ContinueNode:
			return
		case *parse.TemplateNode:
			walk(n.Pipe)
		case *parse.ChainNode:
			walk(n.Node)
		case *parse.CommandNode:
			for _, c := range n.Args {
				walk(c)
			}
		}
		b.WriteString(n.String())
		b.WriteByte('@')
		b.WriteString(strings.Repeat("i", int(n.Position())))
		b.WriteByte(' ')
	}
	walk(n)
	return b.String()
}

func parseSeeds() []string {
	return append(judged(),
		"{{- if .a -}} x {{- else if .b }} y {{ else -}} z {{- end -}}\n", "{{ with .a }}{{ . }}{{ else with .b }}{{ . }}{{ else }}n{{ end }}", "{{ if .a }}{{ else with .b }}{{ end }}", "{{ range .a }}{{ else range .b }}{{ end }}", "{{ range .a }}{{ else }}{{ break }}{{ end }}", "{{ range .a }}{{ if . }}{{ continue }}{{ end }}{{ end }}", "{{ if .a }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}", "{{ if .a }}{{ $x := 1 }}{{ end }}{{ $x }}", "{{ with $x := .a }}{{ $x }}{{ end }}{{ $x }}", "{{ range $i, $e := .a }}{{ $i }}{{ end }}", "{{ range $i, $e = .a }}{{ end }}", "{{ range $i , $e:=.a}}{{ end }}", "{{ range $i, .a }}{{ end }}", "{{ range $i, $j }}{{ end }}", "{{ range $i, $j, $k := .a }}{{ end }}", "{{ $a, $b := .x }}", "{{ $x:=1 }}{{$x=2}}{{$x}}", "{{ $x == 1 }}", "{{ $ = 1 }}", "{{ $x := $x }}",
		"{{/**/}}", "{{- /* a */ -}} b", "{{/* a */ -}}b", "{{ /* a */ }}", "{{/* a */  -}}", "{{/* a }}", "{{/* a */-}}", "{{-/* a */}}", "{{- /* a */}}", "{{/* }} */}}x",
		"{{-3}}", "{{- 3}}", "{{3 -}} x", "{{3-}}", "{{ 3 - }}", "{{ . -}}\n\n x", "{{\n.a\n|\nquote\n}}", "{{.a|quote}}", "{{quote .a|upper}}", "{{(.a)}}", "{{(.a).b.c}}", "{{ (.a) .b }}", "{{ (.a).b .c }}", "{{ ( .a ) }}", "{{ (print 1 (add 1 2)) }}", "{{ (print 1 (add 1 2) }}", "{{ print 1) }}", "{{ () }}", "{{ (.a | quote) | len }}", "{{ .a.b.c.d }}{{ $.a.b }}{{ $ }}", "{{ .a..b }}", "{{ .a. }}", "{{ . a }}", "{{ ..a }}", "{{ .1 }}", "{{ .é }}", "{{ $é := 1 }}", "{{ .a1_b }}", "{{ ._x }}", "{{ .a,b }}", "{{ print .a,.b }}", "{{ print.a }}", "{{ print(1) }}", "{{ print \"a\"\"b\" }}", "{{ print \"a\" \"b\" }}", "{{ print `a\nb` }}", "{{ print `a\r\nb` }}", "{{ \"a\\\"b\" }}", "{{ \"a\nb\" }}", "{{ \"\\x\" }}", "{{ \"}}\" }}", "{{ `{{` }}", "{{ '}' }}", "{{ 1.50 }}{{ 01 }}{{ 1. }}{{ .5 }}{{ 1e3 }}{{ 0 }}{{ -0 }}{{ 0.0 }}{{ 1_0 }}{{ 1a }}{{ 9007199254740993 }}{{ 123456789012345678 }}", "{{ -1.5 }}{{ -a }}{{ +1 }}", "{{ true }}{{ false | not }}{{ not true }}", "{{ 1 | true }}", "{{ .a | .b }}", "{{ .a | $ }}", "{{ .a | (quote) }}", "{{ .a | nil }}", "{{ .a || .b }}", "{{ | quote }}", "{{}}", "{{ }}", "{{ if }}", "{{if .a}}", "{{end}}", "{{else}}", "{{ if .a }}{{ else }}{{ else }}{{ end }}", "{{ if.a }}{{ end }}", "{{ if(.a) }}{{ end }}", "{{ if .a }}{{ else if(.b) }}{{ end }}", "{{ if .a }}{{ elseif .b }}{{ end }}", "{{ if .a }}{{ else if }}{{ end }}", "{{ ifx }}", "{{ end.a }}", "{{ end -}} x", "{{ print if }}",
		"{{ define \"a\" }}x{{ end }}{{ define \"b\" }}{{ template \"a\" . }}{{ end }}y", "{{ define \"a\" }}{{ define \"b\" }}{{ end }}{{ end }}", "{{ if .a }}{{ define \"b\" }}{{ end }}{{ end }}", "{{ define `a` }}{{ end }}", "{{ define a }}{{ end }}", "{{ define \"a\" . }}{{ end }}", "{{ define \"a\" }}{{ end }}{{ define \"a\" }}{{ end }}", "{{ define \"a\" }}{{ $ }}{{ end }}", "{{ range .a }}{{ block \"b\" . }}{{ break }}{{ end }}{{ end }}", "{{ block \"b\" .a }}{{ . }}{{ end }}", "{{ block \"b\" }}{{ end }}", "{{ template \"a\" }}{{ template \"a\" .b.c }}{{ template \"a\" (dict \"x\" .) }}", "{{ template a }}", "{{ template \"a\" . . }}", "{{ template \"a\" | quote }}", "{{define \"a\"}}{{template \"a\" .}}{{end}}", "{{ break }}", "{{ range . }}{{ break .a }}{{ end }}", "{{ define \"\" }}{{ end }}", "{{ define \"a\" -}}\n x {{- end }}", "a }} b", "{ {", "{{{ .a }}}", "{{ .a }}}", "}}{{", "{{ \"a", "{{ `a", "{{ (", "{{ $", "{{ .", "{{ a", "{{ 1", "{{-", "{{- ", "{{ -}}", "{{ .a -}}", "{{ .a-}}", "{{.a }}-{{ .b}}", "{{ index .a \"b\" 0 }}", "{{ not (and .a (or .b .c)) }}", "{{ eq .a.b \"x\" | not }}", "{{ print nil }}", "{{ print . }}", "{{ print $ }}", "{{ \"a\" }}\x00", "{{ template \"a\" $x }}", "é{{ .a }}ü", "{{ print \"é\" }}",
	)
}

func TestParserAgreesWithGo(t *testing.T) {
	taken := 0
	for _, text := range parseSeeds() {
		if compareParse(t, text) {
			taken++
		}
	}
	if taken < 200 {
		t.Errorf("our parser takes only %d of the samples", taken)
	}
}

func FuzzTemplateParser(f *testing.F) {
	for _, text := range parseSeeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compareParse(t, text) })
}
