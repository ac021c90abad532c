// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// await returns when the process has ended and is not yet forgotten: until
// then no other can have its number, and its group can be killed safely. It
// reports whether that is so.
func (family) await(p *os.Process) bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// peakMemory is the most memory that a process used, in bytes, where that is
// known: the number starts out with what its parent used as it started it.
func peakMemory(state *os.ProcessState) int64 {
	var own syscall.Rusage
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || usage.Maxrss <= own.Maxrss {
		return 0
	}
	return int64(usage.Maxrss) << 10
}
