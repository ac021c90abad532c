// SPDX-License-Identifier: Apache-2.0

package action

import (
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// A definition that stays is cluster-scoped whatever namespace its manifest names.
func TestKeptDefinitionHasNoNamespace(t *testing.T) {
	objects, err := manifest.Parse("crds/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+
		"metadata: {name: as.example.com, namespace: shop}\n")
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{plan: &plan.Plan{}, moves: &plan.Moves{Definitions: objects}}
	d.markMoved()
	want := plan.Ref{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "as.example.com"}
	if len(d.plan.Steps) != 1 || d.plan.Steps[0].Ref != want {
		t.Errorf("got %v, want one step of %v", d.plan.Steps, want)
	}
}
