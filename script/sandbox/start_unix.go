// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// A directory in use can be removed: then nothing is ever left behind, and
// nothing can be made in it.
const removeEarly = true

const rootFolder = "/"

// family is a process and all that it starts: a process group, so that Ctrl-C
// in the terminal reaches helm, which decides, and not the scripts.
type family struct{}

func (family) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

func (family) kill(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) &&
		!errors.Is(err, syscall.EPERM) {
		// EPERM is what some systems say of a group of zombies.
		return err
	}
	return nil
}

func (family) close() {}
