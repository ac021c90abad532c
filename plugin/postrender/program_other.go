// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package postrender

import "os"

// interrupt kills a program, because this system has no interrupts.
func interrupt(p *os.Process) error { return p.Kill() }
