// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"os/exec"
	"testing"
)

// TestRecords runs the tests of package storage that compare the records of each driver with
// Helm's, and are skipped without its binaries.
func TestRecords(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	cmd := exec.Command("go", "test", "-count=1", "-run", "Helm", "./storage")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "MOONHELM_TEST_HELM3="+peer(t, helm3), "MOONHELM_TEST_HELM4="+peer(t, helm4))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
