// SPDX-License-Identifier: Apache-2.0

// Package process has the programs that helm starts end when helm wants them to, with
// what they have started themselves:
//
//	cmd := exec.CommandContext(ctx, "docker-credential-pass", "get")
//	ended := process.OwnGroup(cmd, time.Second)
//	err := cmd.Run()
//	ended()
//
// Where the system has no process groups, only the program itself ends.
package process

import (
	"os/exec"
	"time"
)

// EndTogether has cmd end with its context, and those that it started with it. What it
// returns is called when the program has ended.
//
// Without a terminal the program gets a process group of its own, all of which is told
// to end, and killed when grace is over. With one it must stay in helm's group, or it
// could not read from the terminal; there the interrupt key has reached all of them
// already, and being told twice makes many programs give up their tidying.
func EndTogether(cmd *exec.Cmd, grace time.Duration) (ended func()) { return endTogether(cmd, grace) }

// OwnGroup is [EndTogether] for a program that does not read from the terminal: it has a
// process group of its own in any case.
func OwnGroup(cmd *exec.Cmd, grace time.Duration) (ended func()) { return ownGroup(cmd, grace) }
