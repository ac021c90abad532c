// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestErrorMissingValue(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a key that is spelled another way": {
			map[string]string{
				"templates/a.yaml": "kind: x\nspec:\n  image: {{ .Values.image.tag | quote }}\n",
				"values.yaml":      "images: {tag: 1}\nreplicas: 1\nservice: {}\n",
			},
			`web/templates/a.yaml:3:13: .Values.image is not set, so it has no "tag" (nil pointer evaluating interface {}.tag)
  3 |   image: {{ .Values.image.tag | quote }}
    |             ^^^^^^^^^^^^^^^^^
  .Values has: images, service, replicas
  did you mean .Values.images?`,
		},
		"the way to a template that failed": {
			map[string]string{
				"templates/a.yaml": `spec: {{ include "web.pod" . }}`,
				"templates/_h.tpl": "{{ define \"web.pod\" }}\n  a: {{ template \"web.img\" .Values }}\n{{ end }}\n{{ define \"web.img\" }}\n\t{{ .image.repo.name }}{{ end }}",
				"values.yaml":      "image: {repository: 1, tag: x}\n",
			},
			`web/templates/_h.tpl:5:5: .image.repo is not set, so it has no "name" (nil pointer evaluating interface {}.name)
  5 | 	{{ .image.repo.name }}{{ end }}
    | 	   ^^^^^^^^^^^^^^^^
  .image has: tag, repository
  called by web/templates/_h.tpl:2:9 (in "web.pod"): {{template "web.img" .Values}}
  called by web/templates/a.yaml:1:10: include "web.pod" .`,
		},
		"a null": {
			map[string]string{"templates/a.yaml": `{{ $d := dict "x" nil }}{{ $d.x.y }}`},
			`web/templates/a.yaml:1:28: $d.x is null, so it has no "y" (nil pointer evaluating interface {}.y)
  1 | {{ $d := dict "x" nil }}{{ $d.x.y }}
    |                            ^^^^^^
  $d has: x`,
		},
		"something else than a table": {
			map[string]string{"templates/a.yaml": "{{ .Values.x.y }}", "values.yaml": "x: text"},
			`web/templates/a.yaml:1:4: .Values.x is the text "text", it has no field "y" (can't evaluate field y in type interface {})
  1 | {{ .Values.x.y }}
    |    ^^^^^^^^^^^`,
		},
		"the chart's data inside a loop": {
			map[string]string{"templates/a.yaml": "{{ range .Values.l }}\n- {{ .Values.x }}\n{{ end }}", "values.yaml": "l: [1]"},
			`web/templates/a.yaml:2:6: . is the number 1, it has no field "Values" (can't evaluate field Values in type interface {})
  2 | - {{ .Values.x }}
    |      ^^^^^^^^^
  hint: inside range and with, "." is something else; write $.Values.x`,
		},
		"the chart's data in a template that got less": {
			map[string]string{"templates/a.yaml": `{{ include "x" (dict "a" 1) }}`, "templates/_h.tpl": `{{ define "x" }}{{ .Values.foo.bar }}{{ end }}`},
			`web/templates/_h.tpl:1:20: .Values is not set, so it has no "foo" (nil pointer evaluating interface {}.foo)
  1 | {{ define "x" }}{{ .Values.foo.bar }}{{ end }}
    |                    ^^^^^^^^^^^^^^^
  . has: a
  hint: what "x" was called with has no Values; pass "$" or "." of the calling template along
  called by web/templates/a.yaml:1:4: include "x" (dict "a" 1)`,
		},
		"a template": {
			map[string]string{"templates/a.yaml": `{{ include "web.lables" . }}`, "templates/_h.tpl": `{{ define "web.labels" }}{{ end }}`},
			`web/templates/a.yaml:1:4: there is no template "web.lables" (no template "web.lables" associated with template "gotpl")
  1 | {{ include "web.lables" . }}
    |    ^^^^^^^^^^^^^^^^^^^^^^
  hint: did you mean "web.labels"?`,
		},
		"an argument": {
			map[string]string{"templates/a.yaml": `{{ index .Values.ports 0 }}`, "values.yaml": "port: 1"},
			`web/templates/a.yaml:1:4: index .Values.ports 0: error calling index: index of untyped nil; .Values.ports is not set
  1 | {{ index .Values.ports 0 }}
    |    ^^^^^^^^^^^^^^^^^^^^^
  .Values has: port
  did you mean .Values.port?`,
		},
		"text for a function": {
			map[string]string{"templates/a.yaml": `{{ upper .Values.name }}`, "values.yaml": "nam: 1"},
			`web/templates/a.yaml:1:10: .Values.name: invalid value; expected string, .Values.name is not set
  1 | {{ upper .Values.name }}
    |          ^^^^^^^^^^^^
  .Values has: nam
  did you mean .Values.nam?`,
		},
		"a value inside text that tpl runs": {
			map[string]string{"templates/a.yaml": "x: 1\ny: {{ tpl .Values.t . }}", "values.yaml": "t: |\n  a\n  {{ .Values.b.c }}\n"},
			`web/templates/a.yaml:2:7: .Values.b is not set, so it has no "c" (nil pointer evaluating interface {}.c)
  2 | {{ .Values.b.c }}
    |    ^^^^^^^^^^^
  .Values has: t
  called by web/templates/a.yaml:2:7: tpl .Values.t .`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := renderError(t, test.files).Error(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestErrorSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"a: {{ toYamll .x }}": "parse error at (web/templates/a.yaml:1:7): function \"toYamll\" not defined\n  1 | a: {{ toYamll .x }}\n    |       ^^^^^^^\n  hint: did you mean toYaml?",
		"a\n{{ if .x }}\nb":   "parse error at (web/templates/a.yaml:3): unexpected EOF\n  3 | b\n  hint: an if, with, range, define or block has no {{ end }}",
		"b: {{ .Values.a-b }}": "parse error at (web/templates/a.yaml:1): bad character U+002D '-'\n  1 | b: {{ .Values.a-b }}\n" +
			"  hint: a key with \"-\" is reached by index: {{ index .Values \"my-key\" }}",
		"a\n{{ .Values.a": "parse error at (web/templates/a.yaml:2): unclosed action\n  2 | {{ .Values.a",
	} {
		t.Run(text, func(t *testing.T) {
			if got := renderError(t, map[string]string{"templates/a.yaml": text}).Error(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestErrorMessage(t *testing.T) {
	e := renderError(t, map[string]string{
		"templates/a.yaml": `{{ include "check" . }}`,
		"templates/_h.tpl": `{{ define "check" }}{{ fail (printf "no %s:\n  <at all> & %%" "way") }}{{ end }}`,
	})
	if want := "no way:\n  <at all> & %"; e.Message != want {
		t.Errorf("got %q, want %q", e.Message, want)
	}
	if got := e.Error(); !strings.HasPrefix(got, "execution error at (web/templates/_h.tpl:1:24): no way:\n      <at all> & %\n") {
		t.Errorf("got %s", got)
	}
	if len(e.Calls) != 2 || e.Calls[0].File != "web/templates/a.yaml" || e.Calls[1].Template != "check" {
		t.Errorf("got calls %v", e.Calls)
	}
	e = renderError(t, map[string]string{"templates/a.yaml": `{{ .Values.x | required "set x" }}`})
	if e.Message != "set x" || e.Line != 1 || e.Column != 16 {
		t.Errorf("got %q at %s", e.Message, e.Position())
	}
}

func TestErrorFields(t *testing.T) {
	e := renderError(t, map[string]string{"charts/db/templates/a.yaml": "\n {{ .Values.a.port.c }}", "charts/db/values.yaml": "a: {ports: 1}"})
	if e.Chart != "web/charts/db" || e.File != "web/charts/db/templates/a.yaml" || e.Line != 2 || e.Column != 5 || e.Expr != ".Values.a.port.c" {
		t.Errorf("got %+v", e)
	}
	m := e.Missing
	if m == nil || m.Path != ".Values.a.port" || m.In != ".Values.a" || m.Suggestion != "ports" || m.Null {
		t.Errorf("got %+v", m)
	}
	e = renderError(t, map[string]string{"templates/a.yaml": `{{ mustRegexMatch "[" "x" }}`})
	if errors.Unwrap(e) == nil {
		t.Error("the function's error is lost")
	}
}

// Hostile templates must fail quickly.
func TestHostileTemplates(t *testing.T) {
	double := `{{ $x := %s }}{{ range until 60 }}{{ $x = %s $x $x }}{{ end }}`
	lists := strings.Replace(strings.Replace(double, "%s", "list 1", 1), "%s", "list", 1)
	texts := strings.Replace(strings.Replace(double, "%s", `"aaaaaaaaaaaaaaaa"`, 1), "%s", "print", 1)
	circle := `{{ $x := dict }}{{ $_ := set $x "a" $x }}`
	for name, text := range map[string]string{
		"include circle":   `{{ define "r" }}{{ include "r" . }}{{ end }}{{ include "r" . }}`,
		"template circle":  `{{ define "r" }}{{ template "r" . }}{{ end }}{{ template "r" . }}`,
		"circle of two":    `{{ define "r" }}{{ include "s" . }}{{ end }}{{ define "s" }}{{ template "r" . }}{{ end }}{{ include "r" . }}`,
		"tpl circle":       "{{ tpl .Values.t . }}",
		"repeat":           `{{ repeat 1000000000000 "x" }}`,
		"repeat twice":     `{{ repeat 100000 (repeat 100000 "x") }}`,
		"until":            `{{ range until 1000000000 }}{{ end }}`,
		"untilStep":        `{{ untilStep 0 9000000000000000000 1 }}`,
		"seq":              `{{ seq 1 100000000000 }}`,
		"indent":           `{{ indent 100000000000 "x" }}`,
		"nindent":          `{{ nindent 1000000 (repeat 1000000 "\n") }}`,
		"random":           `{{ randAlphaNum 100000000000 }}`,
		"endless output":   `{{ range until 1000000 }}{{ repeat 1000 "x" }}{{ end }}`,
		"endless text":     `{{ range until 10000000 }}{{/* */}}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}`,
		"doubled text":     texts,
		"doubled lists":    lists + `{{ mustToYaml $x }}`,
		"doubled, JSON":    lists + `{{ mustToJson $x }}`,
		"doubled, printed": lists + `{{ $x }}`,
		"doubled, quoted":  lists + `{{ quote $x }}`,
		"circle, printed":  circle + `{{ $x }}`,
		"circle, YAML":     circle + `{{ mustToYaml $x }}`,
		"circle, merged":   circle + `{{ merge (dict) $x (dict "a" $x) }}`,
		"circle, copied":   circle + `{{ deepCopy $x }}`,
		"bad slice":        `{{ substr 5 2 "abc" }}`,
		"division":         `{{ div 1 0 }}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			e := renderError(t, map[string]string{"templates/a.yaml": text, "values.yaml": `t: "{{ tpl .Values.t . }}"`})
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if len(e.Error()) > 10_000 {
				t.Errorf("the message has %d bytes", len(e.Error()))
			}
		})
	}
}

func TestIncludeRecursionLimit(t *testing.T) {
	text := `{{ define "r" }}{{ if . }}{{ include "r" (sub . 1) }}{{ end }}{{ end }}{{ include "r" DEPTH }}`
	for depth, ok := range map[string]bool{"1000": true, "1001": false} {
		t.Run(depth, func(t *testing.T) {
			in := input(t, tree(t, "p", map[string]string{"templates/a.yaml": strings.Replace(text, "DEPTH", depth, 1)}))
			if _, err := Render(context.Background(), in); (err == nil) != ok {
				t.Errorf("%s deep: got %v", depth, err)
			}
		})
	}
}

// A chart's message cannot look like a line of helm's own.
func TestErrorEscapesLines(t *testing.T) {
	for name, test := range map[string]struct{ vals, text string }{
		"fail":                  {"", `{{ fail "no\nError: forged\n  hint: forged\nraised at forged" }}`},
		"required":              {"", `{{ required "no\n  hint: forged" nil }}`},
		"a function's error":    {"", `{{ mustRegexMatch "[\n  hint: forged" "x" }}`},
		"a key":                 {"m: {\"a\\n  hint: forged\": 1}", `{{ .Values.m.b.c }}`},
		"a guess":               {"m: {\"abcdef\\n\": 1}", `{{ .Values.m.abcdef.c }}`},
		"the text given to tpl": {"", `{{ tpl "{{ nope }}\n  hint: forged" . }}`},
	} {
		t.Run(name, func(t *testing.T) {
			e := renderError(t, map[string]string{"values.yaml": test.vals, "templates/a.yaml": test.text})
			for _, line := range strings.Split(e.Error(), "\n")[1:] {
				if strings.Contains(line, "forged") && !strings.HasPrefix(line, "    ") && !strings.Contains(line, "|") && !strings.Contains(line, `\n  hint`) {
					t.Errorf("the line %q could be one of ours in\n%s", line, e.Error())
				}
				if strings.HasPrefix(line, "\"") {
					t.Errorf("a key breaks the line in\n%s", e.Error())
				}
			}
		})
	}
}

func TestTemplateNameControlCharacters(t *testing.T) {
	for _, name := range []string{"templates/a\nkind: Pod\n#.yaml", "templates/a\r.yaml", "templates/\x1b[2J.yaml", "templates/a\u2028b.yaml", "templates/\u0085.yaml"} {
		e := renderError(t, map[string]string{name: "a: 1"})
		if !strings.Contains(e.Cause, "must not hold control characters") || strings.ContainsAny(e.Error(), "\r\x1b") || strings.Contains(e.Error(), "\nkind") {
			t.Errorf("%q: got %q", name, e.Error())
		}
	}
}
