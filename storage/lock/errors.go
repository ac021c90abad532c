// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// A LockedError is returned when another client is at work on a release, and stays so
// until the wait ends.
type LockedError struct {
	Release string
	// Holder names the client ("alice@laptop (pid 12)"); "" where it is not known,
	// because Helm has made the record.
	Holder string
	Doing  string    // the operation; "" where it is not known
	Since  time.Time // by the holder's clock

	// Where only a pending record tells of the work:
	Revision int
	Status   release.Status
	// Until is when the record will count as abandoned; zero where the holder
	// sends heartbeats.
	Until time.Time
	// Ended is what ended the wait for it, such as an interrupt; nil where it was
	// the time that there was for it.
	Ended error
}

func (e *LockedError) Unwrap() error { return e.Ended }

// inProgress are the words in which Helm says that a release is pending, which
// people and scripts look for.
const inProgress = "another operation (install/upgrade/rollback) is in progress"

func (e *LockedError) Error() string {
	doing := gerund(term.SafeLine(e.Doing))
	switch {
	case e.Holder == "":
		return fmt.Sprintf("%s: release %q is locked: revision %d has been %s since %s, by whom is not known; from %s "+
			"on it counts as abandoned",
			inProgress, e.Release, e.Revision, e.Status, clock(e.Since), clock(e.Until))
	case e.Ended != nil:
		return fmt.Sprintf("nothing was changed: %s while waiting for %s, who has been %s %q since %s",
			e.Ended, term.SafeLine(e.Holder), doing, e.Release, clock(e.Since))
	}
	return fmt.Sprintf("%s: release %q is locked: %s has been %s it since %s",
		inProgress, e.Release, term.SafeLine(e.Holder), doing, clock(e.Since))
}

// A NameError is returned for a release or a namespace whose name cannot be, or is "".
type NameError struct{ Release, Namespace string }

func (e *NameError) Error() string {
	return fmt.Sprintf("lock release %q in namespace %q: such a name cannot be", e.Release, e.Namespace)
}

// A LostError is returned, and is the cause of the operation's context, when a
// lock was lost while the operation ran: nothing is written from then on.
type LostError struct {
	Release string
	// By names who has taken the lock; "" where that is not known.
	By string
	// Err is how it was noticed where By is "": no heartbeat arrived for too
	// long, or the record or the lease is not what the holder left.
	Err error
}

func (e *LostError) Error() string {
	var taken *takenError
	switch {
	case e.By != "":
		return fmt.Sprintf("stopped: the lock of release %q was lost, %s has taken it; this operation had "+
			"sent no heartbeat for %s",
			e.Release, term.SafeLine(e.By), leaseDuration)
	case errors.As(e.Err, &taken):
		return fmt.Sprintf("stopped: the lock of release %q was lost: %s", e.Release, e.Err)
	}
	return fmt.Sprintf("stopped: the lock of release %q was lost, it could not be renewed for %s, "+
		"and others may take it: %s", e.Release, giveUp, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// LockLost reports that the lock was lost. Package action looks for the method, which the
// error of another locker may have too.
func (e *LostError) LockLost() bool { return true }

// takenError says by what it was noticed that another client has changed what
// the lock guards.
type takenError struct{ sign string }

func (e *takenError) Error() string { return e.sign }
