// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// nullObjects have nulls in their maps of strings, and droppedNulls are the same objects without
// what was null.
const (
	nullObjects = `
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

	droppedNulls = `
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
)

// A null in a map of strings is an empty string from the first installation on, and upgrades do
// not change it.
func TestMergeNulls(t *testing.T) {
	fields := []struct {
		name, apiVersion, kind string
		path                   []string
		want, dropped          string
	}{
		{"data of a ConfigMap", "v1", "ConfigMap", []string{"data"}, `{"d":""}`, `null`},
		{"label of a ConfigMap", "v1", "ConfigMap", []string{"metadata", "labels", "l"}, `""`, `null`},
		{"data of a Secret", "v1", "Secret", []string{"data"}, `{"d":"","s":""}`, `null`},
		{"selector of a Service", "v1", "Service", []string{"spec", "selector"}, `{"a":"b","c":""}`, `{"a":"b"}`},
		{"labels of the pods of a Deployment", "apps/v1", "Deployment", []string{"spec", "template", "metadata", "labels"},
			`{"app":"web","l":"","x":""}`, `{"app":"web","x":""}`},
	}
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprintf("server side %v", serverSide), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = serverSide
			s.to(nullObjects)
			for _, f := range fields {
				t.Run("with nulls: "+f.name, func(t *testing.T) {
					if got := jsonOf(t, api.Field(get(t, s.c, f.apiVersion, f.kind, s.ns, "web"), f.path...)); got != f.want {
						t.Errorf("got %s, want %s", got, f.want)
					}
				})
			}
			before := s.rest()
			if says := s.to(nullObjects); says != "unchanged ConfigMap/web, unchanged Deployment/web, unchanged Secret/web, unchanged Service/web" {
				t.Errorf("the same again: %s", says)
			}
			if after := s.versions(); after != before {
				t.Errorf("the same again wrote: %s, then %s", before, after)
			}
			s.to(droppedNulls)
			for _, f := range fields {
				t.Run("dropped: "+f.name, func(t *testing.T) {
					if got := jsonOf(t, api.Field(get(t, s.c, f.apiVersion, f.kind, s.ns, "web"), f.path...)); got != f.dropped {
						t.Errorf("got %s, want %s", got, f.dropped)
					}
				})
			}
			containers := api.Field(s.get("apps/v1", "Deployment", "web"), "spec", "template", "spec", "containers").([]any)
			if c := containers[0].(map[string]any); c["securityContext"] != nil {
				t.Errorf("dropped: the container still has the security context %v", c["securityContext"])
			}
			if says := s.to(droppedNulls); strings.Contains(says, "update") {
				t.Errorf("the same again: %s", says)
			}
		})
	}
}
