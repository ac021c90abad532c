// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plugin

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// endTogether has the program end with the context, and those that it started
// with it. What it returns is called when the program has ended.
//
// Without a terminal the program gets a process group of its own, all of which
// is told to end, and after a time of grace ended. With one it must stay in
// helm's group, or it could not read from the terminal; there the interrupt key
// has reached all of them already, and being told twice makes many programs
// give up their tidying.
func endTogether(cmd *exec.Cmd) (ended func()) {
	cmd.WaitDelay = grace
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		var late *time.Timer
		cmd.Cancel = func() error {
			late = time.AfterFunc(grace/2, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
			return nil
		}
		return func() {
			if late != nil {
				late.Stop()
			}
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	told := false
	cmd.Cancel = func() error {
		told = true
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	return func() {
		if told { // what is left of the group has had its time
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}
