// SPDX-License-Identifier: Apache-2.0

//go:build unix

package file

import "syscall"

// NonBlock makes opening a FIFO return without waiting for the other end.
const NonBlock = syscall.O_NONBLOCK
