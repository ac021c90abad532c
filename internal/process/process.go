// SPDX-License-Identifier: Apache-2.0

// Package process ends subprocesses, and the processes that they have started, with a context:
//
//	cmd := exec.CommandContext(ctx, "docker-credential-pass", "get")
//	ended := process.OwnGroup(cmd, time.Second)
//	err := cmd.Run()
//	ended()
//
// On systems without process groups it ends only the subprocess itself.
package process

import (
	"os/exec"
	"time"
)

// EndTogether makes cmd end with its context, together with its subprocesses. The caller calls
// ended when cmd has ended.
//
// Without a terminal cmd gets its own process group, which receives SIGTERM, and SIGKILL after
// grace. With a terminal it stays in helm's group, so that it can read from the terminal; the
// interrupt key signals the whole group then, and many programs abort their cleanup at a second
// signal.
func EndTogether(cmd *exec.Cmd, grace time.Duration) (ended func()) { return endTogether(cmd, grace) }

// OwnGroup is [EndTogether] for a program that does not read from the terminal: it always gets its
// own process group.
func OwnGroup(cmd *exec.Cmd, grace time.Duration) (ended func()) { return ownGroup(cmd, grace) }
