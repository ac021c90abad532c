// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// TestMain runs the plugin if helm has started the test's binary as the plugin.
func TestMain(m *testing.M) {
	if os.Getenv("MOONHELM_TEST_POLICY") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestHelm runs `helm lint` and `helm policy` with the plugin's own plugin.yaml.
func TestHelm(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	helm := peertest.Moonhelm(t, filepath.Join("..", ".."))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	manifest, err := os.ReadFile("plugin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	filetest.WriteFile(t, filepath.Join(dir, "plugins", "policy", "plugin.yaml"), string(manifest))
	program := filepath.Join(dir, "plugins", "policy", "policy")
	filetest.WriteFile(t, program, "#!/bin/sh\nMOONHELM_TEST_POLICY=1 exec '"+self+"' \"$@\"\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	chart := filepath.Join(dir, "web")
	filetest.WriteFile(t, filepath.Join(chart, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: https://example.com/a.png\n")
	filetest.WriteFile(t, filepath.Join(chart, "values.yaml"), "")
	filetest.WriteFile(t, filepath.Join(chart, "templates", "web.yaml"), testdata(t, "objects.yaml", "ns"))
	filetest.WriteFile(t, filepath.Join(chart, "policies", "all.yaml"), testdata(t, "policies.yaml", "ns"))
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(helm, args...)
		cmd.Env = append(os.Environ(), "HELM_PLUGINS="+filepath.Join(dir, "plugins"), "HOME="+dir)
		cmd.Stdin = strings.NewReader(stdin)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	want := testdata(t, "verdicts.txt", "ns")
	got := run("", "lint", chart, "-n", "ns", "--kube-version", "1.36")
	for line := range strings.Lines(want) {
		if _, text, _ := strings.Cut(line, ": "); !strings.Contains(got, ": "+text) {
			t.Errorf("helm lint printed\n%s\nwant %q", got, text)
		}
	}
	if denials := strings.Count(want, "denied request"); strings.Count(got, "[ERROR]") != denials || strings.Count(got, "[WARNING]") != 1 {
		t.Errorf("helm lint printed\n%s\nwant %d errors and a warning", got, denials)
	}
	got = run(testdata(t, "objects.yaml", "ns"), "policy", "--policy", filepath.Join(chart, "policies"), "-n", "ns")
	if !strings.Contains(got, "50 object(s) checked, 32 error(s)\n") || !strings.Contains(got, "[ERROR] Pod/latest: ValidatingAdmissionPolicy 'images'") {
		t.Errorf("helm policy printed\n%s", got)
	}
}
