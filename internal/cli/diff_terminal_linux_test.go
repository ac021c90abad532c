// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// A pager shows text for people that is longer than the terminal, and nothing else.
func TestDiffPager(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		var config strings.Builder
		config.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n")
		for i := range 30 {
			fmt.Fprintf(&config, "  key%d: %s\n", i, name)
		}
		filetest.WriteFile(t, filepath.Join(dir, name, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
		filetest.WriteFile(t, filepath.Join(dir, name, "templates", "web.yaml"), config.String())
	}
	const pager = "sed 's/^/paged: /'"
	for _, tc := range []struct {
		name, args, term string
		paged            bool
	}{
		{"text", "", "xterm", true},
		{"dyff", "--output dyff", "xterm", true},
		{"no pager", "--no-pager", "xterm", false},
		{"a short summary", "--stat", "xterm", false},
		{"a document", "-o yaml", "xterm", false},
		{"helm-diff's JSON", "--output structured", "xterm", false},
		{"a dumb terminal", "", "dumb", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.Command("helm", strings.Fields("diff local old new "+tc.args)...)
			cmd.Dir = dir
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=" + tc.term, "HELM_PAGER=" + pager, "PAGER=false",
			}
			out, err := atTerminal(t, cmd, "no prompt", "")
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := strings.HasPrefix(out, "paged: "); got != tc.paged || !strings.Contains(out, "web") {
				t.Errorf("paged: got %t, want %t, with the output\n%s", got, tc.paged, out)
			}
		})
	}
}
