// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tabbedChart returns the directory of a chart with a tab in the rendered YAML.
func tabbedChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	for name, text := range map[string]string{
		"Chart.yaml":       "apiVersion: v2\nname: web\nversion: 0.1.0\n",
		"values.yaml":      "",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n\ta: " + strings.Repeat("long ", 20) + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// On a terminal errors and findings are wrapped at spaces, the lines of files stay whole, and the
// mark of a tab is ASCII without UTF-8.
func TestErrorsAtTerminal(t *testing.T) {
	dir := tabbedChart(t)
	for _, test := range []struct {
		name, locale, mark string
		args               []string
	}{
		{"an error", "LANG=C.UTF-8", "→", []string{"template", "x", dir}},
		{"an error without UTF-8", "LC_ALL=C", ">", []string{"template", "x", dir}},
		{"a finding", "LANG=C.UTF-8", "→", []string{"lint", dir}},
		{"a finding without UTF-8", "LC_ALL=C", ">", []string{"lint", dir}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("helm", test.args...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "TERM=xterm", test.locale}
			got, err := atTerminal(t, cmd, "\x00", "")
			if err == nil {
				t.Fatalf("no error: %s", got)
			}
			if want := "> 6 | " + test.mark + "a: " + strings.TrimSpace(strings.Repeat("long ", 20)); !strings.Contains(got, want) {
				t.Errorf("got\n%s\nwant %q in it", got, want)
			}
			for line := range strings.Lines(got) {
				if len(line) > 80 && !strings.Contains(line, " | ") && !strings.Contains(line, dir) {
					t.Errorf("a line of %d columns: %q", len(line), line)
				}
			}
		})
	}
}
