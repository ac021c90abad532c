// SPDX-License-Identifier: Apache-2.0

package lines

import (
	"fmt"
	"strings"
	"testing"
)

func TestEnds(t *testing.T) {
	for _, r := range "\n\r\x00\x7f\u0085\u2028\u2029" {
		if !Ends(r) {
			t.Errorf("%q does not end a line", r)
		}
	}
	for _, r := range "a -.\u00a0\u202fé" {
		if Ends(r) {
			t.Errorf("%q ends a line", r)
		}
	}
}

// The line of a template is found after what it rendered.
func TestSource(t *testing.T) {
	source := strings.Join([]string{
		"{{- if .Values.enabled }}",              // 1
		"{{/* over",                              // 2
		"several lines */}}",                     // 3
		"{{- $x := 1 }}",                         // 4
		"apiVersion: v1",                         // 5
		"kind: ConfigMap",                        // 6
		"metadata:",                              // 7
		"  name: {{ .Release.Name }}-cm",         // 8
		"  labels:",                              // 9
		"    {{- include \"l\" . | nindent 4 }}", // 10
		"data:",                                  // 11
		"  {{- range $k, $v := .Values.d }}",     // 12
		"  key-{{ $k }}: {{ $v }}",               // 13
		"  {{- end }}",                           // 14
		"{{- end }}",                             // 15
	}, "\n")
	content := strings.Join([]string{
		"", "apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: web-cm", "  labels:",
		"    app: web", "    tier: front", "data:", "  key-a: 1", "  key-b: 2",
	}, "\n")
	for rendered, want := range map[int]int{2: 5, 3: 6, 4: 7, 5: 8, 6: 9, 7: 10, 8: 10, 9: 11, 10: 13, 11: 13, 0: 0, 12: 0} {
		if got := New(source, content).Source(rendered); got != want {
			t.Errorf("line %d of the output comes from line %d, want %d", rendered, got, want)
		}
	}
}

// A line with branches is found by the texts around them.
func TestSourceOfBranches(t *testing.T) {
	source := "spec:\n  replicas: {{ if .Values.a }}0{{ else }}two{{ end }}\n  {{ if .Values.a }}data{{ else }}date{{ end }}: {a: b}\n  note: {{ if .Values.b }}x{{ end }}\n"
	content := "spec:\n  replicas: two\n  date: {a: b}\n  note: \n"
	for line := range 4 {
		if got := New(source, content).Source(line + 1); got != line+1 {
			t.Errorf("line %d of the output comes from line %d", line+1, got)
		}
	}
}

// A text that no lines of its template explain is placed nowhere.
func TestSourceUnknown(t *testing.T) {
	if got := New("{{ include \"a\" . }}\n{{ include \"b\" . }}\n", "kind: Pod\n").Source(1); got != 0 {
		t.Errorf("got line %d, want none", got)
	}
	var big strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&big, "line%d: x\n", i)
	}
	if got := New(big.String(), big.String()).Source(3000); got != 3000 {
		t.Errorf("in a large file: got line %d, want 3000", got)
	}
}
