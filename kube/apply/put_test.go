// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// replaced are objects of a chart that other clients change.
const replaced = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: server, image: nginx}]}}
`

func TestReplaceRemovesForeignFields(t *testing.T) {
	s := newReleaseCase(t)
	s.to(replaced)
	uid := func(apiVersion, kind string) string {
		return api.String(s.get(apiVersion, kind, "web"), "metadata", "uid")
	}
	before := uid("v1", "ConfigMap") + uid("v1", "Service") + uid("apps/v1", "Deployment")
	service := s.get("v1", "Service", "web")
	s.by("ops", "v1", "ConfigMap", "web", `{"metadata":{"labels":{"team":"ops"},"annotations":{"note":"x"},"finalizers":["example.com/wait"]},"data":{"b":"2"}}`)
	defer s.by("ops", "v1", "ConfigMap", "web", `{"metadata":{"finalizers":null}}`)
	s.by("ops", "v1", "Service", "web", `{"spec":{"ports":[{"name":"more","port":81}],"externalTrafficPolicy":"Local"}}`)
	s.by("mesh", "apps/v1", "Deployment", "web", `{"spec":{"minReadySeconds":5,"template":{"spec":{"containers":[{"name":"sidecar","image":"mesh"}]}}}}`)
	s.rest()

	s.ForceReplace = true
	apitest.Want(t, "plan", s.to(strings.Replace(replaced, `a: "1"`, `a: "2"`, 1)), "update ConfigMap/web, update Deployment/web, update Service/web")
	apitest.Want(t, "told", s.rec.Of(progress.Updated), "ConfigMap/web Deployment/web Service/web")
	apitest.Want(t, "deleted", s.rec.Of(progress.Deleted), "")
	if now := uid("v1", "ConfigMap") + uid("v1", "Service") + uid("apps/v1", "Deployment"); now != before {
		t.Errorf("an object is another one now: %s, was %s", now, before)
	}
	config := s.get("v1", "ConfigMap", "web")
	apitest.Want(t, "data", apitest.At(config, "data"), "map[a:2]")
	apitest.Want(t, "labels", apitest.At(config, "metadata", "labels"), "map[app.kubernetes.io/managed-by:Helm]")
	apitest.Want(t, "annotation", apitest.At(config, "metadata", "annotations", "note"), "<nil>")
	apitest.Want(t, "finalizers", apitest.At(config, "metadata", "finalizers"), "[example.com/wait]")
	now := s.get("v1", "Service", "web")
	apitest.Want(t, "cluster IP", apitest.At(now, "spec", "clusterIP"), apitest.At(service, "spec", "clusterIP"))
	apitest.Want(t, "node port", apitest.At(now, "spec", "ports", "name=http", "nodePort"), apitest.At(service, "spec", "ports", "name=http", "nodePort"))
	apitest.Want(t, "another's port", apitest.At(now, "spec", "ports", "name=more"), "<nil>")
	apitest.Want(t, "another's policy", apitest.At(now, "spec", "externalTrafficPolicy"), "Cluster")
	deployment := s.get("apps/v1", "Deployment", "web")
	apitest.Want(t, "sidecar", apitest.At(deployment, "spec", "template", "spec", "containers", "name=sidecar"), "<nil>")
	apitest.Want(t, "minReadySeconds", apitest.At(deployment, "spec", "minReadySeconds"), "<nil>")

	// Objects that already equal the release's are not written.
	versions := s.rest()
	s.to(strings.Replace(replaced, `a: "1"`, `a: "2"`, 1))
	apitest.Want(t, "again", strings.Split(s.versions(), " ")[0], strings.Split(versions, " ")[0])
	apitest.Want(t, "told again", s.rec.Of(progress.Updated), "")
}

func TestReplaceDryRun(t *testing.T) {
	s := newReleaseCase(t)
	s.to(replaced)
	s.by("ops", "v1", "ConfigMap", "web", `{"data":{"b":"2"}}`)
	versions := s.rest()
	s.ForceReplace, s.ServerDryRun = true, true
	p, says := s.plan(replaced)
	apitest.Want(t, "plan", says, "unchanged Deployment/web, unchanged Service/web, update ConfigMap/web")
	for _, step := range p.Steps {
		if step.Kind == "ConfigMap" {
			apitest.Want(t, "after", apitest.At(step.After, "data"), "map[a:1]")
		}
	}
	apitest.Want(t, "written", s.versions(), versions)
}

func TestReplaceChangedSincePlan(t *testing.T) {
	s := newReleaseCase(t)
	s.to(replaced)
	s.ForceReplace = true
	p, _ := s.plan(replaced)
	s.by("ops", "v1", "ConfigMap", "web", `{"data":{"b":"2"}}`)
	if _, err := s.c.Call(t.Context(), "DELETE", "/api/v1/namespaces/"+s.ns+"/services/web", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:1]")
	apitest.Want(t, "the Service", apitest.At(s.get("v1", "Service", "web"), "spec", "type"), "NodePort")
}

// Immutable fields that the API server has set are kept.
func TestReplaceFallsBackToMerge(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	for _, test := range []struct{ name, from, to, says, updated string }{
		{"a Job as it is", fixed[0].from, fixed[0].from, "update Job/x", ""},
		{"a Job's label", fixed[0].from, strings.Replace(fixed[0].from, "{name: x}", "{name: x, labels: {a: b}}", 1), "update Job/x", "Job/x"},
		{"a Pod as it is", fixed[7].from, fixed[7].from, "update Pod/x", ""},
		{"a Pod's image", fixed[7].from, strings.Replace(fixed[7].from, "image: a", "image: b", 1), "update Pod/x", "Pod/x"},
		{"a volume claim as it is", claim, claim, "unchanged PersistentVolumeClaim/x", ""},
		{"a volume claim's label", claim, strings.Replace(claim, "{name: x}", "{name: x, labels: {a: b}}", 1), "update PersistentVolumeClaim/x", "PersistentVolumeClaim/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newReleaseCase(t)
			s.to(test.from)
			o := s.New[0]
			uid := api.String(s.get(o.APIVersion, o.Kind, "x"), "metadata", "uid")
			s.rest()
			s.ForceReplace = true
			apitest.Want(t, "plan", s.to(test.to), test.says)
			apitest.Want(t, "updated", s.rec.Of(progress.Updated), test.updated)
			apitest.Want(t, "uid", api.String(s.get(o.APIVersion, o.Kind, "x"), "metadata", "uid"), uid)
			s.ServerDryRun = true
			if _, says := s.plan(test.to); !strings.HasPrefix(says, "unchanged ") {
				t.Errorf("foretold %s", says)
			}
		})
	}
}

func TestReplaceCustomResource(t *testing.T) {
	s := newReleaseCase(t)
	kind := "Comet" + strings.ReplaceAll(s.ns, "-", "")
	open := strings.ReplaceAll(definition, "KIND", kind)
	open = strings.ReplaceAll(open, "PLURAL", strings.ToLower(kind)+"s")
	if err := s.c.InstallCRDs(t.Context(), apitest.Parse(t, open)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.c.Delete(t.Context(), apitest.Parse(t, open), kube.Owner{}, Background) })
	text := "apiVersion: put.example.com/v1\nkind: " + kind + "\nmetadata: {name: x}\nspec: {a: {b: 1}}\n"
	s.to(text)
	s.by("ops", "put.example.com/v1", kind, "x", `{"spec":{"a":{"c":2},"d":3}}`)
	s.ForceReplace = true
	s.to(text)
	apitest.Want(t, "spec", apitest.At(s.get("put.example.com/v1", kind, "x"), "spec"), "map[a:map[b:1]]")
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.put.example.com}
spec:
  group: put.example.com
  scope: Namespaced
  names: {kind: KIND, plural: PLURAL, singular: PLURAL}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// The permissions for a replacement are checked before it.
func TestReplacePermission(t *testing.T) {
	s := &inventory{}
	objects := apitest.Parse(t, configMapsText("a", "b"))
	res := &kube.Resource{Kind: "ConfigMap", Plural: "configmaps", Namespaced: true, APIVersion: "v1"}
	target := &api.Target{Resource: res, Kind: "ConfigMap", Namespace: "ns", Name: "a", From: objects[0]}
	s.items = []*item{{Target: target, wanted: true}}
	for typ, verb := range map[plan.PatchType]string{plan.Put: "update", plan.StrategicMerge: "patch"} {
		p := &plan.Plan{Steps: []plan.Step{{Item: plan.Item{Ref: target.Ref()}, Action: plan.Update, Type: typ}}}
		if got := s.neededPermissions(p, nil); len(got) != 1 || got[0].Verb != verb {
			t.Errorf("%s: got %+v, want %s", typ, got, verb)
		}
	}
}
