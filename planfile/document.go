// SPDX-License-Identifier: Apache-2.0

// Package planfile reads and writes plans that are kept: files that say what an operation on a
// release would do, for people and programs to review, and from which package action does exactly
// that later.
//
//	doc, err := planfile.Decode(data)
//	...
//	fmt.Println(doc.Operation, doc.Release.Name, doc.Changes())
//	for _, d := range doc.Differences(now) { // now is the plan of the same operation, made now
//		fmt.Println(d.Subject, d.Then, d.Now)
//	}
//
// A [Document] has two parts. The one that is reviewed is readable: what becomes of each object, and
// the values of fields that this rests on. It has no data of Secrets, only digests. The other is the
// [Payload]: the record of the new revision, with its manifest, chart and values. It is in the file
// as it is, sealed for recipients of age ([Document.Seal]), or not at all ([Document.Redact]).
//
// The format is JSON; docs/formats/plan.schema.json describes it. The package does not access a
// cluster, and does not sign: package provenance signs files.
package planfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/moonhelm/moonhelm/plan"
)

// APIVersion and Kind identify the format.
const (
	APIVersion = "moonhelm.github.io/v1"
	Kind       = "Plan"
)

// MaxSize is the size of the largest file, in bytes. The record of a release is at most 1 MiB in a
// Secret, and some tens of them in parts.
const MaxSize = 64 << 20

// Operations are the operations that can be kept.
const (
	Install   = "install"
	Upgrade   = "upgrade"
	Rollback  = "rollback"
	Uninstall = "uninstall"
)

// Document is the plan of one operation. Its zero value is not valid.
type Document struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Created    time.Time `json:"created"`
	// Expires is when the plan must not be applied any more, or nil.
	Expires *time.Time `json:"expires,omitempty"`
	// Operation is Install, Upgrade, Rollback or Uninstall.
	Operation string  `json:"operation"`
	Release   Release `json:"release"`
	Base      Base    `json:"base"`
	Digests   Digests `json:"digests"`
	Options   Options `json:"options"`
	// CRDs are the definitions of crds/ that are created or changed, Objects the objects of the
	// release in the order of their changes, and Hooks the hooks that the operation runs.
	CRDs    []Object `json:"crds,omitempty"`
	Objects []Object `json:"objects"`
	Hooks   []Hook   `json:"hooks,omitempty"`

	// Of an install or an upgrade: either Payload or Sealed has what is applied, or Redacted is set.
	Payload  *Payload `json:"payload,omitempty"`
	Sealed   string   `json:"sealed,omitempty"` // armored age
	Redacted bool     `json:"redacted,omitempty"`
}

// Release is the revision that the operation makes, or the one that it uninstalls.
type Release struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Revision   int    `json:"revision"`
	Chart      string `json:"chart,omitempty"` // NAME-VERSION
	AppVersion string `json:"appVersion,omitempty"`
	// Target is the revision that a rollback goes back to.
	Target int `json:"target,omitempty"`
}

// Base is the state of the release that the plan starts from.
type Base struct {
	Revision int    `json:"revision"` // the newest, 0 for none
	Status   string `json:"status,omitempty"`
	Deployed int    `json:"deployed,omitempty"` // the revision that is deployed
	// Records is the digest of the records that may have objects in the cluster.
	Records string `json:"records,omitempty"`
}

// Digests are of what the plan was made from, each "sha256:HEX", or "scrypt:HEX" for what may be
// secret and easy to guess.
type Digests struct {
	Chart    string `json:"chart,omitempty"` // with its subcharts
	Scripts  string `json:"scripts,omitempty"`
	Values   string `json:"values,omitempty"`
	Manifest string `json:"manifest,omitempty"`
	Hooks    string `json:"hooks,omitempty"`
}

