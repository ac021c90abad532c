// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

func TestTypes(t *testing.T) {
	withValues := func(name, vals string) *chart.Chart {
		return &chart.Chart{Metadata: &chart.Metadata{Name: name}, Raw: []*chart.File{{Name: chart.FileValues, Data: []byte(vals)}}}
	}
	web := withValues("web", "name: x\nport: 80\nimage:\n  tag: \"1\"\nhosts: [a]\nany:\ndb:\n  user: root\nmode: a # @schema enum:[b]\n")
	web.SetDependencies(withValues("db", "port: 5432\nuser: u\n"))
	final := func() map[string]any {
		return map[string]any{
			"name": "x", "port": "http", "image": map[string]any{"tag": 2.0}, "hosts": []any{1.0}, "any": []any{}, "other": 1.0, "mode": "a",
			"db": map[string]any{"port": "x", "user": "u"},
		}
	}
	for name, tc := range map[string]struct {
		user map[string]any
		want string
	}{
		"nothing is given": {nil, ""},
		"all is given": {final(), `[WARNING] values.yaml:9: mode: value must be 'b', going by the chart's defaults
[WARNING] values.yaml:7: db.port: got string, want integer, going by the chart's defaults
[WARNING] values.yaml:5: hosts[0]: got number, want string, going by the chart's defaults
[WARNING] values.yaml:4: image.tag: got number, want string, going by the chart's defaults
[WARNING] values.yaml:2: port: got string, want integer, going by the chart's defaults`},
		"only what is given counts": {map[string]any{"name": "x", "image": map[string]any{"tag": 2.0}},
			`[WARNING] values.yaml:4: image.tag: got number, want string, going by the chart's defaults`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Sort(Types(web, tc.user, final())) {
				got = append([]string{f.String()}, got...)
			}
			want := tc.want
			if strings.Join(got, "\n") != want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
	web.SchemaYAML = []byte("type: object")
	if got := Types(web, map[string]any{"port": "http"}, final()); len(got) != 0 {
		t.Errorf("a chart with a schema: %v", got)
	}
}
