// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package sandbox

import "os"

// waitExited returns false: no portable call waits without reaping. The group is killed
// right after the process was reaped, before its ID is likely to be reused.
func (group) waitExited(*os.Process) bool { return false }

// withLateTimers calls start: these systems have no setting that a process passes on.
func withLateTimers(start func() error) error { return start() }

// peakMemory returns 0: the unit of Maxrss differs between these systems.
func peakMemory(*os.ProcessState) int64 { return 0 }
