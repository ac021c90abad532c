// SPDX-License-Identifier: Apache-2.0

// Package release holds the record of a release: what was installed, with which values,
// from which chart, and what became of it.
//
//	rel, err := release.Decode(text) // of a record: base64 of gzip of JSON
//	...
//	fmt.Println(rel.Name, rel.Revision, rel.Info.Status)
//
// Records of Helm 3 and Helm 4 are read; keys that this version does not know survive a
// change, and Helm reads what is written. The chart in a record stays text until
// [Release.Chart] is called. The package knows nothing of clusters; package storage keeps
// the records.
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

// Status is where a release is in its life.
type Status string

// The statuses that a record may carry.
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

// Statuses are all statuses, in the order that the constants are in.
func Statuses() []Status {
	return []Status{Unknown, Deployed, Uninstalled, Superseded, Failed,
		Uninstalling, PendingInstall, PendingUpgrade, PendingRollback}
}

// Known reports whether s is one of [Statuses], or "", which no client gives a meaning.
func (s Status) Known() bool { return s == "" || slices.Contains(Statuses(), s) }

// MaxRevision is the highest number of a revision. A database keeps 32 bits, and
// one is left for what follows.
const MaxRevision = math.MaxInt32 - 1

// ValidRevision reports whether n may be the number of a revision.
func ValidRevision(n int) bool { return n >= 1 && n <= MaxRevision }

// Pending reports whether s is that of an install, upgrade or rollback in progress, or of
// one that was interrupted.
func (s Status) Pending() bool {
	return s == PendingInstall || s == PendingUpgrade || s == PendingRollback
}

// InProgress reports whether a client says that it is at work on the release: it is
// pending, or being uninstalled.
func (s Status) InProgress() bool { return s.Pending() || s == Uninstalling }

// How the objects of a release were written ([Release.ApplyMethod]).
const (
	ApplyServerSide = "ssa" // server-side apply
	ApplyClientSide = "csa" // create, and three-way merge on upgrade
)

// Release is one revision of a release. The zero value is an empty record.
// A Release may be read by several goroutines, with the exception of the first
// call to [Release.Chart] and [Release.Metadata] on a decoded record.
type Release struct {
	Name      string
	Namespace string
	// Revision counts from 1; the record's key is "version".
	Revision int
	Info     Info
	// Config are the user's values, without the chart's defaults; nil for none.
	Config map[string]any
	// Manifest is the rendered text without hooks.
	Manifest string
	Hooks    []*Hook
	// ApplyMethod is ApplyServerSide, ApplyClientSide or "", which is what
	// Helm 3 writes and means client side.
	ApplyMethod string
	// Labels are the user's labels. They are on the Secret beside the
	// record's own and never inside the JSON.
	Labels map[string]string
	// PendingDeletions are objects that revisions before this one may have left in the
	// cluster and that this one is to remove, and has not removed yet. Together
	// with the manifests since the last deployed revision they are the
	// inventory of what the release may have made. The key is "orphans"; Helm
	// reads past it.
	PendingDeletions []PendingDeletion
	// Order is what the charts of the tree say about the order of their objects
	// (package plan's Order as JSON), nil where they say nothing. The key is
	// "order"; Helm reads past it.
	Order json.RawMessage
	// Holder says who is at work on a pending revision. It is on the
	// record, never inside the JSON, and only while the revision is pending.
	Holder string
	// Stored is the state of the record that the release was read from or
	// written to last, for package storage: an update replaces that state and no
	// other. The zero value is a release that has no record yet.
	Stored Stored

	chart   record
	scripts json.RawMessage
	extra   []member
}

// Stored names one state of a record.
type Stored struct {
	// Version is the driver's name for it, Digest that of the text.
	Version string
	Digest  [sha256.Size]byte
	// Status and Holder are those that are next to the text.
	Status Status
	Holder string
}

// Unchanged reports whether a record that was in state s still is, but for what
// heartbeats and other clients' labels change. Not every place keeps holders.
func (s Stored) Unchanged(now Stored) bool {
	return s.Digest == now.Digest && s.Status == now.Status && (now.Holder == s.Holder || now.Holder == "")
}

// New returns a release of chart c, which may be nil.
func New(name, namespace string, revision int, c *chart.Chart) *Release {
	r := &Release{Name: name, Namespace: namespace, Revision: revision}
	r.SetChart(c)
	return r
}

// A PendingDeletion names an object that is to be deleted and may still exist.
type PendingDeletion struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Clone returns a copy that may be changed without changing r, with the
// exception of the chart, of Config and of the hooks, which are shared.
func (r *Release) Clone() *Release {
	c := *r
	c.Labels = maps.Clone(r.Labels)
	c.Hooks = slices.Clone(r.Hooks)
	return &c
}

// Info is what became of a release.
type Info struct {
	FirstDeployed time.Time
	LastDeployed  time.Time
	// Deleted is when the release was uninstalled, zero for never.
	Deleted     time.Time
	Description string
	Status      Status
	// Notes are the rendered NOTES.txt.
	Notes string
	// RollbackRevision is the revision that a rollback took up again, 0 for a
	// revision that is not a rollback. Only Helm 4 knows the key.
	RollbackRevision int

	extra []member
}

// Hook is one resource that runs at points of a release's life, as a record
// keeps it.
type Hook struct {
	Name     string
	Kind     string
	Path     string // the template it comes from
	Manifest string
	Events   []HookEvent
	// LastRun is when and how the hook ran last; the zero value is never.
	LastRun           Run
	Weight            int
	DeletePolicies    []DeletePolicy
	OutputLogPolicies []OutputLogPolicy

	extra []member
}

// HookEvent is a point in a release's life at which hooks run.
type HookEvent string

// The events that hooks may name.
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

// DeletePolicy says when a hook's resource is deleted.
type DeletePolicy string

// The delete policies.
const (
	BeforeHookCreation DeletePolicy = "before-hook-creation"
	HookSucceeded      DeletePolicy = "hook-succeeded"
	HookFailed         DeletePolicy = "hook-failed"
)

// OutputLogPolicy says when a hook's log is shown.
type OutputLogPolicy string

// The output-log policies. They are spelled like the delete policies.
const (
	LogOnSucceeded OutputLogPolicy = "hook-succeeded"
	LogOnFailed    OutputLogPolicy = "hook-failed"
)

// Phase is how a run of a hook went.
type Phase string

// The phases.
const (
	PhaseUnknown   Phase = "Unknown"
	PhaseRunning   Phase = "Running"
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
)

// Run is one run of a hook.
type Run struct {
	StartedAt   time.Time
	CompletedAt time.Time
	Phase       Phase

	extra []member
}

// On reports whether the hook runs at event e.
func (h *Hook) On(e HookEvent) bool { return slices.Contains(h.Events, e) }

// Deletes reports whether the hook has the delete policy p. A hook without policies has
// BeforeHookCreation.
func (h *Hook) Deletes(p DeletePolicy) bool {
	if len(h.DeletePolicies) == 0 {
		return p == BeforeHookCreation
	}
	return slices.Contains(h.DeletePolicies, p)
}

// Logs reports whether the hook's log is to be shown under p.
func (h *Hook) Logs(p OutputLogPolicy) bool { return slices.Contains(h.OutputLogPolicies, p) }

// member is a key with its text, kept as it was read.
type member struct {
	key   string
	value json.RawMessage
}
