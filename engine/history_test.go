// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

func TestReleaseHistory(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	past := []PastRelease{
		{Name: "web", Namespace: "shop", Revision: 2, Status: "deployed", LastDeployed: when,
			Chart: &chart.Metadata{Name: "web", Version: "1.4.0", AppVersion: "7"}, Values: map[string]any{"a": 1}},
		{Name: "web", Namespace: "shop", Revision: 1, Status: "superseded"},
	}
	for _, test := range []struct{ name, text, vals, want string }{
		{"none", `{{ len .Release.History }}`, "none", "0"},
		{"all fields", `{{ range .Release.History }}{{ .Name }} {{ .Namespace }} {{ .Revision }} {{ .Status }} {{ .Chart.Version }};{{ end }}`,
			"", "web shop 2 deployed 1.4.0;web shop 1 superseded ;"},
		{"the proposal's comparison", `{{ $last := index .Release.History 0 }}{{ semverCompare "<2.0.0" $last.Chart.Version }} {{ $last.Chart.AppVersion }}`,
			"", "true 7"},
		{"times", `{{ (index .Release.History 0).LastDeployed | date "2006-01-02" }}`, "", "2026-01-02"},
		{"values", `{{ range .Release.History }}{{ .Values | default "none" }} {{ end }}`, "", "map[a:1] none "},
		{"through a variable", `{{ $r := .Release }}{{ len $r.History }}`, "", "2"},
		{"by index", `{{ len (index .Release "History") }}`, "", "2"},
		{"in a text of values", `{{ tpl .Values.text . }}`, "{{ len .Release.History }}", "2"},
		{"as Helm has it where nothing names it", `{{ range $k, $v := .Release }}{{ $k }} {{ end }}`, "",
			"IsInstall IsUpgrade Name Namespace Revision Service "},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"},
				Templates: []*chart.File{{Name: "templates/a.txt", Data: []byte(test.text)}}}
			in := Input{Chart: c, Values: map[string]any{"text": test.vals}, Release: Release{Name: "web", History: past}}
			if test.vals == "none" {
				in.Release.History = nil
			}
			out, err := Render(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Files[0].Content; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Charts that render in parallel see the history without being rendered a second time.
func TestReleaseHistoryInParallel(t *testing.T) {
	root := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}}
	var below []*chart.Chart
	for _, name := range []string{"a", "b", "c"} {
		below = append(below, &chart.Chart{Metadata: &chart.Metadata{Name: name},
			Templates: []*chart.File{{Name: "templates/a.txt", Data: []byte(strings.Repeat(`{{ len .Release.History }}`, 100))}}})
	}
	root.SetDependencies(below...)
	var calls atomic.Int32
	for _, c := range below {
		c.Templates[0].Data = append(c.Templates[0].Data, `{{ lookup "v1" "Pod" "" "" | len }}`...)
	}
	in := Input{Chart: root, Values: map[string]any{}, Release: Release{History: []PastRelease{{Revision: 1}}},
		Lookup: func(string, string, string, string) (map[string]any, error) { calls.Add(1); return nil, nil }}
	if _, err := Render(t.Context(), in); err != nil || calls.Load() > 3 {
		t.Errorf("got %d lookups, %v; want one of each chart", calls.Load(), err)
	}
}
