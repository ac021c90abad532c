// SPDX-License-Identifier: Apache-2.0

package chart

import "path"

// Hint suggests how to repair a lock file; it returns "" for any other file.
func (e *InvalidError) Hint() string {
	switch path.Base(e.File) {
	case FileLock, FileRequirementsLock:
		return "run 'helm dependency update' to write a new one, or restore the old one from version control"
	}
	return ""
}
