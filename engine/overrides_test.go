// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// overridesHelpers are similar to OpenStack-Helm's helm-toolkit: for each host and label they
// merge, encode and decode the values and store the result in the values, which then contain
// themselves.
const overridesHelpers = `
{{- define "utils.hash" }}{{ toYaml . | sha256sum | trunc 12 }}{{ end }}

{{- define "utils.merge" }}
{{- $local := dict }}{{ $_ := set $local "all" dict }}
{{- range $maps := . }}{{ $_ := set $local "all" (merge (fromYaml (toYaml $local.all)) $maps) }}{{ end }}
{{- toYaml $local.all }}
{{- end }}

{{- define "utils.overrides" }}
{{- $context := index . 0 }}{{ $include := index . 1 }}
{{- $_ := set $context.Values "__sets" list }}{{ $_ := set $context.Values "__default" dict }}
{{- range $type := tuple "hosts" "labels" }}
{{- range $data := index $context.Values.conf.overrides $type }}
{{- $current := dict "name" $data.name "type" $type }}
{{- $conf := mergeOverwrite (omit $context.Values.conf "overrides") (deepCopy $data.conf) }}
{{- $values := omit (fromYaml (toYaml (omit $context.Values "__sets" "__default"))) "conf" }}
{{- $_ := set $current "nodeData" (dict "Values" (mergeOverwrite $values (dict "conf" $conf))) }}
{{- $_ := set $context.Values "__sets" (append $context.Values.__sets $current) }}
{{- end }}
{{- end }}
{{- $rest := mergeOverwrite (omit $context.Values "conf") (dict "conf" (omit $context.Values.conf "overrides")) }}
{{- $_ := set $context.Values.__default "nodeData" (dict "Values" $rest) }}
{{- $_ := set $context.Values.__default "name" "default" }}
{{- $_ := set $context.Values "__sets" (append $context.Values.__sets $context.Values.__default) }}
{{- range $current := $context.Values.__sets }}
{{- $_ := set $current "nodeData" (mergeOverwrite (omit $context "Values") $current.nodeData) }}
{{- $_ := set $current "same" (has $current $context.Values.__sets) }}
{{- if not (eq $current.nodeData nil) }}
---
kind: ConfigMap
metadata: {name: {{ $current.name }}, same: {{ $current.same }}, type: {{ printf "%T" $current | quote }}}
data: {{- include $include $current.nodeData | nindent 2 }}
hash: {{ include "utils.hash" $current.nodeData.Values.conf }}
{{- end }}
{{- end }}
{{- end }}

{{- define "web.config" }}
{{- $merged := include "utils.merge" (tuple .Values.conf .Values.pod .Values.endpoints) | fromYaml }}
{{- range $name, $part := $merged }}
{{ $name }}: {{ toYaml $part | b64enc }}
{{- end }}
sections: |
{{- toYaml .Values.conf | nindent 2 }}
{{- end }}
`

// overridesChart returns a chart with these helpers, hosts and sections in its values.
func overridesChart(hosts, sections int) map[string]string {
	var b strings.Builder
	part := func(indent, name string, n int) {
		fmt.Fprintf(&b, "%s%s:\n", indent, name)
		for i := range n {
			fmt.Fprintf(&b, "%s  section_%03d:\n%s    driver: driver-%d\n%s    list: [a, b, %d]\n%s    nested: {enabled: true, text: \"%s\"}\n",
				indent, i, indent, i, indent, i, indent, strings.Repeat("x", 60))
		}
	}
	b.WriteString("conf:\n")
	part("  ", "main", sections)
	part("  ", "plugin", sections/2)
	b.WriteString("  overrides:\n")
	for _, kind := range []string{"hosts", "labels"} {
		fmt.Fprintf(&b, "    %s:\n", kind)
		for i := range hosts / 2 {
			fmt.Fprintf(&b, "    - name: %s-%d\n      conf: {main: {section_000: {driver: special-%d, own: true}}}\n", kind, i, i)
		}
	}
	part("", "pod", sections/4)
	part("", "endpoints", sections/4)
	return map[string]string{
		"values.yaml": b.String(), "templates/_helpers.tpl": overridesHelpers,
		"templates/sets.yaml": `{{ include "utils.overrides" (list . "web.config") }}`,
	}
}

// Nine public charts exceeded a limit here.
func TestOverridesOfManyHosts(t *testing.T) {
	in := input(t, tree(t, "web", overridesChart(20, 60)))
	out, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	text := out.Files[0].Content
	for want, times := range map[string]int{
		"kind: ConfigMap": 21, `same: true, type: "map[string]interface {}"`: 21, "section_059:": 21, "own: true": 21,
	} {
		t.Run(want, func(t *testing.T) {
			if got := strings.Count(text, want); got != times {
				t.Errorf("%q is there %d times, want %d", want, got, times)
			}
		})
	}
	// The output of Helm 4.3.1.
	const want = "dd92441730959138fb492a87a21da14214a03e22cbec49ec825b58108bf7867d"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); got != want {
		t.Errorf("the text has the hash %s, want %s", got, want)
	}
}
