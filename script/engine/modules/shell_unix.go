// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package modules

import (
	"os/exec"
	"syscall"
)

// shell is the command line by which a command is run.
func shell(text string) (string, []string) { return "/bin/sh", []string{"-c", text} }

// signalOf is the signal that ended a command, 0 for none.
func signalOf(err *exec.ExitError) int {
	if status, ok := err.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}
