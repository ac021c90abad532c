// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"
)

// replace duplicates descriptor from as to, which programs inherit.
func replace(from, to int) error { return unix.Dup2(from, to) }

// applyConfinement confines the process. Memory is left to the watchdog: these systems do
// not enforce a limit on the memory of a Go process.
func applyConfinement(c confinement) error {
	err := lowerCPU(c.limits)
	if c.free {
		return errors.Join(err, lower(unix.RLIMIT_NOFILE, 256, 256))
	}
	// No new descriptors and no new processes: those that are needed exist.
	return errors.Join(err, lower(unix.RLIMIT_NOFILE, 0, 0), lower(unix.RLIMIT_NPROC, 0, 0))
}
