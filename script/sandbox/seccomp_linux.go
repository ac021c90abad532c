// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls returns the allowed system calls: those that Go's runtime needs in a running
// program, and reading and writing open descriptors. All others fail with EPERM, so nothing
// can be opened, connected, started or signalled.
func calls() []uint32 {
	return append([]uint32{
		unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP,
		unix.SYS_MADVISE, unix.SYS_SCHED_YIELD, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK,
		unix.SYS_GETPPID, unix.SYS_GETRUSAGE, unix.SYS_GETPID, unix.SYS_GETTID,
		unix.SYS_CLOSE, unix.SYS_EPOLL_CTL, unix.SYS_PPOLL,
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE, unix.SYS_MEMBARRIER,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
		unix.SYS_SIGALTSTACK, unix.SYS_RT_SIGACTION, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_SCHED_GETAFFINITY, unix.SYS_RESTART_SYSCALL,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}, archCalls...)
}

// condition allows a call if its argument, masked, equals want.
type condition struct {
	call, arg, mask, want uint32
}

func conditions() []condition {
	const all = ^uint32(0)
	return []condition{
		{unix.SYS_CLONE, 0, unix.CLONE_THREAD, unix.CLONE_THREAD}, // threads, no processes
		{unix.SYS_MMAP, 2, unix.PROT_EXEC, 0},                     // memory, no code
		{unix.SYS_MPROTECT, 2, unix.PROT_EXEC, 0},
		{unix.SYS_TGKILL, 0, all, uint32(os.Getpid())}, // Go preempts its threads with signals
		{unix.SYS_PRCTL, 0, all, unix.PR_SET_VMA},      // names for memory
		{unix.SYS_FCNTL, 1, all, unix.F_GETFL},
	}
}

// Offsets in struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16 // eight bytes each, the lower half first
)

// seccompFilter returns the BPF program that the kernel runs for each system call.
func seccompFilter() []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	refuse := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	out := []unix.SockFilter{
		{Code: load, K: offsetArch},
		{Code: equal, K: auditArch, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS}, // another architecture's numbers mean other calls
		{Code: load, K: offsetCall},
	}
	for _, call := range calls() {
		out = append(out, unix.SockFilter{Code: equal, K: call, Jf: 1}, allow)
	}
	for _, c := range conditions() {
		out = append(out,
			unix.SockFilter{Code: equal, K: c.call, Jf: 5},
			unix.SockFilter{Code: load, K: offsetArgs + 8*c.arg},
			unix.SockFilter{Code: and, K: c.mask},
			unix.SockFilter{Code: equal, K: c.want, Jf: 1},
			allow, refuse)
	}
	// After ENOSYS the C library falls back to clone, whose flags the filter can check.
	return append(out,
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		refuse)
}

// installSeccomp applies filter to all threads.
func installSeccomp(filter []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
