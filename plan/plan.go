// SPDX-License-Identifier: Apache-2.0

// Package plan computes the changes that bring the live objects of a release to the state of
// its manifest. [Compute] takes an [Item] for each object (the old manifests, the live object,
// the new manifest) and returns a [Plan], which has a [Step] for each object: an action and,
// for an update, its patch.
//
//	want, err := object.Map() // a *manifest.Object
//	...
//	p, err := plan.Compute([]plan.Item{{
//		Ref:  plan.Ref{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: "shop", Name: object.Name},
//		Old:  []map[string]any{old}, // of the deployed revision
//		Live: live,                  // as the API server returns it
//		New:  want, Object: object,
//	}}, plan.Options{})
//	...
//	for _, step := range p.Steps {
//		fmt.Println(step.Action, step.Ref, string(step.Patch))
//	}
//
// The default is a three-way merge, like that of kubectl and Helm 3: it removes fields that
// the new manifest does not contain any more, sets those that it changes, and keeps fields
// that no manifest has set. With [Options.ServerSide] the API server merges, and the plan
// contains the conflicts with other field managers ([Conflict]). [Compare] compares two
// manifests without a cluster, [Sequence] divides objects into batches if charts ask for an
// order, [FindDrift] finds changes by other clients, and [Restore] has Compute undo them.
//
// Objects are maps as [manifest.Object.Map] returns them, with int64 for whole numbers.
// [Compute] returns an [*Error] for an object that cannot be merged, and [Sequence] a
// [*CycleError] for a cyclic order.
//
// The package does not access a cluster: package kube/apply reads the objects and executes the
// plan. Its functions are safe for concurrent use. They do not change the maps passed in, and
// the maps of a plan share parts with them: treat both as read-only.
package plan

import "github.com/moonhelm/moonhelm/manifest"

// An Action is the change that a step makes to an object.
type Action string

// The actions. [Compute] returns Create, Update, Delete, Unchanged and Keep. The executor sets
// Replace if an object cannot be updated (see [Replaceable]).
const (
	Create    Action = "create"
	Update    Action = "update"
	Replace   Action = "replace" // deleted and created again, as its annotation or a flag allows
	Delete    Action = "delete"
	Unchanged Action = "unchanged"
	Keep      Action = "keep" // removed from the release but not deleted: because of its policy or its owner
)

// A Ref identifies an object in a cluster.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"` // "" for cluster-scoped kinds
	Name       string `json:"name"`
}

// String returns kind and name: "Deployment/web".
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// Identity returns r with its API group in place of group and version: what references to one
// object in different versions have in common. The result is for comparing and for keys of maps:
// it is not a reference, and has no Identity of its own.
func (r Ref) Identity() Ref {
	r.APIVersion = manifest.Group(r.APIVersion)
	return r
}

// An Item is one object of a change, in the three states that a merge needs. Neither this
// package nor users of the plan may change its maps.
type Item struct {
	Ref
	// Source is the template of the object, or "" if it is not known.
	Source string
	// Old are the object's manifests in the revisions that may have been applied, oldest
	// first: the last deployed revision and the failed ones after it. It is empty for a
	// new object.
	Old []map[string]any
	// Live is the live object, or nil if it does not exist.
	Live map[string]any
	// New is the object in the new manifest, or nil if it is to be deleted.
	New map[string]any
	// Object is the new object as rendered, for the source of errors; nil if New is.
	Object *manifest.Object
	// Former is the old object as rendered, if two manifests are compared ([Compare]) and
	// the old one has it.
	Former *manifest.Object
	// Remove are fields of Live that the step removes although other clients have set them, for
	// server-side apply ([Restore]). A merge here finds them in Old.
	Remove []DisplacedField
}

// A PatchType is the format of [Step.Patch].
type PatchType string

// The types of patches.
const (
	StrategicMerge PatchType = "strategic" // for built-in kinds
	JSONMerge      PatchType = "merge"     // for custom resources
	ServerApply    PatchType = "apply"     // server-side apply: the patch is the new object
	Put            PatchType = "put"       // no patch: the new object replaces the live one
)

// A Step is the action for one object.
type Step struct {
	Item
	Action Action
	// Reason is the reason why an object is kept or replaced, or "".
	Reason string
	// Patch is the JSON to send to the server, and Type its format. An Update has both; a
	// Create has them with server-side apply, and otherwise creates Object. Steps of
	// [Compare] have none.
	Patch []byte
	Type  PatchType
	// After is the object after the step: computed or, after a server-side dry run, as the
	// server returned it. It is nil for an object that is deleted.
	After map[string]any
	// Force has server-side apply take over fields in conflict.
	Force bool
	// Conflicts are the fields that other managers have set to other values, with their
	// resolutions, sorted by path.
	Conflicts []Conflict
	// Displaced are fields of Live that server-side apply is to remove, whichever client
	// has set them: the executor must first make the release their manager.
	Displaced []DisplacedField
	// Moved says what the object was called in earlier revisions, or is called now if it keeps its
	// name or is deleted; nil if "moved" in Chart.yaml is not about it. [Compute] does not set it.
	Moved *MovedObject
	// Existed says of a Create between recorded revisions that the object existed before it became the
	// release's. [Compute] does not set it.
	Existed bool
	// Drifted is set if another client has changed fields of Live that the release sets;
	// see [Drift], which lists them.
	Drifted bool
	// Computed is the step before a dry run of the API server has replaced it with its result; nil
	// without a dry run.
	Computed *Step
}

// A Plan is a change of a release's objects. Its steps are in the order of execution, which is
// the order of the items of [Compute].
type Plan struct {
	Steps []Step
	// ServerSide, Conflicts, Autoscaled, Searched and ForceReplace are those of the
	// [Options] of [Compute], for the execution. Autoscaled includes the autoscalers among
	// the items.
	ServerSide   bool
	Conflicts    Resolution
	Autoscaled   Autoscaled
	Searched     []string
	ForceReplace bool
	// Exact has the executor do what the steps say or nothing: where it would otherwise take account
	// of what another client has changed meanwhile, it returns an error. The zero value takes
	// account of it.
	Exact bool
	// Cascade is the propagation policy of deletions, as package kube/apply names them; "" is
	// background.
	Cascade string
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
