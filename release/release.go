// SPDX-License-Identifier: Apache-2.0

// Package release reads and writes release records: what was installed, with which values,
// from which chart, and with what result.
//
//	rel, err := release.Decode(text) // the data of a record: base64 of gzip of JSON
//	...
//	fmt.Println(rel.Name, rel.Revision, rel.Info.Status)
//
// It reads the records of Helm 3 and Helm 4, keeps keys that it does not know, and writes
// records that Helm can read. The chart in a record stays encoded until [Release.Chart] is
// called. The package does not use a cluster; package storage stores the records.
package release

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// Status is the state of a release.
type Status string

// The statuses of a record.
const (
	Unknown         Status = "unknown"
	Deployed        Status = "deployed"
	Uninstalled     Status = "uninstalled"
	Superseded      Status = "superseded"
	Failed          Status = "failed"
	Uninstalling    Status = "uninstalling"
	PendingInstall  Status = "pending-install"
	PendingUpgrade  Status = "pending-upgrade"
	PendingRollback Status = "pending-rollback"
)

// Statuses returns all statuses, in the order of the constants.
func Statuses() []Status {
	return []Status{Unknown, Deployed, Uninstalled, Superseded, Failed,
		Uninstalling, PendingInstall, PendingUpgrade, PendingRollback}
}

// Known reports whether s is one of [Statuses] or empty. An empty status has no meaning in any client.
func (s Status) Known() bool { return s == "" || slices.Contains(Statuses(), s) }

// MaxRevision is the highest revision. SQL databases store it in 32 bits; one number is left for the next revision.
const MaxRevision = math.MaxInt32 - 1

// ValidRevision reports whether n is in the range of revisions.
func ValidRevision(n int) bool { return n >= 1 && n <= MaxRevision }

// Pending reports whether an install, upgrade or rollback is in progress or was
// interrupted.
func (s Status) Pending() bool {
	return s == PendingInstall || s == PendingUpgrade || s == PendingRollback
}

// InProgress reports whether a client has recorded that it is changing the release: s is
// pending or [Uninstalling].
func (s Status) InProgress() bool { return s.Pending() || s == Uninstalling }

// The methods of writing a release's objects ([Release.ApplyMethod]).
const (
	ApplyServerSide = "ssa" // server-side apply
	ApplyClientSide = "csa" // create, and three-way merge on upgrade
)

// Release is one revision of a release. The zero value is an empty record.
// Several goroutines may read a Release, except that the first calls of
// [Release.Chart] and [Release.Metadata] on a decoded record must not be concurrent.
type Release struct {
	Name      string
	Namespace string
	// Revision counts from 1; the record's key is "version".
	Revision int
	Info     Info
	// Config holds the user's values, without the chart's defaults. It is nil if there are none.
	Config map[string]any
	// Manifest is the rendered manifest without hooks.
	Manifest string
	Hooks    []*Hook
	// ApplyMethod is ApplyServerSide, ApplyClientSide or empty. Helm 3 leaves it
	// empty, which means client side.
	ApplyMethod string
	// Labels are the user's labels. They are labels of the Secret, next to the
	// record's own, and not part of the JSON.
	Labels map[string]string
	// PendingDeletions are objects of earlier revisions that this revision must
	// delete and has not deleted yet. Together with the manifests since the last
	// deployed revision they are the release's inventory. The key is "orphans";
	// Helm ignores it.
	PendingDeletions []PendingDeletion
	// Order is the order of objects that the charts define (package plan's Order
	// as JSON), or nil if they define none. The key is "order"; Helm ignores it.
	Order json.RawMessage
	// ValueOrigins says where Config and the chart's default values come from (package
	// chart/values reads and writes it), or is nil if it is not known. The key is "origins"; Helm
	// ignores it.
	ValueOrigins json.RawMessage
	// Lists are the lists of the values that merge (package values' Lists as JSON), or nil if
	// there are none. The key is "lists"; Helm ignores it.
	Lists json.RawMessage
	// Transfer is the journal of an operation that changes which release objects belong to, or
	// nil. The key is "transfer"; Helm ignores it.
	Transfer *Transfer
	// Patches are the user's patches of the objects (package plan/patch's Files as JSON), or nil if
	// there are none. The key is "patches"; Helm ignores it.
	Patches json.RawMessage
	// Moved are the objects that have moved since the revision before (package plan's MovedObjects
	// as JSON), or nil if there are none. The key is "moved"; Helm ignores it.
	Moved json.RawMessage
	// Definitions are the CRDs in crds/ of subcharts, without their schemas (package action reads and
	// writes it), or nil if there are none. The key is "definitions"; Helm ignores it.
	Definitions json.RawMessage
	// Holder identifies the client that works on a pending revision. It is stored
	// next to the JSON, and only while the revision is pending.
	Holder string
	// Stored is the state of the record that the release was last read from or
	// written to. Package storage updates the record only if it is still in that
	// state. The zero value means that the release has no record yet.
	Stored Stored

	chart   chartRecord
	scripts json.RawMessage
	extra   []member
}

