// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkRender renders trees of 10, 100 and 1000 subcharts with a few hundred values each.
// The time must be proportional to the size of the tree.
func BenchmarkRender(b *testing.B) {
	settings := "settings:\n"
	for i := range 40 {
		settings += fmt.Sprintf("  section%d: {enabled: true, name: s%d, list: [a, b, c], nested: {x: %d, y: \"%d\"}}\n", i, i, i, i)
	}
	for _, n := range []int{10, 100, 1000} {
		files := map[string]string{}
		for i := range n {
			at, name := fmt.Sprintf("charts/c%04d/", i), fmt.Sprintf("c%04d", i)
			files[at+"values.yaml"] = settings
			files[at+"templates/_helpers.tpl"] = `{{- define "` + name + `.labels" }}
app: {{ .Release.Name | trunc 63 | trimSuffix "-" | quote }}
chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}`
			files[at+"templates/cm.yaml"] = `kind: ConfigMap
metadata:
  labels: {{- include "` + name + `.labels" . | nindent 4 }}
data:
  settings.yaml: |
{{ toYaml .Values.settings | indent 4 }}
  {{- range $k, $v := .Values.settings }}
  {{- if $v.enabled }}
  {{ $k }}: {{ tpl (printf "{{ .Release.Name }}-%s" $v.name) $ | quote }}
  {{- end }}
  {{- end }}
`
		}
		in := input(b, tree(b, "umbrella", files))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Render(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/chart")
		})
	}
}
