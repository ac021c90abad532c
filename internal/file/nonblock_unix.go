// SPDX-License-Identifier: Apache-2.0

//go:build unix

package file

import "syscall"

// NonBlock keeps the opening of a FIFO from waiting for its other end.
const NonBlock = syscall.O_NONBLOCK
