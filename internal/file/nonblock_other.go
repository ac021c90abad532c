// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package file

// NonBlock is nothing where the file system has no FIFOs.
const NonBlock = 0
