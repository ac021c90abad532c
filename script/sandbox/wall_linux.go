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

// replace makes descriptor to the same as from, for programs to inherit.
func replace(from, to int) error { return unix.Dup3(from, to, 0) }

// wall puts up the walls, outermost last: what comes first needs things that
// what comes later takes away. A limit that cannot be set is an error; Landlock
// and seccomp are there or are not.
func wall(w walls) error {
	err := errors.Join(lowerCPU(w.limits), lowerMemory(w))
	closeWithLandlock(w)
	if w.free {
		return errors.Join(err, lower(unix.RLIMIT_NOFILE, 256, 256))
	}
	// No new descriptor, ever: all that are needed are open.
	err = errors.Join(err, lower(unix.RLIMIT_NOFILE, 0, 0))
	closeWithSeccomp()
	return err
}

// lowerMemory bounds the memory that can be written to, which is what an
// allocation in one instruction runs against. RLIMIT_AS would not do: Go
// reserves hundreds of megabytes of addresses that it never uses.
func lowerMemory(w walls) error {
	if w.limits.Memory <= 0 {
		return nil
	}
	used, err := process.DataMemory()
	if err != nil {
		return fmt.Errorf("learn how much memory is used: %w", err)
	}
	soft := used + uint64(w.limits.Memory) + systemMemory
	hard := soft
	if w.free {
		hard = math.MaxUint64 // a program that the script may start may raise its own
	}
	return lower(unix.RLIMIT_DATA, soft, hard)
}

// closeWithLandlock closes files, network and the rest that Landlock knows, on
// kernels that have it, as far as they have it.
func closeWithLandlock(w walls) {
	best := landlock.V11.BestEffort()
	switch {
	case !w.free:
		_ = best.Restrict()
	case !w.network:
		_ = best.RestrictNet()
	}
}

// closeWithSeccomp lets the kernel refuse every system call that running a
// script has no need of.
func closeWithSeccomp() {
	filter := seccompFilter()
	if len(filter) == 0 {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return
	}
	_ = installSeccomp(filter)
}
