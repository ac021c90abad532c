// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lock

import "os"

// thisProcess returns this process with only its PID: only Linux identifies the boot of the
// machine.
func thisProcess() process { return process{PID: os.Getpid()} }

// gone returns false, because the process cannot be identified.
func (process) gone() bool { return false }
