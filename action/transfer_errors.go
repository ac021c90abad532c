// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/release"
)

// A SameReleaseError is returned if a release is both sides of a transfer.
type SameReleaseError struct {
	Operation release.TransferVerb
	Name      string
}

func (e *SameReleaseError) Error() string {
	return fmt.Sprintf("%s: both releases are %q", e.Operation, e.Name)
}

// Hint suggests a command to the user.
func (e *SameReleaseError) Hint() string { return "helm list lists the releases of the namespace" }

// A NotDeployedError is returned if the newest revision of a release is not deployed, so that it is
// not known which objects it has.
type NotDeployedError struct {
	Operation release.TransferVerb
	Name      string
	Revision  int
	Status    release.Status
}

func newNotDeployed(verb release.TransferVerb, last *release.Release) error {
	return &NotDeployedError{Operation: verb, Name: last.Name, Revision: last.Revision, Status: last.Info.Status}
}

func (e *NotDeployedError) Error() string {
	return fmt.Sprintf("%s: revision %d of release %q, the newest, is %s and not deployed", e.Operation, e.Revision,
		e.Name, e.Status)
}

// Hint suggests a command to the user.
func (e *NotDeployedError) Hint() string {
	return fmt.Sprintf("helm upgrade or helm rollback %[1]s first; helm history %[1]s shows what has failed", e.Name)
}

// A NotInReleaseError is returned if the record of a release does not have objects.
type NotInReleaseError struct {
	Name    string
	Objects []string
	// Hooks are those of Objects that are hooks of the release, which cannot be moved.
	Hooks   []string
	Similar []string
}

func (e *NotInReleaseError) Error() string {
	if len(e.Hooks) > 0 {
		return fmt.Sprintf("%s of release %q: hooks are not objects of the release, they come and go with its chart",
			strings.Join(e.Hooks, ", "), e.Name)
	}
	return fmt.Sprintf("release %q has no %s", e.Name, strings.Join(e.Objects, ", no "))
}

// Hint suggests a command to the user.
func (e *NotInReleaseError) Hint() string {
	if len(e.Similar) > 0 {
		return "did you mean: " + strings.Join(e.Similar, ", ")
	}
	return fmt.Sprintf("helm status %s lists its objects", e.Name)
}

// An ObjectProblem is an object that cannot be transferred, and why.
type ObjectProblem struct{ Object, Reason string }

// An ObjectsError is returned if objects cannot be transferred. It lists all of them; nothing was
// changed.
type ObjectsError struct {
	Operation release.TransferVerb
	Problems  []ObjectProblem
	// Similar are names of existing objects that are similar to those of Problems that do not exist.
	Similar []string
}

func (e *ObjectsError) add(object, reason string) {
	e.Problems = append(e.Problems, ObjectProblem{object, reason})
}

func (e *ObjectsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: nothing was changed, because of these objects:", e.Operation)
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  %s: %s", p.Object, p.Reason)
	}
	return b.String()
}

// Hint suggests a command to the user.
func (e *ObjectsError) Hint() string {
	for _, p := range e.Problems {
		if strings.HasPrefix(p.Reason, belongsTo) {
			if e.Operation == release.TransferMove {
				return "helm disown takes an object of another release out of the record, and leaves it as it is"
			}
			return "helm mv moves objects from one release to another"
		}
	}
	if len(e.Similar) > 0 {
		return "did you mean: " + strings.Join(e.Similar, ", ")
	}
	return ""
}

// belongsTo begins the reason for an object of another release.
const belongsTo = "it belongs to release "

// A TransferError is returned if a transfer failed after it had begun to write.
type TransferError struct {
	Verb release.TransferVerb
	Err  error
	// Undo is the error of undoing the transfer, or nil if it was undone.
	Undo error
}

func (e *TransferError) Error() string {
	if e.Undo == nil {
		return fmt.Sprintf("%s failed and was undone: %s", e.Verb, e.Err)
	}
	return fmt.Sprintf("%s failed: %s\nundoing it failed too: %s", e.Verb, e.Err, e.Undo)
}

func (e *TransferError) Unwrap() []error {
	if e.Undo == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Undo}
}

// Hint suggests what to do.
func (e *TransferError) Hint() string {
	if e.Undo == nil {
		return ""
	}
	return "the next helm command that changes the release finishes or undoes it"
}

// Summary returns the error in one line.
func (e *TransferError) Summary() string { return summaryOf(e.Err) }
