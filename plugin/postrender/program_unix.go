// SPDX-License-Identifier: Apache-2.0

//go:build unix

package postrender

import (
	"os"
	"syscall"
)

// interrupt asks a program to exit.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
