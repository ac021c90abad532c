// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Unix allows to remove a working directory: nothing is left behind, and no file can be
// created in it.
const removeEarly = true

const rootDir = "/"

// firstProcessors is one: most scripts end before a second is of use; see processors.
const firstProcessors = "1"

// group is the process group of a process and the programs that it starts. Being another
// group than helm's, it does not receive Ctrl-C of the terminal.
type group struct{}

func (group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return withLateTimers(cmd.Start)
}

func (group) kill(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) &&
		!errors.Is(err, syscall.EPERM) {
		// Some systems return EPERM for a group of zombies.
		return err
	}
	return nil
}

func (group) close() {}
