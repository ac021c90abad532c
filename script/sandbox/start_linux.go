// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitExited waits until the process has exited, without reaping it: until it is reaped its
// process ID is not reused, so its group can be killed safely. It reports whether it could
// wait.
func (group) waitExited(p *os.Process) bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// peakMemory returns the peak resident memory of a process in bytes, or 0 if that is
// unknown: Linux starts the count with the parent's size at the time of the fork.
func peakMemory(state *os.ProcessState) int64 {
	var own syscall.Rusage
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || usage.Maxrss <= own.Maxrss {
		return 0
	}
	return int64(usage.Maxrss) << 10
}
