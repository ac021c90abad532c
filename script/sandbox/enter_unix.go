// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sandbox

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/script/wire"
)

// takePipes moves the protocol from descriptors 0 and 1 to others that are closed on exec,
// and replaces 0 and 1 by null. The input does not block, so that a goroutine that waits for a
// message takes no thread, and the thread that reads it can carry it out.
func takePipes(null *os.File) (in, out *os.File, err error) {
	var fds [2]int
	for i := range fds {
		if fds[i], err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return nil, nil, err
		}
		if err = replace(int(null.Fd()), i); err != nil {
			return nil, nil, err
		}
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "from helm"), os.NewFile(uintptr(fds[1]), "to helm"), nil
}

// closeInherited closes the descriptors beyond 2 that helm was started with: a secret that a
// shell has open, a build's pipe. They are those without FD_CLOEXEC, which Go sets on every
// descriptor that it opens.
func closeInherited() {
	for _, fd := range descriptors() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// descriptors returns the open descriptors, or all possible ones if the system does not
// list them: FreeBSD lists the three standard ones only.
func descriptors() []int {
	var out []int
	entries, err := os.ReadDir("/dev/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, fd)
		}
	}
	const standard = 3
	if err == nil && len(out) > standard { // at least the one by which they are read
		return out
	}
	const most = 1 << 16
	limit := uint64(most)
	var now syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now) == nil {
		limit = min(limit, uint64(now.Cur))
	}
	for fd := range int(limit) {
		out = append(out, fd)
	}
	return out
}

// disableCoreDumps keeps values that scripts have out of core dumps.
func disableCoreDumps() { _ = lower(unix.RLIMIT_CORE, 0, 0) }

// lower sets a resource limit, but never raises it.
func lower(which int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(which, &now); err != nil {
		return err
	}
	limit := now
	assign(&limit.Cur, soft)
	assign(&limit.Max, hard)
	limit.Max = min(limit.Max, now.Max)
	limit.Cur = min(limit.Cur, limit.Max)
	return syscall.Setrlimit(which, &limit)
}

// assign hides that systems differ in the sign of limits.
func assign[T int64 | uint64](to *T, v uint64) { *to = T(v) }

// lowerCPU sets RLIMIT_CPU, for a process in which the watchdog cannot run any more.
func lowerCPU(l wire.Limits) error {
	limit := cpuLimit(l)
	if limit == 0 {
		return nil
	}
	seconds := uint64((limit+time.Second-1)/time.Second) + 1
	return lower(unix.RLIMIT_CPU, seconds, seconds)
}

// parent returns the ID of the parent process, which changes when helm exits.
func parent() int { return os.Getppid() }

// killGroup kills this process and the programs it started, if it leads a process group.
func killGroup() {
	if pid := os.Getpid(); syscall.Getpgrp() == pid {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
}

// cpuUsed returns the CPU time of this process.
func cpuUsed() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
