// SPDX-License-Identifier: Apache-2.0

package loader

import "golang.org/x/sys/unix"

// exchange atomically swaps two files or directories.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