// Options are those flags of the operation that matter when it is done. Durations are in
// nanoseconds.
type Options struct {
	Description     string            `json:"description,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	CreateNamespace bool              `json:"createNamespace,omitempty"`
	Replace         bool              `json:"replace,omitempty"`
	// Install is set if the release is to be installed or, if it exists, upgraded.
	Install          bool          `json:"install,omitempty"`
	Reuse            string        `json:"reuse,omitempty"`
	ResetPatches     bool          `json:"resetPatches,omitempty"`
	CRDs             string        `json:"crds,omitempty"`
	SkipSchema       bool          `json:"skipSchemaValidation,omitempty"`
	SubchartNotes    bool          `json:"renderSubchartNotes,omitempty"`
	HistoryMax       int           `json:"releaseHistoryMax,omitempty"`
	HistoryValues    bool          `json:"includeHistoryValues,omitempty"`
	NoHooks          bool          `json:"noHooks,omitempty"`
	NoValidation     bool          `json:"disableOpenAPIValidation,omitempty"`
	Wait             bool          `json:"wait,omitempty"`
	WaitForJobs      bool          `json:"waitForJobs,omitempty"`
	LegacyWait       bool          `json:"legacyWait,omitempty"`
	Timeout          time.Duration `json:"timeout,omitempty"`
	ReadinessTimeout time.Duration `json:"readinessTimeout,omitempty"`
	GiveUpAfter      time.Duration `json:"giveUpAfter,omitempty"`
	// Timeouts are those of groups, subcharts and objects.
	Timeouts      map[string]time.Duration `json:"timeouts,omitempty"`
	ServerSide    *bool                    `json:"serverSide,omitempty"`
	Conflicts     string                   `json:"conflicts,omitempty"`
	ForceReplace  bool                     `json:"forceReplace,omitempty"`
	TakeOwnership bool                     `json:"takeOwnership,omitempty"`
	CleanupOnFail bool                     `json:"cleanupOnFail,omitempty"`
	Atomic        bool                     `json:"rollbackOnFailure,omitempty"`
	MaxHistory    int                      `json:"historyMax,omitempty"`
	KeepHistory   bool                     `json:"keepHistory,omitempty"`
	Cascade       string                   `json:"cascade,omitempty"`
}

// Object is what becomes of one object.
type Object struct {
	plan.Ref
	Source string `json:"source,omitempty"` // the template
	// Action is what the plan does. An update without changes writes nothing but who manages which
	// fields.
	Action plan.Action `json:"action"`
	Reason string      `json:"reason,omitempty"`
	// Moved says what the object was called or is called now, by "moved" in Chart.yaml.
	Moved *plan.MovedObject `json:"moved,omitempty"`
	// UID is that of the object in the cluster, and ResourceVersion its version when it was read.
	// The version is not what the plan rests on.
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Changes are the fields that an update changes, with the values that it rests on.
	Changes []Change `json:"changes,omitempty"`
	// Drift are the fields of an object to delete that other clients have changed.
	Drift []Change `json:"drift,omitempty"`
	// Conflicts are fields that other managers have set to other values, with what happens to them.
	Conflicts []string `json:"conflicts,omitempty"`
	// PatchType and Patch are the request of an update. Secrets have no Patch.
	PatchType plan.PatchType  `json:"patchType,omitempty"`
	Patch     json.RawMessage `json:"patch,omitempty"`
	// After is an object that is created. The data of Secrets are replaced by their lengths.
	After map[string]any `json:"after,omitempty"`
	// Digest is that of the data of a Secret before and after.
	Digest string `json:"digest,omitempty"`
}

// Change is the change of one field.
type Change struct {
	Path string `json:"path"`
	// From is the value that the plan rests on, To the one after it; null for none.
	From any `json:"from"`
	To   any `json:"to"`
	// Hidden is set for the data of Secrets, whose values are left out.
	Hidden bool `json:"hidden,omitempty"`
}

// Hook is a hook that the operation runs.
type Hook struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind"`
	Source string         `json:"source,omitempty"`
	Events []string       `json:"events"`
	Weight int            `json:"weight"`
	Delete []string       `json:"deletePolicies,omitempty"`
	Object map[string]any `json:"object"` // without the data of Secrets
}

// Payload is what an install or an upgrade applies.
type Payload struct {
	// Record is the record of the new revision, as the cluster stores it: base64 of gzip of JSON.
	Record string `json:"record"`
	// Labels are the labels of the record, which are not in it.
	Labels map[string]string `json:"labels,omitempty"`
	// CRDs is the manifest of the definitions that the operation creates if they are missing, and
	// UpgradedCRDs of those that it updates too.
	CRDs         string `json:"crds,omitempty"`
	UpgradedCRDs string `json:"upgradedCRDs,omitempty"`
	// Moves is what the charts say about objects that have moved.
	Moves *Moves `json:"moves,omitempty"`
	// Rendered are the objects before the scripts of pre-install or pre-upgrade, if they change them.
	Rendered string `json:"rendered,omitempty"`
	// Values are the final values, for scripts.
	Values map[string]any `json:"values,omitempty"`
}

