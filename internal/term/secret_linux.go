// SPDX-License-Identifier: Apache-2.0

package term

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TCGETS, unix.TCSETS
