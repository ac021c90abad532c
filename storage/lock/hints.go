// SPDX-License-Identifier: Apache-2.0

package lock

import "fmt"

// Hint says what a user of the command line can do about it, "" where the wait for the
// lock was ended.
func (e *LockedError) Hint() string {
	switch {
	case e.Ended != nil:
		return ""
	case e.Holder == "":
		return fmt.Sprintf("if that client was killed: helm rollback %[1]s goes back to the revision before at once, "+
			"and helm uninstall %[1]s removes the release; helm history %[1]s shows how far it came", e.Release)
	}
	return "try again when it has ended; --timeout waits longer for it"
}

// Hint says what a user of the command line can do about it.
func (e *LostError) Hint() string {
	return fmt.Sprintf("nothing was written since; helm status %[1]s and helm history %[1]s show how the release is now",
		e.Release)
}
