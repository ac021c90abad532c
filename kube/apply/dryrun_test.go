// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

func TestServerDryRun(t *testing.T) {
	s := newReleaseCase(t)
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: %IMAGE, resources: {limits: {cpu: %CPU}}}]}}}\n"
	text := func(image, cpu string) string {
		return strings.NewReplacer("%IMAGE", image, "%CPU", cpu).Replace(deployment)
	}
	s.ServerDryRun = true
	p, says := s.plan(text("a", "1"))
	apitest.Want(t, "install", says, "create Deployment/d")
	apitest.Want(t, "defaults", apitest.At(p.Steps[0].After, "spec", "strategy", "type"), "RollingUpdate")
	if len(s.get("apps/v1", "Deployment", "d")) > 0 {
		t.Fatal("it was created")
	}
	s.to(text("a", "1"))
	// The same values in another form are not a change.
	apitest.Want(t, "in other words", s.to(text("a", "1000m")), "unchanged Deployment/d")
	p, says = s.plan(text("b", "1000m"))
	apitest.Want(t, "another image", says, "update Deployment/d")
	apitest.Want(t, "foretold", apitest.At(p.Steps[0].After, "spec", "template", "spec", "containers", "name=c", "resources", "limits", "cpu"), "1")
	apitest.Want(t, "no managers", apitest.At(p.Steps[0].After, "metadata", "managedFields"), "<nil>")

	// All errors of the server are reported together.
	err := s.fails(strings.Replace(text("a", "1"), "replicas: 0", "replicas: -1", 1) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nunknown: 1\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: Bad_Name}\n")
	for _, want := range []string{"update Deployment/d", "spec.replicas", "ConfigMap/x", `.unknown: unknown field`, "create Secret/Bad_Name", "chart/templates/a.yaml"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	var object *kube.ObjectError
	if !errors.As(err, &object) {
		t.Errorf("%v", err)
	}
}

func TestServerDryRunMissingPrerequisites(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerDryRun = true
	other := s.ns + "-new"
	text := `
apiVersion: v1
kind: Namespace
metadata: {name: ` + other + `}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: ` + other + `}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: sa}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: ` + other + `}
value: 1
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {serviceAccountName: sa, priorityClassName: ` + other + `, containers: [{name: c, image: i}]}
`
	_, says := s.plan(text)
	apitest.Want(t, "plan", says, "create ConfigMap/inside, create Namespace/"+other+", create Pod/p, create PriorityClass/"+other+", create ServiceAccount/sa")
	if err := s.fails(strings.Replace(text, "serviceAccountName: sa", "serviceAccountName: ghost", 1)); !strings.Contains(err.Error(), "ghost") {
		t.Errorf("%v", err)
	}
	if err := s.fails("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: " + other + "}"); !strings.Contains(err.Error(), other) {
		t.Errorf("%v", err)
	}
	// The release's namespace may not exist yet.
	s.Owner.Namespace = other
	_, says = s.plan("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}")
	apitest.Want(t, "plan", says, "create ConfigMap/a")
}

// Order: Helm's order of kinds, then the deletions in reverse order.
func TestExecuteOrder(t *testing.T) {
	s := newReleaseCase(t)
	s.to("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n" + configMapsText("b", "a") + "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 1}]}\n")
	s.New = manifest.ApplyOrder(apitest.Parse(t, "apiVersion: v1\nkind: Service\nmetadata: {name: new}\nspec: {ports: [{port: 1}]}\n---\n"+configMapsText("new")+"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: new}\n"))
	p, err := s.c.Plan(t.Context(), s.Request)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range p.Steps {
		steps = append(steps, string(step.Action)+" "+step.String())
		if (step.Object == nil) != (step.Action == plan.Delete) {
			t.Errorf("%s comes from %v", step, step.Object)
		}
	}
	apitest.Want(t, "steps", strings.Join(steps, ", "), "create ConfigMap/new, create Service/new, create Secret/new, delete Service/s, delete ConfigMap/a, delete ConfigMap/b, delete Secret/s")
}
