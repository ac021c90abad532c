// SPDX-License-Identifier: Apache-2.0

// Package plan computes the steps that bring the objects of a release from what they are
// to what its manifest says. [Compute] takes an [Item] for each object (the old manifests,
// the live object, the new manifest) and returns a [Plan], which has a [Step] for each:
// an action and, for an update, its patch.
//
//	want, err := object.Map() // a *manifest.Object
//	...
//	p, err := plan.Compute([]plan.Item{{
//		Ref:  plan.Ref{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: "shop", Name: object.Name},
//		Old:  []map[string]any{was}, // what the deployed revision says
//		Live: live,                  // what the API server has
//		New:  want, Object: object,
//	}}, plan.Options{})
//	...
//	for _, step := range p.Steps {
//		fmt.Println(step.Action, step.Ref, string(step.Patch))
//	}
//
// The default is a three-way merge, as kubectl and Helm 3 do it: what a release no longer
// says is removed, what it changes is set, and fields that it has never set stay. With
// [Options.ServerSide] the API server merges, and the plan names the fields that other
// managers have set otherwise ([Conflict]). [Compare] compares two manifests without a
// cluster, [Drift] finds what was changed by hand, and [Sequence] divides objects into
// batches where charts ask for an order.
//
// Objects are maps as [manifest.Object.Map] and an API server's JSON have them, with int64
// for whole numbers. An object that cannot be merged is an [*Error], an order that cannot
// be kept a [*CycleError].
//
// The package reads and writes nothing: package kube reads the objects and executes the
// plan. Its functions may be called concurrently. Maps that come in are not changed, and
// those of the plan share parts with them: treat both as read-only.
package plan

import "github.com/moonhelm/moonhelm/manifest"

// Action is what a step does to an object.
type Action string

// The actions. [Compute] returns Create, Update, Delete, Unchanged and Keep; Replace is
// what the executor makes of a step where the object cannot be updated (see [Replaceable]).
const (
	Create    Action = "create"
	Update    Action = "update"
	Replace   Action = "replace" // deleted and created again, as its annotation or a flag asks
	Delete    Action = "delete"
	Unchanged Action = "unchanged"
	Keep      Action = "keep" // no longer in the release, and stays: by its policy, or because another owns it
)

// Ref names an object in a cluster.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"` // "" for kinds of the whole cluster
	Name       string `json:"name"`
}

// String returns kind and name: "Deployment/web".
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// Item is one object of a change, in the three states that a merge needs. Its maps are
// not changed, here or by who gets the plan.
type Item struct {
	Ref
	// Source is the template that the object comes from, "" where not known.
	Source string
	// Old are the object's manifests in the revisions that may have been applied, oldest
	// first: the last deployed one and those that failed since. It is empty for an object
	// that none of them has.
	Old []map[string]any
	// Live is the object in the cluster, nil where it does not exist.
	Live map[string]any
	// New is the object in the new manifest, nil where it is to be deleted.
	New map[string]any
	// Object is the new object as rendered, for the text and the template of an error;
	// nil where New is.
	Object *manifest.Object
	// Former is the old object as it was rendered, where two manifests are compared
	// ([Between]) and the old one has it.
	Former *manifest.Object
}

// PatchType is the format of [Step.Patch].
type PatchType string

// The types of patches.
const (
	StrategicMerge PatchType = "strategic" // kinds that Kubernetes is built with
	JSONMerge      PatchType = "merge"     // custom resources
	ServerApply    PatchType = "apply"     // server-side apply: the patch is the new object
	Put            PatchType = "put"       // no patch: the new object takes the place of the live one
)

// Step is the action for one object, and the reason for it.
type Step struct {
	Item
	Action Action
	// Reason says why an object is kept or replaced, "" otherwise.
	Reason string
	// Patch is the JSON to send to the server, and Type its format. An Update has both; a
	// Create has them with server-side apply, and otherwise is sent as Object says. Steps
	// of [Between] have none.
	Patch []byte
	Type  PatchType
	// After is the object once the step is done: as computed here or, after a server-side
	// dry run, as the server answered. It is nil for an object that is deleted.
	After map[string]any
	// Force has server-side apply set fields that other managers have set otherwise.
	Force bool
	// Conflicts are the fields that other managers have set to other values, and
	// what becomes of them, sorted by path.
	Conflicts []Conflict
	// Displaced are fields of Live that server-side apply is to remove, whichever client set them:
	// before, the executor has to make the release their manager.
	Displaced []DisplacedField
	// Drifted is set where another client has changed fields of Live that the release
	// sets; see [Drift], which lists them.
	Drifted bool
}

// Plan is a change of a release's objects. Its steps are in the order in which they are
// to be executed, which is that of the items of [Compute].
type Plan struct {
	Steps []Step
	// ServerSide, Conflicts, Autoscaled, Searched and ForceReplace are those of the
	// [Options] that the plan was made with, for its execution. Autoscaled has the
	// autoscalers among the items too.
	ServerSide   bool
	Conflicts    Resolution
	Autoscaled   Autoscaled
	Searched     []string
	ForceReplace bool
}

// Changes returns the number of steps that write: all but Unchanged and Keep.
func (p *Plan) Changes() int {
	n := 0
	for _, s := range p.Steps {
		if s.Action != Unchanged && s.Action != Keep {
			n++
		}
	}
	return n
}
