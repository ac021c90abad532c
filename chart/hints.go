// SPDX-License-Identifier: Apache-2.0

package chart

import "path"

// Hint says what a user of the command line can do about a lock file, "" about any other.
func (e *InvalidError) Hint() string {
	switch path.Base(e.File) {
	case FileLock, FileRequirementsLock:
		return "'helm dependency update' writes a new one; or take back the one that was there, from version control"
	}
	return ""
}
