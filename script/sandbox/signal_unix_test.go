// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox_test

import "syscall"

func signalTo(pid int) error { return syscall.Kill(pid, 0) }
