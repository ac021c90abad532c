// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/script"
)

func TestApprovalsAreForTheSameScripts(t *testing.T) {
	wanting := func(code, permission string) *chart.Chart {
		return newChart("web", map[string]string{chart.FileScript: code, "ext/permissions.yaml": "lua: [" + permission + "]\n"})
	}
	var asked []string
	refuse := false
	approvals := &script.Approvals{Ask: func(_ context.Context, asks []script.Ask) error {
		if refuse {
			return errors.New("refused")
		}
		asked = append(asked, asks[0].Permissions...)
		return nil
	}}
	host := &script.Host{Approve: approvals.Approve}
	for _, step := range []struct {
		name  string
		chart *chart.Chart
		want  []string // asked for so far
	}{
		{"the first time", wanting("-- 1", "network"), []string{"network"}},
		{"again", wanting("-- 1", "network"), []string{"network"}},
		{"other scripts", wanting("-- 2", "network"), []string{"network", "network"}},
		{"other permissions", wanting("-- 1", "os"), []string{"network", "network", "os"}},
		{"no scripts", newChart("web", nil), []string{"network", "network", "os"}},
		{"no chart", nil, []string{"network", "network", "os"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			if err := host.Confirm(t.Context(), step.chart); err != nil || !slices.Equal(asked, step.want) {
				t.Errorf("got %v, asked for %q, want %q", err, asked, step.want)
			}
		})
	}
	refuse = true
	for range 2 {
		if err := host.Confirm(t.Context(), wanting("-- 3", "io")); err == nil {
			t.Error("what was refused is approved")
		}
	}
}
