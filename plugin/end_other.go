// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package plugin

import "os/exec"

// endTogether has the program end with the context.
func endTogether(cmd *exec.Cmd) (ended func()) {
	cmd.WaitDelay = grace
	return func() {}
}
