// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cli

import (
	"os/exec"
	"testing"
)

// atTerminal skips the test: pseudoterminals differ between systems.
func atTerminal(t *testing.T, _ *exec.Cmd, _, _ string) (string, error) {
	t.Helper()
	t.Skip("questions at a terminal are tested on Linux")
	return "", nil
}
