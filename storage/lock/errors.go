// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// A LockedError is returned if another client is working on a release and has not finished
// before the wait ends.
type LockedError struct {
	Release string
	// Holder names the client ("alice@laptop (pid 12)"). It is "" if it is not known, because
	// Helm wrote the record.
	Holder string
	Doing  string    // the operation, or "" if it is not known
	Since  time.Time // by the holder's clock

	// Revision and Status are set if the release is locked by a pending record.
	Revision int
	Status   release.Status
	// Until is when the record counts as abandoned; zero if the holder sends heartbeats.
	Until time.Time
	// Ended is the reason why the wait ended, such as an interrupt; nil if it timed out.
	Ended error
}

func (e *LockedError) Unwrap() error { return e.Ended }

// inProgress is Helm's message for a pending release, which users and scripts search for.
const inProgress = "another operation (install/upgrade/rollback) is in progress"

func (e *LockedError) Error() string {
	doing := gerund(term.SafeLine(e.Doing))
	switch {
	case e.Holder == "":
		return fmt.Sprintf("%s: release %q is locked: revision %d has been %s since %s, by an unknown client; it "+
			"counts as abandoned from %s on",
			inProgress, e.Release, e.Revision, e.Status, clock(e.Since), clock(e.Until))
	case e.Ended != nil:
		return fmt.Sprintf("stopped waiting for the lock of release %q (%s): %s has been %s it since %s\n"+
			"  nothing was changed", e.Release, e.Ended, term.SafeLine(e.Holder), doing, clock(e.Since))
	}
	return fmt.Sprintf("%s: release %q is locked: %s has been %s it since %s",
		inProgress, e.Release, term.SafeLine(e.Holder), doing, clock(e.Since))
}

// A NameError is returned for an empty or invalid name of a release or namespace.
type NameError struct{ Release, Namespace string }

func (e *NameError) Error() string {
	return fmt.Sprintf("lock release %q in namespace %q: invalid name or namespace", e.Release, e.Namespace)
}

// A LostError is returned, and is the cause of the operation's context, if a lock was lost
// while the operation was running. Nothing is written from then on.
type LostError struct {
	Release string
	// By names the client that has taken the lock, or is "" if it is not known.
	By string
	// Err is the reason if By is "": no heartbeat succeeded for too long, or another client
	// changed the record or the Lease.
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
		"and others may take it: %s", e.Release, staleAfter, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// LockLost reports that the lock was lost. Package action checks for this method, which the
// errors of other lockers may have too.
func (e *LostError) LockLost() bool { return true }

// takenError describes a change by another client that shows that the lock was lost.
type takenError struct{ sign string }

func (e *takenError) Error() string { return e.sign }
