// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// A null in a map of strings is an empty string from the first installation on, and upgrades do
// not change it.
func TestMergeNulls(t *testing.T) {
	const objects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {l: null}, annotations: {a: null}}
data: {d: null}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {s: null}
data: {d: null}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {a: b, c: null}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web, x: null}}
  template:
    metadata: {labels: {app: web, x: null, l: null}}
    spec: {containers: [{name: a, image: a, securityContext: {}, resources: {limits: {cpu: null}}}]}
`
	const dropped = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {a: b}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web, x: null}}
  template:
    metadata: {labels: {app: web, x: null}}
    spec: {containers: [{name: a, image: a}]}
`
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprintf("server side %v", serverSide), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = serverSide
			s.to(objects)
			for _, f := range []struct {
				apiVersion, kind string
				want             string
				path             []string
			}{
				{"v1", "ConfigMap", `{"d":""}`, []string{"data"}},
				{"v1", "ConfigMap", `""`, []string{"metadata", "labels", "l"}},
				{"v1", "Secret", `{"d":"","s":""}`, []string{"data"}},
				{"v1", "Service", `{"a":"b","c":""}`, []string{"spec", "selector"}},
				{"apps/v1", "Deployment", `{"app":"web","l":"","x":""}`, []string{"spec", "template", "metadata", "labels"}},
			} {
				if got := jsonOf(t, api.Field(s.get(f.apiVersion, f.kind, "web"), f.path...)); got != f.want {
					t.Errorf("%s of %s is %s, want %s", f.path, f.kind, got, f.want)
				}
			}
			before := s.rest()
			if says := s.to(objects); says != "unchanged ConfigMap/web, unchanged Deployment/web, unchanged Secret/web, unchanged Service/web" {
				t.Errorf("the same again: %s", says)
			}
			if after := s.versions(); after != before {
				t.Errorf("the same again wrote: %s, then %s", before, after)
			}
			s.to(dropped)
			for _, f := range []struct {
				apiVersion, kind string
				want             string
				path             []string
			}{
				{"v1", "ConfigMap", `null`, []string{"data"}},
				{"v1", "ConfigMap", `null`, []string{"metadata", "labels", "l"}},
				{"v1", "Secret", `null`, []string{"data"}},
				{"v1", "Service", `{"a":"b"}`, []string{"spec", "selector"}},
				{"apps/v1", "Deployment", `{"app":"web","x":""}`, []string{"spec", "template", "metadata", "labels"}},
			} {
				if got := jsonOf(t, api.Field(s.get(f.apiVersion, f.kind, "web"), f.path...)); got != f.want {
					t.Errorf("dropped: %s of %s is %s, want %s", f.path, f.kind, got, f.want)
				}
			}
			containers := api.Field(s.get("apps/v1", "Deployment", "web"), "spec", "template", "spec", "containers").([]any)
			if c := containers[0].(map[string]any); c["securityContext"] != nil {
				t.Errorf("dropped: the container still has the security context %v", c["securityContext"])
			}
			if says := s.to(dropped); strings.Contains(says, "update") {
				t.Errorf("the same again: %s", says)
			}
		})
	}
}
