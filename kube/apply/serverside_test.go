// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// managers returns the managers of an object: "helm Apply, kubectl Update".
func managers(s *releaseCase, apiVersion, kind, name string) string {
	s.Helper()
	entries, _ := s.get(apiVersion, kind, name)["metadata"].(map[string]any)["managedFields"].([]any)
	var out []string
	for _, e := range entries {
		if apitest.At(e, "subresource") == "<nil>" && apitest.At(e, "manager") != "kube-controller-manager" {
			out = append(out, apitest.At(e, "manager")+" "+apitest.At(e, "operation"))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestFieldConflictError(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide = true
	s.to(fmt.Sprintf(web, 1, "2.0.0"))
	s.by("kubectl-edit", "apps/v1", "Deployment", "web", `{"spec":{"replicas":5,"template":{"spec":{"containers":[{"name":"server","image":"nginx:mine"}]}}}}`)
	s.by("hand", "v1", "ConfigMap", "web", `{"data":{"a":"mine"}}`)
	next := fmt.Sprintf(web, 2, "2.1.0")
	for _, predict := range []bool{false, true} {
		s.ServerDryRun = predict
		err := s.fails(next)
		var conflict *FieldConflictError
		if !errors.As(err, &conflict) {
			t.Fatalf("predict %v: %v", predict, err)
		}
		var got []string
		for _, f := range conflict.Conflicts {
			got = append(got, f.Object[:strings.Index(f.Object, " ")]+" "+f.Path+" "+f.Manager.String()+" "+string(f.Resolution))
			if f.Source != "chart/templates/a.yaml" {
				t.Errorf("source %q", f.Source)
			}
		}
		// All objects are in one error, before anything is written.
		apitest.Want(t, "conflicts", strings.Join(got, "\n"), `ConfigMap/web data.a hand fail
Deployment/web spec.replicas kubectl-edit fail
Deployment/web spec.template.spec.containers[server].image kubectl-edit fail`)
		apitest.Want(t, "written", s.rec.Of(progress.Updated), "")
		if text := err.Error(); !strings.Contains(text, `data.a is "mine" (set by hand), the chart says "1"`) || !strings.Contains(text, "conflict occurred while applying object") {
			t.Errorf("the values are not said: %s", text)
		}
	}
	s.Conflicts = plan.Take
	s.to(next)
	d := s.get("apps/v1", "Deployment", "web")
	apitest.Want(t, "replicas", apitest.At(d, "spec", "replicas"), "2")
	apitest.Want(t, "updated", s.rec.Of(progress.Updated), "ConfigMap/web Deployment/web")
}

func TestSwitchBetweenClientAndServerSide(t *testing.T) {
	for _, predict := range []bool{false, true} {
		t.Run(fmt.Sprint("predict ", predict), func(t *testing.T) { move(t, predict) })
	}
}

func move(t *testing.T, predict bool) {
	s := newReleaseCase(t)
	s.ServerDryRun = predict
	first := fmt.Sprintf(web, 2, "2.0.0")
	s.to(first)
	apitest.Want(t, "client side", managers(s, "v1", "ConfigMap", "web"), "helm Update")
	service := apitest.At(s.get("v1", "Service", "web"), "spec")
	deployment := apitest.At(s.get("apps/v1", "Deployment", "web"), "spec")

	// The same manifest: the managers change, and no field.
	s.ServerSide = true
	s.to(first)
	for _, o := range s.New {
		apitest.Want(t, o.String(), managers(s, o.APIVersion, o.Kind, o.Name), "helm Apply")
	}
	apitest.Want(t, "the Service", apitest.At(s.get("v1", "Service", "web"), "spec"), service)
	apitest.Want(t, "the Deployment", apitest.At(s.get("apps/v1", "Deployment", "web"), "spec"), deployment)
	apitest.Want(t, "again", s.to(first), "unchanged ConfigMap/web, unchanged Deployment/web, unchanged Secret/web, unchanged Service/web")

	// Fields that only the client-side release has set are removed.
	s.ServerSide = false
	more := strings.Replace(first, `data: {a: "1", b: "2"}`, `data: {a: "1", b: "3", c: "4"}`, 1)
	s.to(more)
	s.ServerSide = true
	less := strings.NewReplacer(`data: {a: "1", b: "3", c: "4"}`, `data: {b: "5"}`, `env: [{name: A, value: "1"}]`, "").Replace(more)
	p, _ := s.plan(less)
	if predict {
		for _, step := range p.Steps {
			if step.Kind == "ConfigMap" {
				apitest.Want(t, "foretold", apitest.At(step.After, "data"), "map[b:5]")
			}
		}
	}
	s.to(less)
	apitest.Want(t, "ConfigMap", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[b:5]")
	apitest.Want(t, "env", apitest.At(s.get("apps/v1", "Deployment", "web"), "spec", "template", "spec", "containers", "name=server", "env"), "<nil>")
	apitest.Want(t, "server side", managers(s, "v1", "ConfigMap", "web"), "helm Apply")

	// Back to client-side apply: nothing is written without need, and fields are removed.
	s.ServerSide = false
	before := s.rest()
	apitest.Want(t, "back", s.to(less), "unchanged ConfigMap/web, unchanged Deployment/web, unchanged Secret/web, unchanged Service/web")
	apitest.Want(t, "versions", s.versions(), before)
	s.to(strings.Replace(less, `data: {b: "5"}`, `data: {d: "6"}`, 1))
	apitest.Want(t, "ConfigMap", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[d:6]")
}

// Helm 4 applies a Secret's stringData, and keys that the chart drops stay.
func TestSecretAppliedByHelm4(t *testing.T) {
	live := map[string]any{}
	err := json.Unmarshal([]byte(`{"metadata":{"managedFields":[
		{"manager":"helm","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:stringData":{"f:a":{},"f:b":{}},"f:data":{"f:c":{}}}},
		{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsV1":{"f:data":{"f:d":{}}}},
		{"manager":"Helm","operation":"Update","apiVersion":"v1","fieldsV1":{"f:type":{}}}]}}`), &live)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := movedFields(plan.Item{Live: live}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	apitest.Want(t, "managedFields", string(text), `[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{},"f:c":{}},"f:type":{}},"manager":"helm","operation":"Apply","time":null},`+
		`{"apiVersion":"v1","fieldsV1":{"f:data":{"f:d":{}}},"manager":"kubectl","operation":"Update"}]`)
	if entries, err := movedFields(plan.Item{Live: map[string]any{"metadata": map[string]any{"managedFields": entries[1:]}}}, nil); entries != nil || err != nil {
		t.Errorf("moved what is others': %v, %v", entries, err)
	}
}

// A backup is restored without managedFields, and some programs remove them.
func TestObjectsWithoutManagedFields(t *testing.T) {
	for _, predict := range []bool{false, true} {
		t.Run(fmt.Sprint("predict ", predict), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide, s.ServerDryRun = true, predict
			const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {kept: "1", dropped: "1"}}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}
`
			s.to(text)
			s.by("hand", "v1", "ConfigMap", "web", `{"data":{"mine":"3"}}`)
			for _, kind := range []string{"ConfigMap", "Service"} {
				s.by("restore", "v1", kind, "web", `{"metadata":{"managedFields":[{}]}}`)
				apitest.Want(t, "managers", managers(s, "v1", kind, "web"), "")
			}
			s.to(strings.NewReplacer(`, dropped: "1"`, "", `a: "1", b: "2"`, `a: "4"`, ", {name: u, port: 53, protocol: UDP}", "").Replace(text))
			m := s.get("v1", "ConfigMap", "web")
			apitest.Want(t, "data", apitest.At(m, "data"), "map[a:4 mine:3]")
			apitest.Want(t, "label that is dropped", apitest.At(m, "metadata", "labels", "dropped"), "<nil>")
			apitest.Want(t, "ports", apitest.At(s.get("v1", "Service", "web"), "spec", "ports", "name=u"), "<nil>")
			apitest.Want(t, "managers", managers(s, "v1", "ConfigMap", "web"), "before-first-apply Update, helm Apply")
		})
	}
}

// The server accepts only one of some fields: the other one, set by another client or a
// default, would make every apply fail.
func TestServerSideApplyUnion(t *testing.T) {
	const text = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: i, env: [{name: A, value: "1"}, {name: B, value: "2"}], livenessProbe: {exec: {command: [a]}}}
      volumes: [{name: v, emptyDir: {}}]
`
	for _, predict := range []bool{false, true} {
		t.Run(fmt.Sprint("predict ", predict), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide, s.ServerDryRun = true, predict
			s.to(text)
			s.by("hand", "policy/v1", "PodDisruptionBudget", "web", `{"spec":{"minAvailable":null,"maxUnavailable":1}}`)
			s.by("kubectl-client-side-apply", "apps/v1", "Deployment", "web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":null,"valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}}}}`)
			s.by("hand", "apps/v1", "Deployment", "web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","livenessProbe":{"exec":null,"tcpSocket":{"port":1}}}],"volumes":[{"name":"v","emptyDir":null,"configMap":{"name":"x"}}]}}}}`)
			next := strings.Replace(text, "  replicas: 0\n", "  replicas: 0\n  strategy: {type: Recreate}\n", 1)
			s.to(next)
			apitest.Want(t, "budget", apitest.At(s.get("policy/v1", "PodDisruptionBudget", "web"), "spec"), "map[minAvailable:1 selector:map[matchLabels:map[app:web]]]")
			d := s.get("apps/v1", "Deployment", "web")
			apitest.Want(t, "strategy", apitest.At(d, "spec", "strategy"), "map[type:Recreate]")
			container := []string{"spec", "template", "spec", "containers", "name=c"}
			apitest.Want(t, "env", apitest.At(d, append(container, "env", "name=A")...), "map[name:A value:1]")
			apitest.Want(t, "probe", apitest.At(d, append(container, "livenessProbe", "tcpSocket")...), "<nil>")
			apitest.Want(t, "volume", apitest.At(d, "spec", "template", "spec", "volumes", "name=v"), "map[emptyDir:map[] name:v]")
			before := s.rest()
			s.to(next)
			apitest.Want(t, "versions after the same again", s.versions(), before)
		})
	}
}
