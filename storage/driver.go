// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/release"
)

// Key identifies a record: one revision of one release.
type Key struct {
	Namespace string
	Name      string
	Revision  int
}

func (k Key) String() string { return fmt.Sprintf("%s revision %d", k.Name, k.Revision) }

// Record is a revision as a driver stores it.
type Record struct {
	Key
	Status release.Status
	// Labels are the labels that the user has set.
	Labels map[string]string
	// Times are the labels with the times of creation and modification; nil if the driver has
	// no labels.
	Times map[string]string
	// Summary is the data that lists show; nil if only Data contains it, as in records that
	// Helm wrote.
	Summary *release.Summary
	// Holder identifies the client that works on a pending revision, or is "".
	Holder string
	// Data is the encoded release; nil in the results of [Driver.List].
	Data []byte
	// Format is the format of a record that this package does not support, such as
	// helm.sh/release.v2, or "" for the supported one. Drivers write only the latter.
	Format string
	// Version identifies the state of the record; a record that was deleted and created again
	// has another Version. [Driver.Read] and [Driver.List] set it; [Driver.Update] compares it.
	Version string
}

// Unsupported returns an [*UnreadableError] with a [*release.UnsupportedError] if the record's
// metadata shows that a client with another record format wrote it, such as a later version of
// Helm, else nil.
func (r Record) Unsupported() error {
	switch {
	case r.Format != "":
		return &UnreadableError{r.Key, &release.UnsupportedError{Problem: "has the format " + r.Format}}
	case !r.Status.Known():
		return &UnreadableError{r.Key, &release.UnsupportedError{Problem: fmt.Sprintf("has the status %q", string(r.Status))}}
	}
	return nil
}

// Heartbeat is the heartbeat of a revision. A client that sees the same Holder and Token for
// longer than the heartbeat interval can conclude that the holder has died. This requires no
// synchronized clocks.
type Heartbeat struct {
	Status release.Status
	// Holder identifies the client that works on the revision. It is "" if there is none or the
	// driver does not store it.
	Holder string
	// Token differs after each [Driver.RenewHeartbeat]. It is opaque.
	Token string
	// Changed is when the record was created or last updated, by the clock of the client that
	// did so. Heartbeats do not change it.
	Changed time.Time
}

// isCurrent reports whether now is the same heartbeat, of a revision that is in progress.
func (p Heartbeat) isCurrent(current Heartbeat) bool {
	return current.Status.InProgress() && current.Status == p.Status && current.Holder == p.Holder &&
		current.Token == p.Token
}

// Query selects the records to list. The zero value selects all.
type Query struct {
	Name   string         // "" for the releases of every name
	Status release.Status // "" for every status
}

// Driver stores records in one location: a cluster's Secrets, a database. A driver is bound to
// a namespace, or for listing to all namespaces ("").
//
// Create returns [ErrExists] if the key exists; of several concurrent calls with one key
// exactly one succeeds. Update, Read and Delete return [ErrNotFound] if the key does not exist.
// Create and Update return the new Version. Update replaces the record with the given Version,
// and returns [ErrChanged] if the record has another Version; without a Version it replaces
// any. List returns the records of the driver's namespace without Data, in any order. Read
// returns the latest state; if it gets the Version of a listed record, it may return that state
// or a later one, which may be cheaper. Delete with a Version deletes the record even if its
// state has changed, but returns [ErrNotFound] if it was deleted and created again.
//
// RenewHeartbeat makes holder the holder of a pending record if its heartbeat is the one in
// seen, and returns the next heartbeat. Otherwise, or if the record is not pending, it returns
// [ErrChanged]. Heartbeat reads only the heartbeat of a record. Both return [ErrNotFound] if
// the key does not exist. Create and Update of a pending record with a Holder also write a
// heartbeat; Update removes the previous Holder. Drivers are safe for concurrent use. The tests
// in package storetest are the contract.
type Driver interface {
	// In returns a driver of the same location for another namespace.
	In(namespace string) Driver
	// Resource returns the Kubernetes resource of the records ("secrets"), for checking
	// permissions, or "" if they are not stored in a cluster.
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

// A NotFoundError is returned if a release or revision has no record. Revision is 0 if the
// release has no revisions. It is an [ErrNotFound].
type NotFoundError struct{ Key }

func (e *NotFoundError) Error() string {
	if e.Revision != 0 {
		return fmt.Sprintf("release: not found: release has no %d version: %q in namespace %q", e.Revision, e.Name,
			e.Namespace)
	}
	// Scripts search for Helm's message at the beginning.
	return fmt.Sprintf("release: not found: %q in namespace %q", e.Name, e.Namespace)
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// An ExistsError is returned by Create if the revision exists, because another client has
// created it. It is an [ErrExists].
type ExistsError struct{ Key }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("release %q already has revision %d: another operation may be running, try again when it has "+
		"finished", e.Name, e.Revision)
}

// Is makes errors.Is(err, ErrExists) true.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// A ChangedError is returned if another client has changed the record of a revision since it
// was last read or written. It is an [ErrChanged].
type ChangedError struct {
	Key
	// Status and Holder are those of the record now, if they are known.
	Status release.Status
	Holder string
}

func (e *ChangedError) Error() string {
	value := ""
	if e.Status != "" {
		value = fmt.Sprintf(" (its status is now %s)", e.Status)
	}
	return fmt.Sprintf("another client has changed the record of release %s%s: its change was kept and not overwritten",
		e.Key, value)
}

// Is makes errors.Is(err, ErrChanged) true.
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

// An UnreadableError is returned if a record exists but cannot be read: it is damaged, or in
// a format that this version does not support (then Err is a [*release.UnsupportedError]).
type UnreadableError struct {
	Key
	Err error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("read release %s: %s", e.Key, e.Err) }

func (e *UnreadableError) Unwrap() error { return e.Err }

// A TooLargeError is returned if a record is too large for a cluster. Size and Limit are in
// bytes.
type TooLargeError struct {
	Key
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record of release %s has %d KiB, the limit for records in a cluster is %d KiB", e.Key,
		(e.Size+1023)>>10, e.Limit>>10)
}
