// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// explained renders a file with a trace, and returns a line for each of its lines: the places of
// its pieces and the values that were read for them.
func explained(t *testing.T, files map[string]string, name string) []string {
	t.Helper()
	in := input(t, tree(t, "web", files))
	plain, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.Trace = true
	out, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range out.Files {
		if f.Content != plain.Files[i].Content {
			t.Errorf("%s: got another output with a trace:\n%s", f.Name, f.Content)
		}
		if f.Name == name {
			return describeTrace(f, out.Traces[name])
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func describeTrace(f File, trace *Trace) []string {
	var out []string
	at := 0
	for line := range strings.SplitAfterSeq(f.Content, "\n") {
		var texts []string
		for _, p := range slice(split(trace.Pieces, f.Content), at, at+len(line), 0) {
			if text := describePiece(p, line); text != "" {
				texts = append(texts, text)
			}
		}
		at += len(line)
		out = append(out, strings.Join(texts, "; "))
	}
	return out
}

func describePiece(p Piece, line string) string {
	shown := strings.TrimRight(line[p.Start:p.End], "\n")
	if shown == "" {
		return ""
	}
	text := fmt.Sprintf("%s:%d", strings.TrimPrefix(p.Site.InFile().File, "web/templates/"), p.Site.InFile().Line)
	if p.Literal {
		text += fmt.Sprintf(" %q", shown)
	}
	for s := p.Site; s.Caller != nil; s = s.Caller {
		text += fmt.Sprintf(" <%d", s.Caller.Line)
	}
	for _, v := range p.Values {
		text += " " + v.String()
	}
	return text
}

func TestTrace(t *testing.T) {
	for _, c := range []struct {
		name, values, helpers, text string
		want                        []string
	}{
		{"text and values", "a: {b: x}\nc: 1\n", "",
			"one: 1\ntwo: {{ .Values.a.b }}-{{ .Values.c | default 3 | quote }}\nthree\n",
			[]string{`t:1 "one: 1"`, `t:2 "two: "; t:2 .Values.a.b; t:2 "-"; t:2 .Values.c`, `t:3 "three"`, ""}},
		{"branches", "a: {b: x}\nl: [p, q]\nm: {k: {v: 1}}\n", "",
			"{{- with .Values.a }}\nb: {{ .b }}\n{{- end }}\n{{- range .Values.l }}\n- {{ . }}\n{{- end }}\n" +
				"{{- range $k, $v := .Values.m }}\n{{ $k }}: {{ $v.v }}\n{{- end }}",
			[]string{"", `t:2 "b: "; t:2 .Values.a.b`, `t:5 "- "; t:5 .Values.l[0]`, `t:5 "- "; t:5 .Values.l[1]`,
				`t:8 .Values.m.k; t:8 ": "; t:8 .Values.m.k.v`}},
		{"variables", "a: {b: x}\n", "",
			"{{ $v := .Values.a.b }}{{ $d := dict \"x\" .Values.a.b \"y\" .Release.Name }}\nv: {{ $v }} {{ $d.x }} {{ $d.y }}",
			[]string{"", `t:2 "v: "; t:2 .Values.a.b; t:2 " "; t:2 .Values.a.b; t:2 " "; t:2 .Release.Name`}},
		{"include", "tag: x\n", "{{ define \"l\" }}\napp: {{ .Values.tag }}\nfixed: 1\n{{- end }}",
			"labels:\n  {{- include \"l\" . | nindent 2 }}\nname: {{ include \"l\" . | trim | quote }}\n" +
				"sum: {{ include \"l\" . | sha256sum | trunc 3 }}",
			[]string{`t:1 "labels:"`, `h:1 "  " <2`, `h:2 "  app: " <2; h:2 <2 .Values.tag`, `h:3 "  fixed: 1" <2`,
				`t:3 "name: "; t:3 .Values.tag`, `t:4 "sum: "; t:4 .Values.tag`}},
		{"template", "tag: x\n", "{{ define \"l\" }}app: {{ .tag }}{{ end }}",
			"{{ template \"l\" .Values }}\n{{ template \"l\" (dict \"tag\" .Values.tag) }}",
			[]string{`h:1 "app: " <1; h:1 <1 .Values.tag`, `h:1 "app: " <2; h:1 <2 .Values.tag`}},
		{"yaml", "r: {limits: {cpu: 1}, list: [{a: b}]}\n", "",
			"r:\n  {{- toYaml .Values.r | nindent 2 }}\n{{ with .Values.r }}{{ toYaml . | trim }}{{ end }}",
			[]string{`t:1 "r:"`, `t:2 .Values.r.limits`, `t:2 .Values.r.limits.cpu`, `t:2 .Values.r.list`, `t:2 .Values.r.list[0].a`,
				`t:3 .Values.r.limits`, `t:3 .Values.r.limits.cpu`, `t:3 .Values.r.list`, `t:3 .Values.r.list[0].a`}},
		{"tpl", "tag: x\nt: \"a: {{ .Values.tag }}\\nb: 1\"\n", "", "{{ tpl .Values.t . }}",
			[]string{`t:1 "a: " <1 .Values.t; t:1 <1 .Values.tag .Values.t`, `t:1 "b: 1" <1 .Values.t`}},
		{"functions", "m: {k: v, l: [7]}\n", "",
			`{{ index .Values "m" "k" }} {{ get .Values.m "k" }} {{ (index .Values.m.l 0) }} {{ dig "k" "" .Values.m }}`,
			[]string{`t:1 .Values.m.k; t:1 " "; t:1 .Values.m .Values.m.k; t:1 " "; t:1 .Values.m.l .Values.m.l[0]; ` +
				`t:1 " "; t:1 .Values.m .Values.m.k`}},
		{"other objects", "", "", `{{ .Chart.Version }} {{ .Capabilities.KubeVersion.Version }}`,
			[]string{`t:1 .Chart.Version; t:1 " "; t:1 .Capabilities.KubeVersion.Version`}},
		{"no value", "a: 1\n", "", "a{{ .Values.x }}b\nc: {{ .Values.a }}",
			[]string{`t:1 "a"; t:1 "b"`, `t:2 "c: "; t:2 .Values.a`}},
		{"changed values", "a: {b: 1}\n", "", "{{ $_ := set .Values.a \"c\" .Values.a.b }}\n{{ .Values.a.c }}",
			[]string{"", `t:2 .Values.a.c`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := explained(t, map[string]string{"values.yaml": c.values, "templates/t": c.text, "templates/_h": c.helpers},
				"web/templates/t")
			for i := range max(len(got), len(c.want)) {
				var g, w string
				if i < len(got) {
					g = strings.ReplaceAll(got[i], "_h:", "h:")
				}
				if i < len(c.want) {
					w = c.want[i]
				}
				if g != w {
					t.Errorf("line %d\ngot  %s\nwant %s", i+1, g, w)
				}
			}
		})
	}
}

// Templates that make much of little are traced in bounded time and memory.
func TestTraceLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, text := range map[string]string{
		"many pieces": "{{ range until 300000 }}a: {{ . }}\n{{ end }}",
		"many values": "{{ range $i := until 3000 }}{{ $_ := set $.Values (toString $i) $i }}{{ end }}" +
			"{{ range until 100 }}{{ range $k, $v := $.Values }}{{ $v }}{{ end }}\n{{ end }}",
		"nested": "{{ define \"a\" }}{{ if gt (int .) 0 }}{{ include \"a\" (sub . 1) | nindent 1 }}{{ end }}" +
			"{{ range until 10 }}x\n{{ end }}{{ end }}{{ include \"a\" 300 }}",
		"yaml": "{{ define \"a\" }}{{ toYaml .Values }}{{ end }}{{ range $i := until 3000 }}" +
			"{{ $_ := set $.Values (toString $i) $i }}{{ end }}{{ range until 300 }}{{ include \"a\" $ | nindent 2 }}{{ end }}",
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, tree(t, "web", map[string]string{"templates/a": text, "values.yaml": "a: {b: {c: 1}}\n"}))
			in.Trace = true
			begin := time.Now()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := Render(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(begin)
			runtime.GC()
			runtime.ReadMemStats(&after)
			held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			t.Logf("%v, %d MiB", took, held>>20)
			if took > 30*time.Second || held > maxHeld {
				t.Errorf("took %v, holds %d MiB", took, held>>20)
			}
			runtime.KeepAlive(out)
		})
	}
}
