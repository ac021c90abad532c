// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// WaitOptions say what an operation waits for. The zero value waits for nothing.
type WaitOptions struct {
	// Wait waits until all objects are ready. Jobs waits for Jobs to complete too; it has
	// no effect without Wait.
	Wait, Jobs bool
	// Legacy polls readiness by the rules of Helm 3 instead of watching the objects.
	Legacy bool
	// Timeout bounds each wait, and each hook; 0 is five minutes.
	Timeout time.Duration
}

// ApplyOptions say how objects are written. The zero value merges them as the last
// revision was merged; objects of other owners, and the fields of other managers under
// server-side apply, end the operation.
type ApplyOptions struct {
	// ServerSide has the API server merge objects (server-side apply). nil does as the
	// last revision did; a first revision is merged by the client, in three ways.
	ServerSide *bool
	// Conflicts says what becomes of fields that other managers have set to other
	// values, with server-side apply; "" fails.
	Conflicts plan.Resolution
	// ReportConflicts has a plan say which conflicts there are, and warn of permissions that are
	// missing, instead of failing.
	ReportConflicts bool
	// ForceReplace replaces objects instead of merging them: fields that the release does
	// not set are removed. An object that the API server refuses to replace is deleted
	// and created again.
	ForceReplace bool
	// TakeOwnership takes over objects that exist and belong to no release, or to
	// another one.
	TakeOwnership bool
}

// Validate returns a [*ApplyOptionsError] where options exclude each other.
func (w ApplyOptions) Validate() error { return w.validate("") }

// validate is Validate for a release whose last revision was written in the
// given way.
func (w ApplyOptions) validate(last string) error {
	serverSide := w.serverSide(last)
	switch {
	case w.Conflicts == plan.Take && w.ServerSide != nil && !serverSide:
		return &ApplyOptionsError{Text: "forceConflicts enabled when serverSideApply disabled"}
	case w.Conflicts != "" && w.ServerSide != nil && !serverSide:
		return &ApplyOptionsError{Text: "a policy for conflicts set when serverSideApply disabled"}
	case w.ForceReplace && serverSide:
		return &ApplyOptionsError{ForceReplace: true, Text: "cannot use server-side apply and force replace together"}
	}
	return nil
}

func (w ApplyOptions) serverSide(last string) bool {
	if w.ServerSide != nil {
		return *w.ServerSide
	}
	return last == release.ApplyServerSide
}

// unheeded says that a policy for conflicts has no effect on a release whose last revision
// was written in the given way, "" where it has. Taking fields is what a merge on this side
// does anyway, and pipelines for Helm 4 ask for it.
func (w ApplyOptions) unheeded(last string) string {
	if w.Conflicts == "" || w.Conflicts == plan.Take || w.serverSide(last) {
		return ""
	}
	return fmt.Sprintf("--conflicts=%s has no effect: the release is merged on helm's side, where the chart's "+
		"values win; --server-side=true has the API server merge it", w.Conflicts)
}

// Preview says what [Upgrade.Plan] and [Install.Plan] leave out and assume. The zero
// value leaves nothing out. Run takes no notice of it.
type Preview struct {
	// KubeVersion and APIVersions change what templates see as capabilities.
	KubeVersion string
	APIVersions []string
	// Recorded leaves the objects of the cluster unread: [Change.Plan] and
	// [Change.CRDs] are nil. [Compare] returns what differs from the record.
	Recorded bool
	// NoLookup has templates' lookup find nothing.
	NoLookup bool
}

// An ApplyOptionsError is returned for [ApplyOptions] that exclude each other.
type ApplyOptionsError struct {
	// ForceReplace reports whether ForceReplace excludes server-side apply; otherwise
	// Conflicts needs it.
	ForceReplace bool
	Text         string
}

func (e *ApplyOptionsError) Error() string {
	if e.ForceReplace {
		return "invalid operation: " + e.Text
	}
	return "invalid client update option(s): " + e.Text
}
