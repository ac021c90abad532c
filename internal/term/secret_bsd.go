// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package term

import "golang.org/x/sys/unix"

// dropTermios also discards unread input.
const getTermios, setTermios, dropTermios = unix.TIOCGETA, unix.TIOCSETA, unix.TIOCSETAF
