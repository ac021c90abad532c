// SPDX-License-Identifier: Apache-2.0

// Package action holds the verbs: install, uninstall, template, list, status,
// history and their kin, one file each. It is the front of the SDK.
//
// A verb is a struct that lists what it needs (a cluster, a recorder, the event
// bus) and a Run method that takes a request saying what is wanted. Neither
// remembers anything between runs. The package reaches no cluster and no disk
// by itself: the interfaces it calls are declared here, and whoever builds a
// verb supplies them.
package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/release"
)

// Describer tells what a cluster is and holds, for templates.
type Describer interface {
	// Capabilities are the server's version and the kinds it serves.
	Capabilities(ctx context.Context) (*engine.Capabilities, error)
	// Lookup reads one object, or a list where name is empty; an object that
	// is not there is an empty map.
	Lookup(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Owner says which release objects belong to.
type Owner struct {
	Release   string
	Namespace string
}

// Records reads release records. A release that is not there is
// [ErrReleaseNotFound].
type Records interface {
	// Revision reads one revision, the newest where revision is 0.
	Revision(ctx context.Context, name string, revision int) (*release.Release, error)
}

// Recorder writes release records.
type Recorder interface {
	Records
	// Create writes a new revision; one that exists is [ErrRevisionExists].
	Create(ctx context.Context, r *release.Release) error
	// Update replaces the record that r was read from or written to last; where
	// another client has changed it since, it fails with [ErrRecordChanged].
	Update(ctx context.Context, r *release.Release) error
	// Delete removes one revision, that very one: not another of its number that
	// was made since it was listed.
	Delete(ctx context.Context, name string, revision Revision) error
	// Revisions lists the revisions of a release, oldest first, without reading
	// them; none is [ErrReleaseNotFound].
	Revisions(ctx context.Context, name string) ([]Revision, error)
	// Prune deletes the oldest revisions until at most max are left, sparing
	// those that keep names.
	Prune(ctx context.Context, name string, max int, keep func(Revision) bool) error
}

// Revision is a revision of a release as lists know it.
type Revision struct {
	Number int
	Status release.Status
	// Version is the recorder's name for this very record.
	Version string
	// Err is an [ErrRecordUnsupported] where the list shows that a client of another
	// generation has written the record.
	Err error
}

// Errors that verbs return and that recorders must return.
var (
	ErrReleaseNotFound = errors.New("release not found")
	ErrRevisionExists  = errors.New("revision already exists")
	ErrRecordChanged   = errors.New("record changed by another client")
	// ErrRecordUnsupported is a record that a client of another generation has written.
	// No verb changes or deletes it.
	ErrRecordUnsupported = errors.New("record of another generation")
)

// NotFoundError names the release, and the revision where one was asked for,
// that has no record. It is an [ErrReleaseNotFound].
type NotFoundError struct {
	Name      string
	Namespace string
	Revision  int
}

func (e *NotFoundError) Error() string {
	if e.Revision > 0 {
		return fmt.Sprintf("release: not found: release has no %d version: %q in namespace %q", e.Revision, e.Name, e.Namespace)
	}
	return fmt.Sprintf("release: not found: %q in namespace %q", e.Name, e.Namespace) // Helm's words, which scripts look for, and which release it is
}

// Is makes the error an [ErrReleaseNotFound].
func (e *NotFoundError) Is(target error) bool { return target == ErrReleaseNotFound }
