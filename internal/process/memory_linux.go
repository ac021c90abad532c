// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// MemoryLimit limits the memory of this process, but not of its subprocesses.
type MemoryLimit struct {
	mu           sync.Mutex
	usual, lower unix.Rlimit
}

// LimitMemory allows this process to allocate the given number of bytes more than it uses now. An
// allocation beyond that crashes it, with a message of Go's runtime on standard error.
//
// The limit is RLIMIT_DATA: Go reserves hundreds of megabytes of address space (RLIMIT_AS) that it
// never uses.
func LimitMemory(bytes int64) (*MemoryLimit, error) {
	l := &MemoryLimit{}
	used, err := DataMemory()
	if err == nil {
		err = unix.Getrlimit(unix.RLIMIT_DATA, &l.usual)
	}
	if err != nil {
		return nil, fmt.Errorf("limit the memory: %w", err)
	}
	l.lower = unix.Rlimit{Cur: min(used+uint64(bytes), l.usual.Cur), Max: l.usual.Max}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &l.lower); err != nil {
		return nil, fmt.Errorf("limit the memory: %w", err)
	}
	return l, nil
}

// Start starts cmd without the limit.
func (l *MemoryLimit) Start(cmd *exec.Cmd) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &l.usual); err != nil {
		return err
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_DATA, &l.lower) }() // lowering is always allowed
	return cmd.Start()
}

// CrashOutput redirects the crash messages of Go's runtime to the file descriptor to, and returns
// the previous standard error.
func CrashOutput(to int) (stderr *os.File, err error) {
	kept, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("keep the standard error: %w", err)
	}
	if err := unix.Dup3(to, 2, 0); err != nil {
		return nil, fmt.Errorf("redirect the standard error: %w", err)
	}
	return os.NewFile(uintptr(kept), "/dev/stderr"), unix.Close(to)
}

// DataMemory returns the memory of this process that counts for RLIMIT_DATA, in bytes.
func DataMemory() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 6 {
		return 0, fmt.Errorf("/proc/self/statm holds %q", text)
	}
	pages, err := strconv.ParseUint(string(fields[5]), 10, 64)
	return pages * uint64(os.Getpagesize()), err
}
