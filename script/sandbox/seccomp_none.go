// SPDX-License-Identifier: Apache-2.0

//go:build linux && !amd64 && !arm64

package sandbox

import "golang.org/x/sys/unix"

// seccompFilter is empty: the numbers of system calls here are not known.
func seccompFilter() []unix.SockFilter { return nil }

func installSeccomp([]unix.SockFilter) error { return nil }
