// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPatchedReleases has both of Helm's binaries list, upgrade and uninstall releases whose objects are
// patched. They render the chart without the patches.
func TestPatchedReleases(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	moonhelm := ours(t)
	for _, module := range []string{helm4, helm3} {
		helm := peer(t, module)
		_, version, _ := strings.Cut(module, "@")
		t.Run(version, func(t *testing.T) { patched(t, moonhelm, helm) })
	}
}

func patched(t *testing.T, moonhelm, helm string) {
	home, dir := t.TempDir(), t.TempDir()
	chart := filepath.Join(root(t), "examples", "hello")
	namespace := strings.ToLower(strings.NewReplacer("/", "-", ".", "-").Replace(t.Name()))
	in := func(args ...string) []string { return append(args, "--namespace", namespace) }
	file := filepath.Join(dir, "fix.yaml")
	text := "- target: {kind: Deployment}\n  patch: '{metadata: {annotations: {patched: \"yes\"}}}'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, moonhelm, home, in("install", "web", chart, "--create-namespace", "--patch", file)...)
	wantIn(t, "list", must(t, helm, home, in("list")...), "web", "deployed", "hello-1.0.0")
	wantIn(t, "get manifest", must(t, helm, home, in("get", "manifest", "web")...), `patched: "yes"`)

	// Helm upgrades without the patches, and takes them out of the record that it supersedes. A rollback
	// brings the patched objects back, which are in the manifest.
	must(t, helm, home, in("upgrade", "web", chart)...)
	if out := must(t, moonhelm, home, in("get", "manifest", "web")...); strings.Contains(out, "patched") {
		t.Errorf("Helm's revision has\n%s", out)
	}
	if out := must(t, moonhelm, home, in("get", "patches", "web")...); out != "" {
		t.Errorf("Helm's revision has the patches\n%s", out)
	}
	must(t, moonhelm, home, in("rollback", "web", "1")...)
	wantIn(t, "get manifest", must(t, moonhelm, home, in("get", "manifest", "web")...), `patched: "yes"`)
	must(t, helm, home, in("uninstall", "web")...)
	if out := must(t, moonhelm, home, in("list", "-q")...); strings.TrimSpace(out) != "" {
		t.Errorf("after Helm's uninstall there is %s", out)
	}
}
