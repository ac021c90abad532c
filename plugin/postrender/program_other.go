// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package postrender

import "os"

// interrupt ends a program: here it cannot be asked to.
func interrupt(p *os.Process) error { return p.Kill() }
