// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/internal/process"
)

// replace duplicates descriptor from as to, which programs inherit.
func replace(from, to int) error { return unix.Dup3(from, to, 0) }

// applyConfinement confines the process. The order matters: each step needs system calls
// that a later one forbids. It returns an error if a limit cannot be set; Landlock and
// seccomp are applied if the kernel has them.
func applyConfinement(c confinement) error {
	err := errors.Join(lowerCPU(c.limits), lowerMemory(c))
	restrictWithLandlock(c)
	if c.free {
		return errors.Join(err, lower(unix.RLIMIT_NOFILE, 256, 256))
	}
	// No new descriptors: those that are needed are open.
	err = errors.Join(err, lower(unix.RLIMIT_NOFILE, 0, 0))
	restrictWithSeccomp()
	return err
}

// lowerMemory sets RLIMIT_DATA, which stops even a single large allocation. RLIMIT_AS does
// not work: Go reserves hundreds of megabytes of addresses that it never uses.
func lowerMemory(c confinement) error {
	if c.limits.Memory <= 0 {
		return nil
	}
	used, err := process.DataMemory()
	if err != nil {
		return fmt.Errorf("read the memory in use: %w", err)
	}
	soft := used + uint64(c.limits.Memory) + systemMemory
	hard := soft
	if c.free {
		hard = math.MaxUint64 // programs that scripts start may raise theirs
	}
	return lower(unix.RLIMIT_DATA, soft, hard)
}

// restrictWithLandlock forbids access to files and the network as far as the kernel's
// version of Landlock can.
func restrictWithLandlock(c confinement) {
	best := landlock.V11.BestEffort()
	switch {
	case !c.free:
		_ = best.Restrict()
	case !c.network:
		_ = best.RestrictNet()
	}
}

// restrictWithSeccomp allows only the system calls that running a script needs.
func restrictWithSeccomp() {
	filter := seccompFilter()
	if len(filter) == 0 {
		return
	}
	if !errors.Is(installSeccomp(filter), unix.EACCES) {
		return // Landlock has set no_new_privs on all threads
	}
	runtime.LockOSThread() // starts another thread, which takes longer than the filter
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return
	}
	_ = installSeccomp(filter)
}
