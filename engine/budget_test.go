// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"testing"
)

// Functions with huge results, endless loops and stack overflows, which would end the process,
// must fail quickly.
func TestFunctionsLimitResults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	circle := `{{ $x := dict }}{{ $_ := set $x "a" $x }}`
	hidden := `{{ $x := dict }}{{ $_ := set $x "a" (chunk 1 (list $x)) }}` // in a list of lists
	table := `{{ $x := fromToml "[[a]]\nb=1" }}{{ $_ := set (index $x.a 0) "c" $x }}`
	large := `{{ $s := repeat 30000000 "x" }}`
	many := strings.Repeat(" $s", 40)
	texts := []string{
		`{{ $l := list 1 }}{{ range until 40 }}{{ $l = concat $l $l }}{{ end }}`,
		`{{ $l := list }}{{ range until 10000 }}{{ $l = append $l (until 1000000) }}{{ end }}`,
		`{{ $l := list }}{{ range until 10000 }}{{ $l = append $l (repeat 30000000 "x") }}{{ end }}`,
		`{{ replace "" (repeat 1000000 "x") (repeat 1000000 "y") }}`,
		`{{ regexReplaceAll "" (repeat 100000 "x") (repeat 100000 "y") }}`,
		`{{ regexReplaceAllLiteral "" (repeat 100000 "x") (repeat 100000 "y") }}`,
		`{{ regexReplaceAll "(.*)" (repeat 100000 "x") (repeat 100000 "$1") }}`,
		`{{ join (repeat 1000000 "x") (until 1000000) }}`,
		large + `{{ join "" (list` + many + `) }}`, large + `{{ print` + many + ` }}`, large + `{{ cat` + many + ` }}`,
		large + `{{ mustToJson (list` + many + `) }}`, large + `{{ mustToYaml (list` + many + `) }}`,
		`{{ printf (repeat 1000 "%[1]100000d") 1 }}`, large + `{{ printf (repeat 100 "%[1]s") $s }}`, `{{ printf (repeat 100 "%*d ") 999999 1 }}`,
		`{{ splitList "" (repeat 20000000 "x") }}`, `{{ split "" (repeat 20000000 "x") }}`,
		`{{ regexFindAll "." (repeat 1100000 "x") -1 }}`, `{{ regexSplit "" (repeat 1100000 "x") -1 }}`,
		`{{ wrapWith 1 (repeat 100000 "y") (repeat 100000 "xx ") }}`, `{{ randBytes 100000000000 }}`,
		`{{ untilStep -9223372036854775807 9223372036854775807 1 }}`, `{{ untilStep 9223372036854775800 9223372036854775807 3 }}`,
		`{{ seq -1000001 1 1000001 }}`, `{{ uniq (until 1000000) }}`,
		`{{ tpl (repeat 1000000 "{{if 1}}") . }}`, `{{ tpl (print "{{if 0}}" (repeat 1000000 "{{else if 0}}")) . }}`,
		`{{ tpl (print "{{ 1 " (repeat 2000000 "| default 1") "}}") . }}`,
		`{{ define "a" }}` + strings.Repeat("{{ if 1 }}", 900) + `{{ include "a" . }}` + strings.Repeat("{{ end }}", 900) + `{{ end }}{{ include "a" . }}`,
		`{{ define "a" }}{{ ` + strings.Repeat("(", 900) + `include "a" .` + strings.Repeat(")", 900) + ` }}{{ end }}{{ include "a" . }}`,
		`{{ required "x" (fromToml (print "a = " (repeat 30000000 "["))).a }}`, `{{ required "x" (fromToml (print "a" (repeat 1000000 ".a") " = 1")).a }}`,
		`{{ define "a" }}{{ if gt (int .) 0 }}{{ include "a" (sub . 1) }}{{ include "a" (sub . 1) }}{{ end }}{{ end }}{{ include "a" 900 }}`,
		`{{ .Files.Glob (repeat 100000 "{a,b}") }}`,
	}
	for _, call := range []string{
		`int $x`, `urlquery $x`, `dict $x 1`, `sortAlpha (list $x)`, `toDecimal $x`, `add $x 1`, `float64 $x`, `round $x 1`,
		`max $x 1`, `slice (list $x) 0 $x`, `genSelfSignedCert "a" (list $x) (list) 1`, `printf "%v" $x`, `$x`, `deepEqual $x (deepCopy $x)`,
	} {
		texts = append(texts, circle+`{{ `+call+` }}`)
	}
	for _, c := range []string{hidden, table} {
		texts = append(texts, c+`{{ $x }}`, c+`{{ int $x }}`)
	}
	for _, text := range texts {
		e := renderError(t, map[string]string{"templates/a.yaml": text})
		if len(e.Error()) > 10_000 {
			t.Errorf("%.60s: the message has %d bytes", text, len(e.Error()))
		}
	}
}

func TestSurvey(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "0 0",
		"a {{ b }} c":                          "3 0",
		"{{ if x }}{{ if y }}{{ end }}{{end}}": "20 2",
		"{{- if x }}{{ else if y }}{{ else with z }}{{ end }}{{ if x }}{{ end }}": "47 3",
		"{{/* {{ if }} */}}{{ \"{{if}} }}\" }}{{ `}}` }}{{ '\"' }}":               "24 0",
		"{{ iffy }}{{if(x)}}": "11 1",
		"{{ \"open":           "6 0",
	} {
		t.Run(text, func(t *testing.T) {
			if code, depth := measure(text); fmt.Sprint(code, depth) != want {
				t.Errorf("%s: got %d %d, want %s", text, code, depth, want)
			}
		})
	}
}
