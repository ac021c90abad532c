// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"
)

func TestFieldTypes(t *testing.T) {
	for _, test := range []struct {
		name, content, want string
		incomplete          bool
	}{
		{"all right", `apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {a: b}, annotations: null}
spec:
  replicas: 3
  colour: [1]
  selector: {matchLabels: {a: b}}
  template: {spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B, valueFrom: {x: 1}}], resources: {limits: {cpu: 1, memory: 1Gi}}}]}}
`, "", false},
		{"types", `apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  annotations:
    example.com/on: true
spec:
  replicas: "3"
  selector: {matchLabels: {a: b}}
  template:
    spec:
      containers:
      - name: a
        command: sh
        ports:
        - containerPort: http
        env:
        - name: A
          value: 8080
        resources: {limits: {memory: 1 Gb}}
`, `[ERROR] templates/x.yaml:6: .metadata.annotations[example.com/on]: expected a string, got boolean; put it in quotes
[ERROR] templates/x.yaml:8: .spec.replicas: expected an integer, got string; remove the quotes
[ERROR] templates/x.yaml:14: .spec.template.spec.containers[0].command: expected a list, got string
[ERROR] templates/x.yaml:16: .spec.template.spec.containers[0].ports[0].containerPort: expected an integer, got string
[ERROR] templates/x.yaml:19: .spec.template.spec.containers[0].env[0].value: expected a string, got number; put it in quotes
[ERROR] templates/x.yaml:20: .spec.template.spec.containers[0].resources.limits.memory: expected a quantity, such as 500m or 1.5Gi`, false},
		{"of any kind, the metadata", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, labels: {a: 1}}\nspec: {replicas: x}\n",
			`[ERROR] templates/x.yaml:3: .metadata.labels.a: expected a string, got number; put it in quotes`, false},
		{"in the second document", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  port: 80\n",
			`[ERROR] templates/x.yaml:9: .data.port: expected a string, got number; put it in quotes`, false},
		{"in a cron job", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: 5, jobTemplate: {spec: {template: {spec: {containers: {}}}}}}\n",
			`[ERROR] templates/x.yaml:4: .spec.jobTemplate.spec.template.spec.containers: expected a list, got map
[ERROR] templates/x.yaml:4: .spec.schedule: expected a string, got number; put it in quotes`, false},
		{"a required value was missing", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: ''}\nspec: {replicas: '', selector: {matchLabels: {a: ''}}, paused: 1}\n",
			`[ERROR] templates/x.yaml:4: .spec.paused: expected a boolean, got number`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			in := []Rendered{{Name: "templates/x.yaml", Source: test.content, Content: test.content, Incomplete: test.incomplete}}
			for _, f := range Sort(Objects(in, KubeVersion{1, 36}, nil)) {
				got = append(got, f.String())
			}
			if s := strings.Join(got, "\n"); s != test.want {
				t.Errorf("got\n%s\nwant\n%s", s, test.want)
			}
		})
	}
}
