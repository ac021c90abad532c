// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// versioned returns a definition with the given versions, the first one stored.
func versioned(kind string, fields string, versions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.moon.example.com, labels: {chart: x}}
spec:
  group: moon.example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}
  versions:
`, strings.ToLower(kind), kind)
	for i, v := range versions {
		fmt.Fprintf(&b, "  - {name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}}}}}\n", v, i == 0, fields)
	}
	return b.String()
}

func TestPlanCRDs(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Crater%x", rand.Uint32())
	other := kind + "x"
	upgrade := func(text string) string {
		t.Helper()
		defs := apitest.Parse(t, text)
		p, err := s.c.PlanCRDs(t.Context(), kube.Owner{}, append(defs, defs[0])) // as for a chart that is in the tree twice
		if err != nil {
			t.Fatal(err)
		}
		var says []string
		for _, step := range p.Steps {
			says = append(says, string(step.Action))
		}
		s.rec.Reset()
		if err := s.c.ExecuteCRDs(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return strings.Join(says, " ")
	}
	one := versioned(kind, "size: {type: integer}", "v1")
	apitest.Want(t, "at first", upgrade(one), "create")
	t.Cleanup(func() { discard(s.c, apitest.Parse(t, one)) })
	apitest.Want(t, "again", upgrade(one), "unchanged")
	name := strings.ToLower(kind) + "s.moon.example.com"
	s.by("other", "apiextensions.k8s.io/v1", api.CRDKind, name, `{"metadata":{"labels":{"mine":"yes"}}}`)

	both := versioned(kind, "size: {type: integer}, m: {type: string}", "v2", "v1")
	apitest.Want(t, "a version more", upgrade(both+"---"+versioned(other, "size: {type: integer}", "v1")), "update create")
	t.Cleanup(func() { discard(s.c, apitest.Parse(t, versioned(other, "", "v1"))) })
	def := s.get("apiextensions.k8s.io/v1", api.CRDKind, name)
	apitest.Want(t, "labels", apitest.At(def, "metadata", "labels"), "map[chart:x mine:yes]")
	apitest.Want(t, "stored", apitest.At(def, "status", "storedVersions"), "[v1 v2]")
	apitest.Want(t, "the new version is used", s.to(fmt.Sprintf("apiVersion: moon.example.com/v2\nkind: %s\nmetadata: {name: x}\nspec: {size: 1, m: a}", kind)), "create "+kind+"/x")
	// The release's custom resource is merged as JSON, and changes its version.
	apitest.Want(t, "merged", s.to(fmt.Sprintf("apiVersion: moon.example.com/v1\nkind: %s\nmetadata: {name: x}\nspec: {size: 2}", kind)), "update "+kind+"/x")
	apitest.Want(t, "spec", apitest.At(s.get("moon.example.com/v2", kind, "x"), "spec"), "map[size:2]")

	// A new field of the schema can be set at once.
	upgrade(strings.ReplaceAll(both, "m: {type: string}", "m: {type: string}, new: {type: string}"))
	apitest.Want(t, "the new field is used", s.to(fmt.Sprintf("apiVersion: moon.example.com/v1\nkind: %s\nmetadata: {name: x}\nspec: {size: 2, new: b}", kind)), "update "+kind+"/x")
}

func TestCustomResourcesUseJSONMerge(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Crater%x", rand.Uint32())
	defs := apitest.Parse(t, versioned(kind, "keep: {type: string}, drop: {type: string}, others: {type: string}, list: {type: array, items: {type: object, properties: {name: {type: string}, v: {type: integer}}}}", "v1"))
	if err := s.c.InstallCRDs(t.Context(), defs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(s.c, defs) })
	const text = "apiVersion: moon.example.com/v1\nkind: %s\nmetadata: {name: x}\nspec: {%s}"
	s.to(fmt.Sprintf(text, kind, "keep: a, drop: b, list: [{name: a, v: 1}, {name: b, v: 2}]"))
	s.by("me", "moon.example.com/v1", kind, "x", `{"spec":{"others":"mine"}}`)
	s.New = apitest.Parse(t, fmt.Sprintf(text, kind, "keep: a, list: [{name: b, v: 3}]"))
	p, err := s.c.Plan(t.Context(), s.Request)
	if err != nil || p.Steps[0].Type != plan.JSONMerge {
		t.Fatalf("%v, %v", p, err)
	}
	if err := s.c.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	apitest.Want(t, "spec", apitest.At(s.get("moon.example.com/v1", kind, "x"), "spec"), "map[keep:a list:[map[name:b v:3]] others:mine]")
	s.Old = [][]*manifest.Object{s.New}
	apitest.Want(t, "again", s.to(s.New[0].Raw), "unchanged "+kind+"/x")
}
