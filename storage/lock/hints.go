// SPDX-License-Identifier: Apache-2.0

package lock

import "fmt"

// Hint returns advice for the user of the command line, or "" if the wait was ended.
func (e *LockedError) Hint() string {
	switch {
	case e.Ended != nil:
		return ""
	case e.Holder == "":
		return fmt.Sprintf("if that client was killed: helm rollback %[1]s returns to the previous revision at once, "+
			"and helm uninstall %[1]s removes the release; helm history %[1]s shows its revisions", e.Release)
	}
	return "try again when it has finished; --timeout waits longer for it"
}

// Hint returns advice for the user of the command line.
func (e *LostError) Hint() string {
	return fmt.Sprintf("nothing was written since; helm status %[1]s and helm history %[1]s show the state of the release",
		e.Release)
}
