// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import (
	"os/exec"
	"time"
)

func endTogether(cmd *exec.Cmd, grace time.Duration) (ended func()) { return ownGroup(cmd, grace) }

func ownGroup(cmd *exec.Cmd, grace time.Duration) (ended func()) {
	cmd.WaitDelay = grace
	return func() {}
}
