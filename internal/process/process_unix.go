// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

func endTogether(cmd *exec.Cmd, grace time.Duration) (ended func()) {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		cmd.WaitDelay = grace
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
	return ownGroup(cmd, grace)
}

func ownGroup(cmd *exec.Cmd, grace time.Duration) (ended func()) {
	cmd.WaitDelay = grace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signalled := false
	cmd.Cancel = func() error {
		signalled = true
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	return func() {
		if signalled { // the grace period of the rest of the group is over
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}
