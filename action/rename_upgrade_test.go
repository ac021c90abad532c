// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// The warnings of a rename say what the next upgrade does.
func TestRenameWarnings(t *testing.T) {
	const objects = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "{{ .Release.Name }}-data"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings-wanted}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: fixed}
spec:
  selector: {matchLabels: {app.kubernetes.io/instance: "{{ .Release.Name }}"}}
  template: {metadata: {labels: {app.kubernetes.io/instance: "{{ .Release.Name }}"}}}
`
	metadata := func(name string) *chart.Metadata {
		return &chart.Metadata{APIVersion: "v2", Name: name, Version: "1.0.0"}
	}
	files := []*chart.File{{Name: "templates/all.yaml", Data: []byte(objects)}}
	alone := &chart.Chart{Metadata: metadata("alone"), Templates: files}
	umbrella := &chart.Chart{Metadata: metadata("umbrella")}
	umbrella.SetDependencies(&chart.Chart{Metadata: metadata("below"), Templates: files})
	for _, test := range []struct {
		name  string
		chart *chart.Chart
		want  []string
	}{
		{"rendered", alone, []string{
			"with the next upgrade PersistentVolumeClaim/want-data is deleted and created as PersistentVolumeClaim/shop-data (the volume stays",
			"an entry of moved in Chart.yaml",
			"the next upgrade fails, because it changes fields that cannot be changed, the selectors with the name of the release: Deployment/fixed; a patch",
		}},
		{"with a subchart, which is not recorded", umbrella, []string{
			`with the next upgrade these objects may be deleted and created under other names, because their names contain "want"`,
			"an entry of moved in Chart.yaml",
			`the next upgrade may fail, because selectors that cannot be changed have the value "want"`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newTransferFixture(t)
			_, err := Install{f.Config}.Run(t.Context(), InstallRequest{Chart: test.chart, Name: "want", Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			planned, err := Rename{f.Config}.Plan(t.Context(), RenameRequest{Name: "want", NewName: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(planned.Warnings, test.want, strings.HasPrefix) {
				t.Errorf("got\n  %s", strings.Join(planned.Warnings, "\n  "))
			}
			if text := strings.Join(planned.Warnings, "\n"); strings.Contains(text, "settings-wanted") {
				t.Errorf("an object whose name only contains the letters: %s", text)
			}
		})
	}
}
