// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Charts that render concurrently share the limits of a rendering.
func TestBoundedTogether(t *testing.T) {
	run := func(charts int) error {
		in := input(t, tree(t, "web", busy(charts)))
		e := newEngine(&in)
		e.stepLimit = 1_000_000
		jobs := e.jobs(false)
		if err := e.parse(jobs); err != nil {
			t.Fatal(err)
		}
		return e.runJobs(context.Background(), jobs)
	}
	if err := run(16); err != nil {
		t.Fatalf("sixteen of them: %v", err)
	}
	if err := run(40); err == nil || !strings.Contains(err.Error(), "more than 1 million steps") {
		t.Errorf("forty of them: got %v", err)
	}
}

// busy returns charts that take about 40,000 steps each.
func busy(charts int) map[string]string {
	files := map[string]string{}
	for i := range charts {
		files[fmt.Sprintf("charts/c%02d/Chart.yaml", i)] = fmt.Sprintf("apiVersion: v2\nname: c%02d\nversion: 0.1.0\n", i)
		files[fmt.Sprintf("charts/c%02d/templates/a.yaml", i)] = `{{ range until 40000 }}{{ end }}`
	}
	return files
}

// Garbage is not limited, such as that of appending to a long list, only memory in use.
func TestGarbageNotLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for text, want := range map[string]string{
		`{{ $l := list }}{{ range until 12000 }}{{ $l = append $l . }}{{ end }}{{ len $l }}`:                  "12000",
		`{{ $s := "" }}{{ range until 400 }}{{ $s = repeat 4000000 "x" }}{{ end }}{{ len $s }}`:               "4000000",
		`{{ $l := list }}{{ range until 400 }}{{ $l = append $l (repeat 8000000 "x") }}{{ end }}{{ len $l }}`: "",
	} {
		t.Run(text, func(t *testing.T) {
			out, err := Render(t.Context(), input(t, tree(t, "web", map[string]string{"templates/a.yaml": text})))
			switch {
			case want == "" && (err == nil || !strings.Contains(err.Error(), "the templates hold more than")):
				t.Errorf("%s: got %v", text, err)
			case want != "" && err != nil:
				t.Errorf("%s: %v", text, err)
			case want != "" && out.Files[0].Content != want:
				t.Errorf("%s: got %s, want %s", text, out.Files[0].Content, want)
			}
		})
	}
}
