// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

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

// timerSlack is how late the timers of the process may be. Go's monitoring thread sleeps for 20 µs at a
// time while a program is busy, which took a tenth of the CPU time of a short script.
const timerSlack = 500 * time.Microsecond

// withLateTimers calls start, which starts a process, so that the process and those that it starts
// inherit timerSlack.
func withLateTimers(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack.Nanoseconds()), 0, 0, 0) == nil {
		const standard = 0
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, standard, 0, 0, 0) //nolint:errcheck // it did the same before
	}
	return start()
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
