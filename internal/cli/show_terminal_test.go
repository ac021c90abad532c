// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shownChart returns a directory with a chart that has a README and a dependency.
func shownChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n" +
			"- {name: " + strings.Repeat("long-", 20) + "name, version: ^1.0.0, repository: 'https://charts.example.com/a/long/path'}\n",
		"values.yaml": "a: 1 # \u202e\n",
		"README.md":   "# Web\n\nA **bold** word…\n\n- one\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestShowAtTerminal(t *testing.T) {
	const raw = "# Web\n\nA **bold** word…\n\n- one\n\n"
	for _, test := range []struct {
		name string
		args []string
		env  []string
		want []string
		not  []string
	}{
		{"a README", []string{"show", "readme"}, []string{"LANG=C.UTF-8"}, []string{"# Web\n\nA bold word…\n\n• one\n"}, nil},
		{"without UTF-8", []string{"show", "readme"}, []string{"LC_ALL=C"}, []string{"# Web\n\nA bold word~\n\n* one\n"}, nil},
		{"in colours", []string{"show", "readme", "--color=always"}, []string{"LANG=C.UTF-8"}, []string{"\x1b[1;4mWeb\x1b[0m"}, nil},
		{"the text itself", []string{"show", "readme"}, []string{"HELM_WIDE=true"}, []string{raw}, nil},
		{"all parts", []string{"show", "all"}, []string{"LC_ALL=C"},
			[]string{"-- Chart.yaml ----", "-- values.yaml ---", "-- README.md ---", `a: 1 # \u202e`, "# Web\n\nA bold"},
			[]string{"\x1b"}},
		{"a table", []string{"dependency", "list"}, []string{"LC_ALL=C"},
			[]string{"NAME                            VERSION  REPOSITORY                      STATUS\n" +
				"long-long-long-long~-long-name  ^1.0.0   https://charts.example.com/a/~  missing\n"}, []string{"\t"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("helm", append(test.args, shownChart(t))...)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "TERM=xterm"}, test.env...)
			got, err := atTerminal(t, cmd, "\x00", "")
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("got\n%s\nwant %q in it", got, want)
				}
			}
			for _, not := range test.not {
				if strings.Contains(got, not) {
					t.Errorf("got %q, want no %q in it", got, not)
				}
			}
		})
	}
	cmd := exec.Command("helm", "show", "readme", shownChart(t))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if got, err := cmd.Output(); err != nil || string(got) != raw {
		t.Errorf("in a pipe: %v, got %q, want %q", err, got, raw)
	}
}
