// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
)

func TestLabeled(t *testing.T) {
	owner := map[string]any{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
	labels := map[string]any{"app.kubernetes.io/managed-by": "Helm"}
	tests := []struct {
		name, raw, namespace string
		want                 map[string]any
	}{
		{"an empty document", "# nothing", "shop", nil},
		{"an object without metadata", "kind: A", "shop", map[string]any{"kind": "A",
			"metadata": map[string]any{"namespace": "shop", "labels": labels, "annotations": owner}}},
		{"an instruction to Moonhelm", "metadata: {annotations: {helm.sh/depends-on/x: y}}", "", map[string]any{
			"metadata": map[string]any{"labels": labels, "annotations": owner}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := &manifest.Object{Source: "a.yaml", Raw: test.raw}
			got, err := Labeled(o, test.namespace, kube.Owner{Release: "web", Namespace: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
