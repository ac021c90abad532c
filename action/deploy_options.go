// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// WaitOptions configure what an operation waits for. The zero value does not wait.
type WaitOptions struct {
	// Wait waits until all objects are ready. Jobs also waits for Jobs to complete; it has
	// no effect without Wait.
	Wait, Jobs bool
	// Legacy polls readiness by the rules of Helm 3 instead of watching the objects.
	Legacy bool
	// Timeout limits each wait and each hook; 0 means five minutes.
	Timeout time.Duration
	// ReadinessTimeout limits each wait for objects that others depend on (Helm's proposal 25); 0
	// means Timeout.
	ReadinessTimeout time.Duration
	// GiveUpAfter is how long a pod that cannot be created, a container that cannot start or one
	// that keeps crashing may take to recover before a wait fails. 0 means the defaults of
	// [wait.Grace]; with a negative value a wait fails only when Timeout is over or a failure is
	// final.
	GiveUpAfter time.Duration
	// Timeouts are those of resource groups, subcharts (by their path, "app/cache") and objects
	// ("Deployment/web"): they replace Timeout and ReadinessTimeout, and the annotation
	// [wait.TimeoutAnnotation] of the objects. Of several the narrowest counts.
	Timeouts map[string]time.Duration
	// Watch, if it is not nil, reports logs and events of the objects that an operation waits for,
	// hooks included, and at its end a [progress.Summary]. Its Summary is called for each wait.
	Watch *wait.Watch
}

// grace returns the grace that GiveUpAfter selects.
func (w WaitOptions) grace() wait.Grace {
	return wait.Grace{Start: w.GiveUpAfter, Crash: w.GiveUpAfter}
}

// ApplyOptions configure how objects are written. The zero value uses the apply method of the
// last revision; the operation fails if an object has another owner or, under server-side
// apply, a field has another manager.
type ApplyOptions struct {
	// ServerSide selects server-side apply. nil selects the method of the last revision; a
	// first revision uses client-side three-way merge.
	ServerSide *bool
	// Conflicts resolves server-side apply conflicts with other field managers; "" fails.
	Conflicts plan.Resolution
	// ReportConflicts has a plan contain the conflicts, and warn of missing permissions,
	// instead of failing.
	ReportConflicts bool
	// ForceReplace replaces objects instead of merging them: fields that the release does
	// not set are removed. An object that the API server refuses to replace is deleted
	// and created again.
	ForceReplace bool
	// TakeOwnership takes over existing objects that do not belong to the release.
	TakeOwnership bool
}

// Validate returns an [*ApplyOptionsError] if options exclude each other.
func (w ApplyOptions) Validate() error { return w.validate("") }

// validate is Validate for a release whose last revision has the given apply method.
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

// ineffectiveConflicts returns a warning if Conflicts has no effect on a release whose last
// revision has the given apply method, or "". It does not warn of plan.Take, which is what
// client-side merge does anyway: pipelines for Helm 4 set it.
func (w ApplyOptions) ineffectiveConflicts(last string) string {
	if w.Conflicts == "" || w.Conflicts == plan.Take || w.serverSide(last) {
		return ""
	}
	return fmt.Sprintf("--conflicts=%s has no effect: the release is merged on helm's side, where the chart's "+
		"values win; --server-side=true has the API server merge it", w.Conflicts)
}

// Preview configures [Upgrade.Plan] and [Install.Plan]. Run ignores it.
type Preview struct {
	// KubeVersion overrides the cluster's version in templates; APIVersions are added to
	// the versions that it serves.
	KubeVersion string
	APIVersions []string
	// Recorded does not read the live objects: [Change.Plan] and [Change.CRDs] are nil.
	// [Compare] returns the differences from the record.
	Recorded bool
	// NoLookup has the template function lookup find nothing.
	NoLookup bool
	// Keep has the plan be one that [Apply] can apply later: [Change.Kept].
	Keep bool
	// OrInstall says of the plan to keep that the request is to install the release or, if it exists, to
	// upgrade it: [Apply.Rebase] may do the other.
	OrInstall bool
}

// An ApplyOptionsError is returned if [ApplyOptions] exclude each other.
type ApplyOptionsError struct {
	// ForceReplace is set if ForceReplace conflicts with server-side apply, and not set if
	// Conflicts needs server-side apply.
	ForceReplace bool
	Text         string
}

func (e *ApplyOptionsError) Error() string {
	if e.ForceReplace {
		return "invalid operation: " + e.Text
	}
	return "invalid client update option(s): " + e.Text
}