// Stored identifies one state of a record.
type Stored struct {
	// Version is the storage driver's version of the record, Digest the digest of its data.
	Version string
	Digest  [sha256.Size]byte
	// Status and Holder are those stored next to the data.
	Status Status
	Holder string
}

// Unchanged reports whether a record that was in state s and is now in state now has the same
// content. Heartbeats and labels of other clients do not count. Some storage drivers do not
// store holders; an empty now.Holder matches any.
func (s Stored) Unchanged(current Stored) bool {
	return s.Digest == current.Digest && s.Status == current.Status && (current.Holder == s.Holder || current.Holder == "")
}

// New returns a release of chart c, which may be nil.
func New(name, namespace string, revision int, c *chart.Chart) *Release {
	r := &Release{Name: name, Namespace: namespace, Revision: revision}
	r.SetChart(c)
	return r
}

// A PendingDeletion identifies an object that must be deleted and may still exist.
type PendingDeletion struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Clone returns a copy of r. The chart, Config and the hooks are shared; the rest may be
// changed without changing r.
func (r *Release) Clone() *Release {
	c := *r
	c.Labels = maps.Clone(r.Labels)
	c.Hooks = slices.Clone(r.Hooks)
	if r.Transfer != nil {
		t := *r.Transfer
		c.Transfer = &t
	}
	return &c
}

// Info is the state and history of a release.
type Info struct {
	FirstDeployed time.Time
	LastDeployed  time.Time
	// Completed is when the install, upgrade or rollback ended that began at LastDeployed, or zero if
	// it has not ended or the record does not say. The key is "completed"; Helm ignores it.
	Completed time.Time
	// Deleted is the time of the uninstall, or zero if the release was not uninstalled.
	Deleted     time.Time
	Description string
	Status      Status
	// Notes is the rendered NOTES.txt.
	Notes string
	// RollbackRevision is the revision that a rollback restored, or 0 if this revision
	// is not a rollback. Helm 3 does not have the key.
	RollbackRevision int

	extra []member
}

// Hook is a hook of a release: an object that is created at certain points of the
// release's life cycle.
type Hook struct {
	Name     string
	Kind     string
	Path     string // the template
	Manifest string
	Events   []HookEvent
	// LastRun is the last run of the hook, or zero if it has not run.
	LastRun           Run
	Weight            int
	DeletePolicies    []DeletePolicy
	OutputLogPolicies []OutputLogPolicy

	extra []member
}

// HookEvent is a point of a release's life cycle at which hooks run.
type HookEvent string

// The hook events.
const (
	PreInstall   HookEvent = "pre-install"
	PostInstall  HookEvent = "post-install"
	PreDelete    HookEvent = "pre-delete"
	PostDelete   HookEvent = "post-delete"
	PreUpgrade   HookEvent = "pre-upgrade"
	PostUpgrade  HookEvent = "post-upgrade"
	PreRollback  HookEvent = "pre-rollback"
	PostRollback HookEvent = "post-rollback"
	Test         HookEvent = "test"
)

// DeletePolicy defines when a hook's object is deleted.
type DeletePolicy string

// The delete policies.
const (
	BeforeHookCreation DeletePolicy = "before-hook-creation"
	HookSucceeded      DeletePolicy = "hook-succeeded"
	HookFailed         DeletePolicy = "hook-failed"
)

// OutputLogPolicy defines when a hook's log is shown.
type OutputLogPolicy string

// The output-log policies. They have the same values as the delete policies.
const (
	LogOnSucceeded OutputLogPolicy = "hook-succeeded"
	LogOnFailed    OutputLogPolicy = "hook-failed"
)

// Phase is the state of a hook's run.
type Phase string

// The phases.
const (
	PhaseUnknown   Phase = "Unknown"
	PhaseRunning   Phase = "Running"
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
)

// Run is a run of a hook.
type Run struct {
	StartedAt   time.Time
	CompletedAt time.Time
	Phase       Phase

	extra []member
}

// On reports whether the hook runs at event e.
func (h *Hook) On(e HookEvent) bool { return slices.Contains(h.Events, e) }

// Deletes reports whether the hook has delete policy p. BeforeHookCreation is the default.
func (h *Hook) Deletes(p DeletePolicy) bool {
	if len(h.DeletePolicies) == 0 {
		return p == BeforeHookCreation
	}
	return slices.Contains(h.DeletePolicies, p)
}

// Logs reports whether the hook has output-log policy p.
func (h *Hook) Logs(p OutputLogPolicy) bool { return slices.Contains(h.OutputLogPolicies, p) }

// member is an unknown key of a JSON object with its value, as it was read.
type member struct {
	key   string
	value json.RawMessage
}
