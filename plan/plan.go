// SPDX-License-Identifier: Apache-2.0

// Package plan computes what it takes to make objects of a cluster what a
// release says they shall be: for each object what was, what is and what shall
// be come in, and an action with its patch comes out.
//
// It is pure: whoever calls it reads the objects and executes the plan. The
// default is the three-way merge of document 004: what the old manifests said,
// what the object is, what the new manifest says.
package plan

import "github.com/moonhelm/moonhelm/manifest"

// Action says what becomes of an object.
type Action string

// The actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Replace   Action = "replace" // deleted and created again, as its annotation or a flag asks
	Delete    Action = "delete"
	Unchanged Action = "unchanged"
	Keep      Action = "keep" // is in the release no more, and stays: its policy, or somebody else's
)

// Ref names an object in a cluster.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"` // "" for kinds of the whole cluster
	Name       string `json:"name"`
}

// String names the object as people do: "Deployment/web".
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// Item is one object's part in a change. Its maps are shared and never changed.
type Item struct {
	Ref
	// Source is the template that the object comes from, "" where not known.
	Source string
	// Old is what the revisions that may have been applied say, oldest first;
	// none for an object that they do not have.
	Old []map[string]any
	// Live is the object as it is, nil where it is not there.
	Live map[string]any
	// New is what it shall be, nil where it shall not be.
	New map[string]any
	// Object is the new object as rendered, nil where New is.
	Object *manifest.Object
	// Former is the old object as it was rendered, where two manifests are compared
	// ([Between]) and the old one has it.
	Former *manifest.Object
}

// PatchType says how a patch is written.
type PatchType string

// The types of patches.
const (
	StrategicMerge PatchType = "strategic" // kinds that Kubernetes is built with
	JSONMerge      PatchType = "merge"     // custom resources
	ServerApply    PatchType = "apply"     // server-side apply: the patch is the new object
	Put            PatchType = "put"       // no patch: the new object takes the place of the live one
)

// Step is what becomes of one object, and why.
type Step struct {
	Item
	Action Action
	// Reason says why an object is kept or replaced, "" where there is nothing
	// to say.
	Reason string
	// Patch changes Live into After, for Update: what is sent to the server.
	Patch []byte
	Type  PatchType
	// After is the object as it will be: as computed here, or as the server
	// foretold it. nil where it will not be there.
	After map[string]any
	// Force has server-side apply set fields that other managers have set otherwise.
	Force bool
	// Conflicts are the fields that other managers have set to other values, and
	// what becomes of them, sorted by path.
	Conflicts []Conflict
	// Displaced are fields of Live that server-side apply is to remove, no matter who
	// set them: their manager has to become the release's before.
	Displaced []Displaced
	// Drifted tells that Live is not what Old says, nor in part what one of them
	// says and in part what another: another client has changed fields that the
	// release sets.
	Drifted bool
}

// Plan is a change of a release's objects. Steps that write new objects come
// first, in the order in which they are applied; what is deleted comes last, in
// the order of its deletion.
type Plan struct {
	Steps []Step
	// ServerSide, Conflicts, Autoscaled, Searched and ForceReplace are how the steps are executed.
	ServerSide   bool
	Conflicts    Resolution
	Autoscaled   Autoscaled
	Searched     []string
	ForceReplace bool
}

// Changes counts the steps that write.
func (p *Plan) Changes() int {
	n := 0
	for _, s := range p.Steps {
		if s.Action != Unchanged && s.Action != Keep {
			n++
		}
	}
	return n
}
