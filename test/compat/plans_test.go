// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlansExchanged applies plans in turn with Helm 4 and Helm 3, which list, upgrade, roll back and
// uninstall what they left.
func TestPlansExchanged(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	for _, with := range []string{"helm4", "helm3"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			ns := connect(t).namespace(t)
			all := tools(t, ns)
			exchangePlans(t, all["ours"], all[with])
			agree(t, all)
		})
	}
}

func exchangePlans(t *testing.T, we, helm tool) {
	chart, file := filepath.Join(root(t), "examples", "hello"), filepath.Join(t.TempDir(), "plan.json")
	apply := func(args ...string) {
		t.Helper()
		we.must(t, append(append([]string{"plan"}, args...), "--save", file)...)
		we.must(t, "apply", file)
	}
	apply("install", "web", chart, "--description", "by a plan")
	wantIn(t, "history", helm.must(t, "history", "web"), "by a plan")
	apply("upgrade", "web", chart, "--set", "replicas=2")
	wantIn(t, "values", helm.must(t, "get", "values", "web"), "replicas: 2")
	helm.must(t, "upgrade", "web", chart, "--set", "replicas=3")
	apply("rollback", "web", "2")
	wantIn(t, "list", helm.must(t, "list"), "deployed", "web")
	helm.must(t, "rollback", "web", "1")
	apply("uninstall", "web", "--keep-history")
	if out := helm.must(t, "list", "--uninstalled", "-q"); strings.TrimSpace(out) != "web" {
		t.Errorf("the uninstalled releases are %q", out)
	}
	helm.must(t, "uninstall", "web")
}
