// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// Waiting says what an operation waits for.
type Waiting struct {
	// Wait waits until objects are ready, Jobs for jobs to complete too.
	Wait, Jobs bool
	// Legacy asks again and again, by Helm 3's rules, instead of watching.
	Legacy bool
	// Timeout bounds each wait; 0 is five minutes.
	Timeout time.Duration
}

// Writing says how objects are written.
type Writing struct {
	// ServerSide leaves merging to the API server; nil does as the last
	// revision did, and merges here where there was none.
	ServerSide *bool
	// Conflicts says what becomes of fields that other managers have set to other
	// values, with server-side apply; "" fails.
	Conflicts plan.Resolution
	// ReportConflicts has a plan say which conflicts there are, and warn of rights that are
	// missing, instead of failing.
	ReportConflicts bool
	// Replace has objects replaced instead of merged: what an object has and
	// the release does not say goes. One that the API server refuses to replace
	// is deleted and created again.
	Replace       bool
	TakeOwnership bool
}

// Validate returns a [*WritingError] where w combines what excludes each other.
func (w Writing) Validate() error { return w.validate("") }

// validate is Validate for a release whose last revision was written in the
// given way.
func (w Writing) validate(last string) error {
	serverSide := w.serverSide(last)
	switch {
	case w.Conflicts == plan.Take && w.ServerSide != nil && !serverSide:
		return &WritingError{Text: "forceConflicts enabled when serverSideApply disabled"}
	case w.Conflicts != "" && w.ServerSide != nil && !serverSide:
		return &WritingError{Text: "a policy for conflicts set when serverSideApply disabled"}
	case w.Replace && serverSide:
		return &WritingError{Replace: true, Text: "cannot use server-side apply and force replace together"}
	}
	return nil
}

func (w Writing) serverSide(last string) bool {
	if w.ServerSide != nil {
		return *w.ServerSide
	}
	return last == release.ApplyServerSide
}

// unheeded says that a policy for conflicts has no effect on a release whose last revision
// was written in the given way, "" where it has. Taking fields is what a merge on this side
// does anyway, and pipelines for Helm 4 ask for it.
func (w Writing) unheeded(last string) string {
	if w.Conflicts == "" || w.Conflicts == plan.Take || w.serverSide(last) {
		return ""
	}
	return fmt.Sprintf("--conflicts=%s has no effect: the release is merged on helm's side, where the chart's values win; "+
		"--server-side=true has the API server merge it", w.Conflicts)
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

// A WritingError is returned for ways of writing objects that exclude each other.
type WritingError struct {
	// Replace is set where it is Replace that excludes server-side apply, and not
	// set where it is Conflicts that needs it.
	Replace bool
	Text    string
}

func (e *WritingError) Error() string {
	if e.Replace {
		return "invalid operation: " + e.Text
	}
	return "invalid client update option(s): " + e.Text
}
