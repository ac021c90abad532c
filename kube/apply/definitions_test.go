// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
)

// Changes of a definition that has objects: which are refused, and why.
func TestDefinitionsThatLoseObjects(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Mare%x", rand.Uint32())
	name := strings.ToLower(kind) + "s.moon.example.com"
	// v1 is stored, v1beta1 served.
	fields := "size: {type: integer}, deep: {type: object, properties: {a: {type: string}, b: {type: string}}}, list: {type: array, items: {type: object, properties: {a: {type: string}}}}, free: {type: object, x-kubernetes-preserve-unknown-fields: true}, map: {type: object, additionalProperties: {type: string}}, unused: {type: string}"
	first := versioned(kind, fields, "v1", "v1beta1")
	if err := s.c.InstallCRDs(t.Context(), apitest.Parse(t, first)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(s.c, apitest.Parse(t, first)) })
	s.to(fmt.Sprintf("apiVersion: moon.example.com/v1\nkind: %s\nmetadata: {name: x}\nspec: {size: 1, deep: {a: one, b: two}, list: [{a: z}], free: {any: 1}, map: {k: v}}", kind))

	try := func(text string) (*DefinitionError, error) {
		p, err := s.c.PlanCRDs(t.Context(), kube.Owner{Release: "web", Namespace: "shop"}, apitest.Parse(t, text))
		var refused *DefinitionError
		errors.As(err, &refused)
		if (p == nil) == (err == nil) {
			t.Errorf("got a plan %v and an error %v", p, err)
		}
		return refused, err
	}
	replace := func(old, with string) string {
		if !strings.Contains(first, old) {
			t.Fatalf("no %q in the definition", old)
		}
		return strings.ReplaceAll(first, old, with)
	}
	for _, tc := range []struct {
		name, text string
		rule       DefinitionRule // "" if it is allowed
		want       string
	}{
		{"the same", first, "", ""},
		{"a field more", replace("size: {type: integer}", "size: {type: integer}, more: {type: string}"), "", ""},
		{"a field that no object has", replace(", unused: {type: string}", ""), "", ""},
		{"a field of an object", replace("size: {type: integer}, ", ""), RulePruning, "lacks spec.size of version v1, "},
		{"a nested field", replace(", b: {type: string}", ""), RulePruning, "spec.deep.b"},
		{"a field of items", replace("properties: {a: {type: string}}}}", "properties: {b: {type: string}}}}"), RulePruning, "spec.list[].a"},
		{"unknown fields", replace(", x-kubernetes-preserve-unknown-fields: true", ""), RulePruning, "spec.free.any"},
		{"fields of a map", replace("additionalProperties: {type: string}", "properties: {other: {type: string}}"), RulePruning, "spec.map.k"},
		{"a map that takes any value", replace("additionalProperties: {type: string}", "x-kubernetes-preserve-unknown-fields: true"), "", ""},
		{"the stored version", versioned(kind, fields, "v1beta1"), RuleStored, "drops version v1, in which objects may be stored"},
		{"the scope", replace("scope: Namespaced", "scope: Cluster"), RuleIdentity, "spec.scope from Namespaced to Cluster"},
		{"the kind", replace("kind: "+kind, "kind: "+kind+"x"), RuleIdentity, "spec.names.kind"},
		{"a served version without objects", versioned(kind, fields, "v1"), "", ""},
		{"a version that is not served", replace("name: v1beta1, served: true", "name: v1beta1, served: false"), "", ""},
		{"another stored version without a field", strings.Replace(versioned(kind, fields, "v2", "v1", "v1beta1"), "size: {type: integer}, ", "", 1), RulePruning, "spec.size"},
		{"another stored version with all fields", versioned(kind, fields, "v2", "v1", "v1beta1"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			refused, err := try(tc.text)
			if tc.rule == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if refused == nil {
				t.Fatalf("got %v, want a DefinitionError", err)
			}
			p := refused.Problems[0]
			if p.Rule != tc.rule || p.Name != name || !strings.Contains(err.Error(), tc.want) || refused.Hint() == "" {
				t.Errorf("got %s: %v, want %s with %q", p.Rule, err, tc.rule, tc.want)
			}
			if tc.rule == RulePruning && fmt.Sprint(p.Objects) != "["+s.Owner.Namespace+"/x]" {
				t.Errorf("got the objects %v", p.Objects)
			}
		})
	}

	// An object that a client writes in v1beta1 keeps that version.
	s.by("old", "moon.example.com/v1beta1", kind, "x", `{"spec":{"size":2}}`)
	refused, err := try(versioned(kind, fields, "v1"))
	if refused == nil || refused.Problems[0].Rule != RuleServed || !strings.Contains(err.Error(), "drops version v1beta1, in which objects were written ("+s.Owner.Namespace+"/x)") {
		t.Errorf("a version in use: %v", err)
	}

	// A webhook for conversion that ends.
	hook := strings.Replace(first, "  versions:\n", "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/'}}}\n  versions:\n", 1)
	p, err := s.c.PlanCRDs(t.Context(), kube.Owner{}, apitest.Parse(t, hook))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.c.ExecuteCRDs(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	refused, err = try(strings.Replace(first, "  versions:\n", "  conversion: {strategy: None, webhook: null}\n  versions:\n", 1))
	if refused == nil || refused.Problems[0].Rule != RuleConversion {
		t.Errorf("the end of a webhook: %v", err)
	}
	// Without the field the cluster's stays, as it was added for the chart.
	if refused, err := try(first); refused != nil || err != nil {
		t.Errorf("without conversion: %v", err)
	}

	// A definition in the manifest of another release.
	s.by("other", "apiextensions.k8s.io/v1", api.CRDKind, name, `{"metadata":{"annotations":{"meta.helm.sh/release-name":"base","meta.helm.sh/release-namespace":"infra"},"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
	more := replace("size: {type: integer}", "size: {type: integer}, more: {type: string}")
	if refused, err = try(more); refused == nil || refused.Problems[0].Rule != RuleOwner || !strings.Contains(err.Error(), `belongs to release "base" in namespace "infra"`) {
		t.Errorf("another release's: %v", err)
	}
	if p, err := s.c.PlanCRDs(t.Context(), kube.Owner{}, apitest.Parse(t, more)); err != nil || p.Steps[0].Action != plan.Update {
		t.Errorf("taken over: %v", err)
	}
}

// A status is not lost: controllers write it again.
func TestDefinitionsWithoutStatus(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Mare%x", rand.Uint32())
	with := func(status string) string {
		return strings.NewReplacer("storage: true, schema: {openAPIV3Schema: {type: object, properties: {",
			"storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {"+status+"}}, ").
			Replace(versioned(kind, "size: {type: integer}", "v1"))
	}
	if err := s.c.InstallCRDs(t.Context(), apitest.Parse(t, with("old: {type: string}"))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(s.c, apitest.Parse(t, with(""))) })
	s.to(fmt.Sprintf("apiVersion: moon.example.com/v1\nkind: %s\nmetadata: {name: x}\nspec: {size: 1}", kind))
	if _, err := s.c.api.Call(t.Context(), "PATCH", "/apis/moon.example.com/v1/namespaces/"+s.Owner.Namespace+"/"+strings.ToLower(kind)+"s/x/status",
		nil, map[string][]string{"Content-Type": {"application/merge-patch+json"}}, []byte(`{"status":{"old":"a"}}`)); err != nil {
		t.Fatal(err)
	}
	if got := apitest.At(s.get("moon.example.com/v1", kind, "x"), "status", "old"); got != "a" {
		t.Fatalf("status.old = %v", got)
	}
	if _, err := s.c.PlanCRDs(t.Context(), kube.Owner{}, apitest.Parse(t, with("new: {type: string}"))); err != nil {
		t.Error(err)
	}
}

func TestPrunedFields(t *testing.T) {
	definition := func(root string) *fieldSchema {
		objects := apitest.Parse(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec: {versions: [{name: v1, schema: {openAPIV3Schema: "+root+"}}]}")
		m, err := objects[0].Map()
		if err != nil {
			t.Fatal(err)
		}
		d := specOf(m)
		return d.Versions[0].Schema.OpenAPIV3Schema.root(d)
	}
	object := func(text string) map[string]any {
		m, err := apitest.Parse(t, "apiVersion: a/v1\nkind: B\nmetadata: {name: a, labels: {a: b}}\n"+text)[0].Map()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, tc := range []struct {
		name, was, is, object string
		narrower              bool
		want                  string
	}{
		{"the same", "{properties: {spec: {properties: {a: {}}}}}", "{properties: {spec: {properties: {a: {}}}}}", "spec: {a: 1}", false, "[]"},
		{"no schema at all", "{properties: {spec: {properties: {a: {}}}}}", "{}", "spec: {a: 1}", true, "[spec]"},
		{"everything is kept", "{properties: {spec: {properties: {a: {}}}}}", "{x-kubernetes-preserve-unknown-fields: true}", "spec: {a: 1}", false, "[]"},
		{"known below unknown", "{x-kubernetes-preserve-unknown-fields: true}", "{x-kubernetes-preserve-unknown-fields: true, properties: {spec: {properties: {a: {}}}}}", "spec: {a: 1, b: 2}", false, "[spec.b]"},
		{"a map of maps", "{properties: {m: {additionalProperties: {properties: {a: {}, b: {}}}}}}", "{properties: {m: {additionalProperties: {properties: {a: {}}}}}}", "m: {x: {a: 1, b: 2}}", true, "[m.x.b]"},
		{"a map without a schema", "{properties: {m: {additionalProperties: true}}}", "{properties: {m: {additionalProperties: {properties: {a: {}}}}}}", "m: {x: {b: 2}}", true, "[m.x.b]"},
		{"null", "{properties: {a: {}}}", "{properties: {b: {}}}", "a: null", true, "[]"},
		{"lists of lists", "{properties: {l: {items: {items: {properties: {a: {}}}}}}}", "{properties: {l: {items: {items: {properties: {b: {}}}}}}}", "l: [[{a: 1}]]", true, "[l[][].a]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			was, is := definition(tc.was), definition(tc.is)
			if got := was.losesFields(is, false); got != tc.narrower {
				t.Errorf("narrower = %t, want %t", got, tc.narrower)
			}
			if got := fmt.Sprint(is.prunes(object(tc.object))); got != tc.want {
				t.Errorf("pruned = %s, want %s", got, tc.want)
			}
		})
	}
}

// A CRD among a release's objects may lose fields unless it is protected, and never a stored version.
func TestDefinitionsInTemplates(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Rille%x", rand.Uint32())
	first := versioned(kind, "size: {type: integer}, colour: {type: string}", "v1")
	s.to(first)
	t.Cleanup(func() { discard(s.c, apitest.Parse(t, first)) })
	if err := s.c.InstallCRDs(t.Context(), apitest.Parse(t, first)); err != nil { // waits for it
		t.Fatal(err)
	}
	other := newReleaseCase(t)
	other.to(fmt.Sprintf("apiVersion: moon.example.com/v1\nkind: %s\nmetadata: {name: x}\nspec: {size: 1}", kind))
	narrow := versioned(kind, "colour: {type: string}", "v1")
	for _, tc := range []struct {
		name, text string
		protected  bool
		rule       DefinitionRule
	}{
		{"a field, as with Helm", narrow, false, ""},
		{"a field", narrow, true, RulePruning},
		{"a field, with the object's permission", strings.Replace(narrow, "labels: {", "annotations: {helm.sh/replace: \"true\"}, labels: {", 1), true, ""},
		{"the stored version", versioned(kind, "size: {type: integer}", "v2"), false, RuleStored},
		{"the stored version, protected", versioned(kind, "size: {type: integer}", "v2"), true, RuleStored},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := s.Request
			r.New, r.Protected = apitest.Parse(t, tc.text), nil
			if tc.protected {
				r.Protected = r.New
			}
			_, err := s.c.Plan(t.Context(), r)
			refused, _ := errors.AsType[*DefinitionError](err)
			switch {
			case tc.rule == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tc.rule != "" && (refused == nil || !refused.InTemplates || refused.Problems[0].Rule != tc.rule):
				t.Errorf("got %v, want the rule %q", err, tc.rule)
			case tc.rule == RulePruning && !strings.HasPrefix(refused.Hint(), "--crds create upgrades the definitions in templates/"):
				t.Errorf("the hint is %q", refused.Hint())
			}
		})
	}
}
