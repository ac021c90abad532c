// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlansExchanged applies plans in turn with Helm 4, which lists, upgrades, rolls back and
// uninstalls what they left.
func TestPlansExchanged(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	moonhelm, helm, home := ours(t), peer(t, helm4), t.TempDir()
	chart := filepath.Join(root(t), "examples", "hello")
	in := func(args ...string) []string { return append(args, "--namespace", "plans-exchanged") }
	apply := func(args ...string) {
		t.Helper()
		file := filepath.Join(home, "plan.json")
		must(t, moonhelm, home, in(append(append([]string{"plan"}, args...), "--save", file)...)...)
		must(t, moonhelm, home, "apply", file)
	}
	apply("install", "web", chart, "--create-namespace", "--description", "by a plan")
	wantIn(t, "history", must(t, helm, home, in("history", "web")...), "by a plan")
	apply("upgrade", "web", chart, "--set", "replicas=2")
	wantIn(t, "values", must(t, helm, home, in("get", "values", "web")...), "replicas: 2")
	must(t, helm, home, in("upgrade", "web", chart, "--set", "replicas=3")...)
	apply("rollback", "web", "2")
	wantIn(t, "list", must(t, helm, home, in("list")...), "deployed", "web")
	must(t, helm, home, in("rollback", "web", "1")...)
	apply("uninstall", "web", "--keep-history")
	if out := must(t, helm, home, in("list", "--uninstalled", "-q")...); strings.TrimSpace(out) != "web" {
		t.Errorf("the uninstalled releases are %q", out)
	}
	must(t, helm, home, in("uninstall", "web")...)
}
