// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// LockedError tells that somebody else is at work on a release.
type LockedError struct {
	Release string
	// Holder names who it is ("alice@laptop (pid 12)"); "" where nobody knows,
	// because the record was made by Helm.
	Holder string
	Doing  string    // the operation; "" where it is not known
	Since  time.Time // by the holder's clock

	// Where only a pending record tells of the work:
	Revision int
	Status   release.Status
	// Until is when the record will count as abandoned; zero where the holder
	// shows signs of life.
	Until time.Time
	// Ended is what ended the wait for it, such as an interrupt; nil where it was
	// the time that there was for it.
	Ended error
}

func (e *LockedError) Unwrap() error { return e.Ended }

func (e *LockedError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("release %q is locked: revision %d has been %s since %s, by whom is not known; from %s on it counts as abandoned",
			e.Release, e.Revision, e.Status, clock(e.Since), clock(e.Until))
	}
	if e.Ended != nil {
		return fmt.Sprintf("nothing was changed: %s while waiting for %s, who has been %s %q since %s", e.Ended, term.SafeLine(e.Holder), gerund(term.SafeLine(e.Doing)), e.Release, clock(e.Since))
	}
	return fmt.Sprintf("release %q is locked: %s has been %s it since %s", e.Release, term.SafeLine(e.Holder), gerund(term.SafeLine(e.Doing)), clock(e.Since))
}

// LostError tells that a lock was lost while the operation ran, which is why it
// was stopped.
type LostError struct {
	Release string
	// By names who has taken the lock; "" where it only could not be renewed.
	By  string
	Err error // why it could not be renewed; nil where somebody has taken it
}

func (e *LostError) Error() string {
	if e.By != "" {
		return fmt.Sprintf("stopped: the lock of release %q was lost, %s has taken it; this operation had shown no sign of life for %s",
			e.Release, term.SafeLine(e.By), leaseDuration)
	}
	return fmt.Sprintf("stopped: the lock of release %q was lost, it could not be renewed for %s, and others may take it: %s", e.Release, giveUp, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// LockLost tells package op, which does not know this one, what the error is.
func (e *LostError) LockLost() bool { return true }
