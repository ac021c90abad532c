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

// At a terminal, helm asks before hooks of a record create objects outside of the release's
// namespace, and shows their names with escaped control characters.
func TestConfirmStoredHooks(t *testing.T) {
	admin := os.Getenv("MOONHELM_TEST_KUBECONFIG")
	if admin == "" {
		t.Skip("no cluster: make cluster-tests brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	dir, ns := t.TempDir(), fmt.Sprintf("cli-asked-%d", os.Getpid())
	filetest.Write(t, filepath.Join(dir, "web"), map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"templates/hook.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: "x\e[2J"
  namespace: default
  annotations: {helm.sh/hook: post-delete}
`,
	})
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command("helm", append(args, "-n", ns)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "KUBECONFIG=" + admin, "TERM=xterm"}
		return cmd
	}
	if out, err := run("install", "web", filepath.Join(dir, "web"), "--create-namespace").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const prompt = "Allow? (y, yes, n, no) > "
	const question = "Hooks in the record of release \"web\" create objects outside its namespace:\n" +
		"  \"ConfigMap/x\\x1b[2J\" in namespace default (post-delete)\n"
	got, err := atTerminal(t, run("uninstall", "web"), prompt, "n\n")
	if err == nil || !strings.Contains(got, question) || !strings.Contains(got, "they were refused") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("%v\n%q", err, got)
	}
	// The server rejects the name; the question has been asked.
	got, err = atTerminal(t, run("uninstall", "web"), prompt, "y\n")
	if err == nil || !strings.Contains(got, question) || !strings.Contains(got, "post-delete hook ConfigMap/x") {
		t.Errorf("%v\n%q", err, got)
	}
}
