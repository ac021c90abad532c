// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"path"
	"strings"
)

// Hint suggests how to repair a lock file, and shows an entry of moved; it returns "" for anything else.
func (e *InvalidError) Hint() string {
	switch path.Base(e.File) {
	case FileLock, FileRequirementsLock:
		return "run 'helm dependency update' to write a new one, or restore the old one from version control"
	}
	if strings.HasPrefix(e.Field, "moved[") {
		return "an entry of moved is {kind: ConfigMap, from: {name: old}, to: {name: new}, recreate: true}, or has a chart " +
			"or a directory in from and to (docs/moved.md)"
	}
	return ""
}
