// SPDX-License-Identifier: Apache-2.0

//go:build linux && !amd64 && !arm64

package sandbox

import "golang.org/x/sys/unix"

// seccompFilter returns nil: it has no table of system calls for this architecture.
func seccompFilter() []unix.SockFilter { return nil }

func installSeccomp([]unix.SockFilter) error { return nil }
