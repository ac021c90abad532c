// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

func TestConflicts(t *testing.T) {
	scaled := plan.Conflict{Path: "spec.replicas", Manager: plan.Manager{Name: "kubectl", Subresource: "scale", Time: "2026-01-02T03:04:05Z"}, Live: int64(5), Chart: int64(3), Resolution: plan.Yield, Reason: "it was scaled"}
	hidden := plan.Conflict{Path: "data.key", Manager: plan.Manager{Name: "intruder"}, Live: "bGl2ZQ==", Chart: "Y2hhcnQ=", Secret: true, Resolution: plan.Fail}
	d := Diff{Release: "web", Namespace: "shop", Objects: []Object{
		{Ref: plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Action: plan.Unchanged, Conflicts: []plan.Conflict{scaled}},
		{Ref: plan.Ref{APIVersion: "v1", Kind: "Secret", Name: "web"}, Action: plan.Unchanged, Conflicts: []plan.Conflict{hidden}},
	}}
	for _, tc := range []struct {
		name       string
		format     output.Format
		secrets    bool
		has, lacks []string
	}{
		{
			name: "text", lacks: []string{"bGl2ZQ==", "Y2hhcnQ="},
			has: []string{
				"shop, web, Deployment (apps) has not changed.\n  # conflict: spec.replicas is 5 (set by kubectl (scale)), the chart says 3: it stays as it is (it was scaled)\n",
				"conflict: data.key is set by intruder to another value than the chart's: the operation fails\n",
			},
		},
		{name: "text with secrets", secrets: true, has: []string{`data.key is "bGl2ZQ==" (set by intruder), the chart says "Y2hhcnQ="`}},
		{
			name: "json", format: output.JSON, lacks: []string{"bGl2ZQ==", "Y2hhcnQ="},
			has: []string{`"conflicts":[{"path":"spec.replicas","manager":{"name":"kubectl","subresource":"scale","time":"2026-01-02T03:04:05Z"},"live":5,"chart":3,"resolution":"yield","reason":"it was scaled"}]`,
				`{"path":"data.key","manager":{"name":"intruder"},"resolution":"fail"}`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			s, o := term.Streams{Out: &out}, Options{ShowSecrets: tc.secrets, ShowUnchanged: true}
			err := Write(context.Background(), s, Text, d, o)
			if tc.format != "" {
				out.Reset()
				err = WriteDocument(s, tc.format, d, o)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range tc.has {
				if !strings.Contains(out.String(), text) {
					t.Errorf("missing %q in\n%s", text, out.String())
				}
			}
			for _, text := range tc.lacks {
				if strings.Contains(out.String(), text) {
					t.Errorf("unexpected %q in\n%s", text, out.String())
				}
			}
		})
	}
}
