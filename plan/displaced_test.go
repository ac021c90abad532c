// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"
)

func TestDisplaced(t *testing.T) {
	const container = `f:spec f:template f:spec f:containers k:{"name":"web"} `
	helm, hand := Manager{Name: "helm", Operation: "Apply"}, Manager{Name: "kubectl-edit", Operation: "Update"}
	for _, tc := range []struct {
		name       string
		by         Manager // manager of the live fields, or ""
		live, want string
		displaced  string
		says       string
	}{
		{"a default of the server's", Manager{}, `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}`, `{strategy: {type: Recreate}}`, "f:spec f:strategy f:rollingUpdate", ""},
		{"the release's own", helm, `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}`, `{strategy: {type: Recreate}}`, "", ""},
		{"what is chosen", Manager{}, `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}`, `{strategy: {type: RollingUpdate}}`, "", ""},
		{"nothing is said", Manager{}, `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}`, `{replicas: 1}`, "", ""},
		{"another client's, in a list", hand, podWith(`valueFrom: {fieldRef: {fieldPath: x}}`), podWith(`value: "1"`), container + `f:env k:{"name":"A"} f:valueFrom`,
			`spec.template.spec.containers[web].env[A].valueFrom is {"fieldRef":{"fieldPath":"x"}} (set by kubectl-edit), the chart says nothing: ` +
				`it is removed (the server takes one of it and spec.template.spec.containers[web].env[A].value)`},
		{"a volume of another kind", Manager{}, volumeOf(`configMap: {name: x}`), volumeOf(`emptyDir: {}`), `f:spec f:template f:spec f:volumes k:{"name":"v"} f:configMap`, ""},
		{"a volume of the same kind", Manager{}, volumeOf(`configMap: {name: x, defaultMode: 420}`), volumeOf(`configMap: {name: y}`), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, "apps/v1 Deployment", `{spec: `+tc.live+`}`, `{spec: `+tc.want+`}`)
			if tc.by.Name != "" {
				item.Live = withManager(t, item.Live, tc.by, item.Live)
			}
			s := computeOne(t, item, Options{ServerSide: true})
			var paths, says []string
			for _, d := range s.Displaced {
				paths = append(paths, strings.Join(d.Path, " "))
			}
			for _, c := range s.Conflicts {
				says = append(says, c.Sentence()+": "+c.Outcome())
			}
			if got := strings.Join(paths, "\n"); got != tc.displaced {
				t.Errorf("displaced are %q, want %q", got, tc.displaced)
			}
			if got := strings.Join(says, "\n"); got != tc.says {
				t.Errorf("the conflicts are %q, want %q", got, tc.says)
			}
		})
	}
}

func podWith(env string) string {
	return `{template: {spec: {containers: [{name: web, image: a, env: [{name: A, ` + env + `}]}]}}}`
}

func volumeOf(source string) string {
	return `{template: {spec: {volumes: [{name: v, ` + source + `}]}}}`
}
