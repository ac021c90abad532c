// SPDX-License-Identifier: Apache-2.0

package get

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// Names are sorted, as in Helm. Invalid records of other clients must not crash the command.
func TestMetadataWithNullDependency(t *testing.T) {
	m := metadata{Name: "web", Labels: map[string]string{"b": "2", "a": "1"}, Dependencies: []*chart.Dependency{{Name: "db"}, nil, {Name: "cache"}}}
	var b strings.Builder
	if err := m.table(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NAME: web\n", "LABELS: a=1,b=2\n", "DEPENDENCIES: cache,db\n", "APPLY_METHOD: client-side apply (defaulted)\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
