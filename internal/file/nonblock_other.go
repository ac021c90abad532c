// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package file

// NonBlock is 0 on systems without FIFOs.
const NonBlock = 0
