// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

// Each wall alone, for tests.

func OnlyLandlock() { closeWithLandlock(walls{}) }

func OnlySeccomp() { closeWithSeccomp() }

func OnlyDescriptors() error { return lower(unix.RLIMIT_NOFILE, 0, 0) }
