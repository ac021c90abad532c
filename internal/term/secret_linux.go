// SPDX-License-Identifier: Apache-2.0

package term

import "golang.org/x/sys/unix"

// dropTermios also discards unread input.
const getTermios, setTermios, dropTermios = unix.TCGETS, unix.TCSETS, unix.TCSETSF
