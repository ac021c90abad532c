// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"
)

// replace makes descriptor to the same as from, for programs to inherit.
func replace(from, to int) error { return unix.Dup2(from, to) }

// wall puts up what walls there are. Memory is for the watchdog: these systems
// do not keep a Go process to a limit on it.
func wall(w walls) error {
	err := lowerCPU(w.limits)
	if w.free {
		return errors.Join(err, lower(unix.RLIMIT_NOFILE, 256, 256))
	}
	// No new descriptor and no new process, ever: all that are needed are there.
	return errors.Join(err, lower(unix.RLIMIT_NOFILE, 0, 0), lower(unix.RLIMIT_NPROC, 0, 0))
}
