// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

// Each mechanism alone, for tests.

func OnlyLandlock() { restrictWithLandlock(confinement{}) }

func OnlySeccomp() { restrictWithSeccomp() }

func OnlyDescriptors() error { return lower(unix.RLIMIT_NOFILE, 0, 0) }
