// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"testing"
)

func TestIsKeepPolicy(t *testing.T) {
	for value, want := range map[string]bool{
		"keep": true, " Keep\n": true, "": false, "delete": false, "keep,delete": false,
	} {
		t.Run(cmp.Or(value, "empty"), func(t *testing.T) {
			if got := IsKeepPolicy(value); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestOwnershipOf(t *testing.T) {
	labels := map[string]string{"app.kubernetes.io/managed-by": "Helm", "app": "web"}
	annotations := map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
	if got, want := OwnershipOf(labels, annotations), OwnedBy("web", "shop"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := OwnershipOf(nil, nil); got != (Ownership{}) {
		t.Errorf("without labels: got %+v, want the zero value", got)
	}
}