// Moves are the entries of "moved" in the charts of the plan.
type Moves struct {
	Entries []plan.Move `json:"entries"`
	Charts  []string    `json:"charts,omitempty"` // the paths of the subcharts
	Root    string      `json:"root"`
}

// Encode returns the file of d. Equal documents give equal bytes.
func (d *Document) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return b.Bytes(), nil
}

// Decode reads the file of a plan. The error is a [*FormatError].
func Decode(data []byte) (*Document, error) {
	if len(data) > MaxSize {
		return nil, &FormatError{Err: fmt.Errorf("it is larger than %d MiB", MaxSize>>20)}
	}
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, &FormatError{Err: err}
	}
	if head.Kind != Kind || head.APIVersion != APIVersion {
		return nil, &FormatError{APIVersion: head.APIVersion, Kind: head.Kind}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // what this version does not know it cannot do
	decoder.UseNumber()
	d := &Document{}
	if err := decoder.Decode(d); err != nil {
		return nil, &FormatError{Err: err}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, &FormatError{Err: errors.New("something follows the plan")}
	}
	d.restoreNumbers()
	return d, d.check()
}

// check returns a [*FormatError] if d contradicts itself.
func (d *Document) check() error {
	parts := 0
	for _, has := range []bool{d.Payload != nil, d.Sealed != "", d.Redacted} {
		if has {
			parts++
		}
	}
	switch d.Operation {
	case Install, Upgrade:
		if parts != 1 {
			return &FormatError{Err: errors.New("want one of payload, sealed and redacted")}
		}
	case Rollback, Uninstall:
		if parts != 0 {
			return &FormatError{Err: fmt.Errorf("a plan to %s has no payload", d.Operation)}
		}
	default:
		return &FormatError{Err: fmt.Errorf("unknown operation %q", d.Operation)}
	}
	o := d.Options
	if min(o.Timeout, o.ReadinessTimeout) < 0 || min(o.MaxHistory, o.HistoryMax) < 0 {
		return &FormatError{Err: errors.New("an option is negative")}
	}
	if d.Release.Name == "" || d.Release.Namespace == "" {
		return &FormatError{Err: errors.New("it names no release and namespace")}
	}
	return nil
}

// Reviewed returns a copy of d with the part that is reviewed: it cannot be applied.
func (d *Document) Reviewed() *Document {
	out := *d
	out.Payload, out.Sealed = nil, ""
	return &out
}

// Changes returns the number of objects, definitions and hooks that the plan writes.
func (d *Document) Changes() int {
	n := len(d.Hooks)
	for _, list := range [][]Object{d.CRDs, d.Objects} {
		for _, o := range list {
			if o.Writes() {
				n++
			}
		}
	}
	return n
}

// Writes reports whether the plan changes the object.
func (o Object) Writes() bool {
	switch o.Action {
	case plan.Unchanged, plan.Keep:
		return false
	case plan.Update:
		return len(o.Changes) > 0
	}
	return true
}

// Find returns the entry of an object whatever the version of its API, or nil.
func (d *Document) Find(r plan.Ref) *Object {
	for i := range d.Objects {
		if d.Objects[i].Identity() == r.Identity() {
			return &d.Objects[i]
		}
	}
	return nil
}

// HasSecrets reports whether the plan has Secrets.
func (d *Document) HasSecrets() bool {
	for _, o := range d.Objects {
		if o.Kind == "Secret" {
			return true
		}
	}
	for _, h := range d.Hooks {
		if h.Kind == "Secret" {
			return true
		}
	}
	return false
}

// ExpiredAt reports whether the plan has expired.
func (d *Document) ExpiredAt(now time.Time) bool { return d.Expires != nil && now.After(*d.Expires) }

// A FormatError is returned for a file that is not a plan of this version.
type FormatError struct {
	APIVersion, Kind string // of the file, if these are not those of a plan
	Err              error
}

func (e *FormatError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("not a valid plan: %s", e.Err)
	case e.Kind == Kind:
		return fmt.Sprintf("the plan has the version %q, want %q", e.APIVersion, APIVersion)
	}
	return fmt.Sprintf("not a plan: it is of kind %q, want %q", e.Kind, Kind)
}

func (e *FormatError) Unwrap() error { return e.Err }

// Hint says how a plan is made.
func (e *FormatError) Hint() string {
	if e.Kind == Kind && e.Err == nil {
		return "another version of helm wrote it: apply it with that one, or make a new plan"
	}
	return "helm plan upgrade NAME CHART --save FILE makes a plan"
}
