// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"
	"testing"
)

// Charts that render at the same time share one allowance: many that stay
// within it each must not go beyond it together.
func TestBoundedTogether(t *testing.T) {
	if _, err := Render(t.Context(), input(t, tree(t, "web", greedy(10)))); err != nil {
		t.Fatalf("ten of them: %v", err)
	}
	e := renderError(t, greedy(40))
	if !strings.Contains(e.Error(), "the templates make more than 512 MiB") {
		t.Errorf("got %s", e)
	}
}

func greedy(charts int) map[string]string {
	files := map[string]string{}
	for i := range charts {
		files[fmt.Sprintf("charts/c%02d/Chart.yaml", i)] = fmt.Sprintf("apiVersion: v2\nname: c%02d\nversion: 0.1.0\n", i)
		files[fmt.Sprintf("charts/c%02d/templates/a.yaml", i)] = `{{ range until 3 }}{{ $s := repeat 7000000 "x" }}{{ end }}`
	}
	return files
}
