// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/release"
)

// Key names one record: one revision of one release.
type Key struct {
	Namespace string
	Name      string
	Revision  int
}

func (k Key) String() string { return fmt.Sprintf("%s revision %d", k.Name, k.Revision) }

// Record is one revision as a driver keeps it.
type Record struct {
	Key
	Status release.Status
	// Labels are the user's labels.
	Labels map[string]string
	// Times are the labels that say when the record was made and changed, as it has
	// them; nil for drivers without labels.
	Times map[string]string
	// Summary is what lists show; nil where only Data tells, which is so for
	// records that Helm wrote.
	Summary *release.Summary
	// Holder says who is at work on a pending revision, "" for no one.
	Holder string
	// Data is the encoded release; nil in what [Driver.List] returns.
	Data []byte
	// Format is that of a record of another generation, such as helm.sh/release.v2,
	// and "" for the one that is read and written here. No driver writes another.
	Format string
	// Version is the driver's own name for this state of this very record: one
	// that was deleted and created again has another. [Driver.Read] and
	// [Driver.List] set it; [Driver.Update] looks at it.
	Version string
}

// Unsupported returns an [*UnreadableError] with a [*release.UnsupportedError] where
// the record's metadata says that a client of another generation has written it.
func (r Record) Unsupported() error {
	switch {
	case r.Format != "":
		return &UnreadableError{r.Key, &release.UnsupportedError{Problem: "has the format " + r.Format}}
	case !r.Status.Known():
		return &UnreadableError{r.Key, &release.UnsupportedError{Problem: fmt.Sprintf("has the status %q", string(r.Status))}}
	}
	return nil
}

// Heartbeat is the heartbeat of a revision: a client that sees the same Holder with
// the same Token again and again, for longer than heartbeats are apart, knows that
// the holder is gone. No two clocks need to agree for that.
type Heartbeat struct {
	Status release.Status
	// Holder says who is at work, "" for no one or where the driver cannot tell.
	Holder string
	// Token differs after each [Driver.RenewHeartbeat]; it means nothing else.
	Token string
	// Changed is when the record was made or last replaced, by the clock of
	// the client that did it; heartbeats do not count.
	Changed time.Time
}

// beats reports whether a heartbeat that was seen is still the record's, on which
// it may go on.
func (p Heartbeat) beats(now Heartbeat) bool {
	return now.Status.InProgress() && now.Status == p.Status && now.Holder == p.Holder && now.Token == p.Token
}

// Query says which records a driver lists. The zero value lists all.
type Query struct {
	Name   string         // "" for the releases of every name
	Status release.Status // "" for every status
}

// Driver keeps records in one place: a cluster's Secrets, a database. A driver
// is bound to a namespace, or to all of them for listing ("").
//
// Create fails with [ErrExists] where the key is taken, and of several
// concurrent creations of one key exactly one succeeds. Update, Read and Delete
// fail with [ErrNotFound] where it is free. Create and Update return the Version
// of what they wrote. Update replaces the record whose Version it gets, and fails
// with [ErrChanged] where the record is another or in another state by now;
// without a Version it replaces whatever is there. List returns the records of the
// driver's namespace without their Data, in any order. Read returns the newest
// state, or, where it gets the Version of a listed record, that state or a newer
// one, which may be had for less. Delete with a Version deletes that very record,
// whatever its state; one that was created again since is not found.
//
// RenewHeartbeat makes holder the one who is at work on a pending record, if its heartbeat
// is still the one that was seen, and returns the next one; otherwise, and for a
// record that is not pending, it fails with [ErrChanged]. Heartbeat reads a record's
// heartbeat and nothing else of it. Both fail with [ErrNotFound] where the key is
// free. Create and Update of a pending record that has a Holder beat too, and an
// Update keeps no Holder but its own. Drivers are safe for concurrent use. The
// suite in storetest is the contract.
type Driver interface {
	// In returns a driver over the same place, bound to another namespace.
	In(namespace string) Driver
	// Resource is the Kubernetes resource that keeps the records ("secrets"), for
	// permissions to be checked; "" where they are kept elsewhere.
	Resource() string
	Create(ctx context.Context, r Record) (version string, err error)
	Update(ctx context.Context, r Record) (version string, err error)
	Read(ctx context.Context, k Key, version string) (Record, error)
	List(ctx context.Context, q Query) ([]Record, error)
	Delete(ctx context.Context, k Key, version string) error
	RenewHeartbeat(ctx context.Context, k Key, seen Heartbeat, holder string) (Heartbeat, error)
	Heartbeat(ctx context.Context, k Key) (Heartbeat, error)
}

// Sentinels for errors.Is; the errors that carry data wrap them.
var (
	ErrNotFound = errors.New("release: not found")
	ErrExists   = errors.New("release: already exists")
	ErrChanged  = errors.New("release: changed by another client")
)

// A NotFoundError is returned for a release or revision that is not recorded.
// Revision is 0 where the release has no revision at all. It is an [ErrNotFound].
type NotFoundError struct{ Key }

func (e *NotFoundError) Error() string {
	if e.Revision != 0 {
		return fmt.Sprintf("release: not found: release has no %d version: %q in namespace %q", e.Revision, e.Name,
			e.Namespace)
	}
	// Helm's words, which scripts look for, and which release it is
	return fmt.Sprintf("release: not found: %q in namespace %q", e.Name, e.Namespace)
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// An ExistsError is returned by Create for a revision that exists already, because
// another client has created it. It is an [ErrExists].
type ExistsError struct{ Key }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("release %q has a revision %d already; another operation may be running, try "+
		"again when it has ended", e.Name, e.Revision)
}

// Is makes errors.Is(err, ErrExists) true.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// A ChangedError is returned when the record of a revision is not what it was
// when it was read or written last: another client has changed it.
type ChangedError struct {
	Key
	// Status and Holder are what the record says now, where that is known.
	Status release.Status
	Holder string
}

func (e *ChangedError) Error() string {
	now := ""
	if e.Status != "" {
		now = fmt.Sprintf(", and it is %s now", e.Status)
	}
	return fmt.Sprintf("another client has changed the record of release %s meanwhile%s: its change was kept, and "+
		"nothing was written over it", e.Key, now)
}

// Is makes errors.Is(err, ErrChanged) true.
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

// An UnreadableError is returned for a record that exists and cannot be read: it is
// damaged, or of another generation (then Err is a [*release.UnsupportedError]).
type UnreadableError struct {
	Key
	Err error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("read release %s: %s", e.Key, e.Err) }

func (e *UnreadableError) Unwrap() error { return e.Err }

// A TooLargeError is returned for a record that is larger than what is kept in a cluster.
// Size and Limit are in bytes.
type TooLargeError struct {
	Key
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record of release %s takes %d KiB, and at most %d KiB are kept in a cluster", e.Key,
		(e.Size+1023)>>10, e.Limit>>10)
}
