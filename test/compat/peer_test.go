// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPeers runs tests of other packages that compare with Helm and are skipped without its
// binary: random values and chart trees, and hundreds of invalid charts for lint.
func TestPeers(t *testing.T) {
	for _, pkg := range []string{"./chart/values", "./internal/cli/lint"} {
		cmd := exec.Command("go", "test", "-count=1", "-run", "Peer", pkg)
		cmd.Dir = root(t)
		cmd.Env = append(os.Environ(), "MOONHELM_PEER="+peer(t, helm4), "MOONHELM_PEER_ROUNDS=5")
		if charts := filepath.Join(root(t), "..", "shared", "corpus", "charts"); exists(charts) {
			cmd.Env = append(cmd.Env, "MOONHELM_CORPUS="+charts)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", pkg, err, out)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
