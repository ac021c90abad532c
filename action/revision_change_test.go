// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
)

func revisionOf(version string, values map[string]any, manifest string) *release.Release {
	r := release.New("web", "shop", 1, &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: version, AppVersion: "1"}})
	r.Config, r.Manifest = values, manifest
	return r
}

func pod(name, image string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: a, image: %q}]}\n", name, image)
}

func TestCompareRevisions(t *testing.T) {
	cronJob := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: " +
		"{initContainers: [{name: i, image: init:%d}], containers: [{name: i, image: 'main:1'}]}}}}}\n"
	for _, test := range []struct {
		name     string
		from, to *release.Release
		want     string
	}{
		{"nothing", revisionOf("1.0.0", nil, pod("a", "x")), revisionOf("1.0.0", map[string]any{}, pod("a", "x")), `{"before":1}`},
		{"the chart", revisionOf("1.0.0", nil, ""), revisionOf("2.0.0", nil, ""),
			`{"before":1,"chart":{"from":"web-1.0.0","to":"web-2.0.0"}}`},
		{"objects and images", revisionOf("1.0.0", nil, pod("a", "x:1")+pod("gone", "y")),
			revisionOf("1.0.0", nil, pod("a", "x:2")+pod("new", "z")),
			`{"before":1,"images":[{"from":"y","to":""},{"from":"x:1","to":"x:2"},{"from":"","to":"z"}],` +
				`"added":["Pod/new"],"changed":["Pod/a"],"removed":["Pod/gone"]}`},
		{"images of a job's template", revisionOf("1.0.0", nil, fmt.Sprintf(cronJob, 1)),
			revisionOf("1.0.0", nil, fmt.Sprintf(cronJob, 2)),
			`{"before":1,"images":[{"from":"init:1","to":"init:2"}],"changed":["CronJob/c"]}`},
		{"values", revisionOf("1.0.0", map[string]any{"a": map[string]any{"b": 1, "c": 1}, "list": []any{1}, "same": "x", "gone": nil}, ""),
			revisionOf("1.0.0", map[string]any{"a": map[string]any{"b": 2, "c": 1}, "list": []any{2}, "same": "x",
				"x.y": map[string]any{"z": 1}, "table": map[string]any{}}, ""),
			`{"before":1,"values":["a.b","gone","list","table","x\\.y.z"]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := CompareRevisions(test.from, test.to)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(c)
			if err != nil || string(got) != test.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, test.want)
			}
		})
	}
	if _, err := CompareRevisions(revisionOf("1", nil, "a: ["), revisionOf("1", nil, "")); err == nil {
		t.Error("a manifest that is not YAML: no error")
	}
}

func TestDifferingPathsAreBounded(t *testing.T) {
	many, deep := map[string]any{}, map[string]any{}
	for i := range 5000 {
		many[fmt.Sprint(i)] = i
		deep = map[string]any{"a": deep}
	}
	if n := len(differingPaths(many, nil)); n != maxPaths {
		t.Errorf("%d paths, want %d", n, maxPaths)
	}
	if got := differingPaths(deep, map[string]any{}); len(got) != 1 {
		t.Errorf("%d paths of nested values, want 1", len(got))
	}
}
