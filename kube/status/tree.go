// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
)

// State is the state of a [Node].
type State string

// The states.
const (
	Ready       State = "ready"
	Completed   State = "completed"   // a Job, pod or container that has ended without an error
	Progressing State = "progressing" // not ready yet
	Failing     State = "failing"     // it has failed, or fails again and again
	Missing     State = "missing"     // an object of the release that does not exist
)

// OK reports whether nothing is wrong or awaited.
func (s State) OK() bool { return s == Ready || s == Completed }

// Node is an object of a release, an object that one of them owns, or a container of a pod, whose
// kind is Container or InitContainer.
type Node struct {
	APIVersion string     `json:"apiVersion,omitempty"`
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace,omitempty"`
	Name       string     `json:"name"`
	State      State      `json:"state"`
	Ready      string     `json:"ready,omitempty"`  // such as "2/3", of a kind that counts
	Reason     string     `json:"reason,omitempty"` // why it is not ready
	Restarts   int        `json:"restarts,omitempty"`
	Created    *time.Time `json:"created,omitempty"`
	Children   []*Node    `json:"children,omitempty"`

	object map[string]any
	parent *Node
}

// Tree is the state of a release's objects and of all that they own.
type Tree struct {
	// Objects are the objects of the release, in its order.
	Objects []*Node `json:"objects"`
	// Notes say what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Tree reads objects, and what the controllers have created for them by ownerReferences: down to
// pods and containers. It takes one list for each kind of these and each namespace, of at most
// 5,000 objects. Kinds that the user may not list are a note.
func (c *Reader) Tree(ctx context.Context, objects []*manifest.Object, namespace string) (*Tree, error) {
	targets, err := c.api.Targets(ctx, objects, namespace)
	var noKind *kube.NoMatchError
	if err != nil && !errors.As(err, &noKind) {
		return nil, err
	}
	live, err := c.api.ReadAll(ctx, targets, false)
	if err != nil {
		return nil, err
	}
	f := &family{byUID: map[string]*Node{}}
	for _, t := range targets {
		n := newNode(t.Resource.APIVersion, t.Kind, t.Namespace, t.Name, live[t])
		f.roots = append(f.roots, n)
		if uid := n.uid(); uid != "" {
			f.byUID[uid] = n
		}
	}
	if err := c.listDescendants(ctx, f); err != nil {
		return nil, err
	}
	f.connect()
	if noKind != nil {
		for _, name := range noKind.Objects {
			kind, name, _ := strings.Cut(name, "/")
			f.roots = append(f.roots, &Node{Kind: kind, Name: name, State: Missing, Reason: "the cluster has no such kind"})
		}
	}
	return &Tree{Objects: f.roots, Notes: f.notes}, nil
}

func newNode(apiVersion, kind, namespace, name string, object map[string]any) *Node {
	n := &Node{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, object: object}
	if object == nil {
		n.State, n.Reason = Missing, "does not exist"
		return n
	}
	if at, err := time.Parse(time.RFC3339, api.String(object, "metadata", "creationTimestamp")); err == nil {
		n.Created = &at
	}
	n.Ready = readyCount(n.is, object)
	switch r := wait.Check(object); {
	case r.Ready:
		n.State = Ready
	case r.Failed:
		n.State, n.Reason = Failing, r.Reason
	default:
		n.State, n.Reason = Progressing, r.Reason
	}
	switch {
	case n.is("batch", "Job") && n.State == Ready && !api.Bool(object, "spec", "suspend"):
		n.State = Completed
	case n.is("", "Pod"):
		n.addContainers()
	case n.is("discovery.k8s.io", "EndpointSlice"):
		n.setEndpoints()
	}
	return n
}

func (n *Node) is(group, kind string) bool {
	return n.Kind == kind && manifest.Group(n.APIVersion) == group
}

func (n *Node) uid() string { return api.String(n.object, "metadata", "uid") }

// readyCount returns how much of a workload is ready: "2/3".
func readyCount(is func(group, kind string) bool, o map[string]any) string {
	have, want := int64(0), int64(0)
	switch {
	case is("apps", "Deployment"), is("apps", "ReplicaSet"), is("apps", "StatefulSet"), is("", "ReplicationController"):
		have, want = api.Int(o, "status", "readyReplicas"), api.Replicas(o)
	case is("apps", "DaemonSet"):
		have, want = api.Int(o, "status", "numberReady"), api.Int(o, "status", "desiredNumberScheduled")
	case is("batch", "Job"):
		have, want = api.Int(o, "status", "succeeded"), 1
		if n, ok := api.Field(o, "spec", "completions").(int64); ok {
			want = n
		}
	default:
		return ""
	}
	return fmt.Sprintf("%d/%d", have, want)
}

// setEndpoints sets the state of an EndpointSlice: its addresses that are ready.
func (n *Node) setEndpoints() {
	list, _ := n.object["endpoints"].([]any)
	ready := 0
	for _, e := range list {
		endpoint, _ := e.(map[string]any)
		// The API's default is ready.
		if is, ok := api.Field(endpoint, "conditions", "ready").(bool); is || !ok {
			ready++
		}
	}
	n.Ready = fmt.Sprintf("%d/%d", ready, len(list))
	if ready == 0 {
		n.State, n.Reason = Progressing, "no endpoint is ready"
	}
}

// family is a tree that is being read.
type family struct {
	roots []*Node
	byUID map[string]*Node
	found []*Node // the descendants
	notes []string
}

// maxDepth is the maximum depth of a tree. Kubernetes' own controllers make trees of three.
const maxDepth = 16

// connect makes the descendants children of their owners.
func (f *family) connect() {
	for _, n := range f.found {
		if uid := n.uid(); uid != "" && f.byUID[uid] == nil {
			f.byUID[uid] = n
		}
	}
	for _, n := range f.found {
		if owner := f.owner(n); owner != nil && f.byUID[n.uid()] == n && n.mayBelow(owner) {
			n.parent = owner
			owner.Children = append(owner.Children, n)
		}
	}
	for _, n := range f.found {
		n.Children = slices.DeleteFunc(n.Children, (*Node).isOldSet)
	}
	for _, n := range f.roots {
		n.Children = slices.DeleteFunc(n.Children, (*Node).isOldSet)
		n.sort()
	}
}

// mayBelow reports whether n can be a child of owner without a cycle: the server's references are
// not trusted.
func (n *Node) mayBelow(owner *Node) bool {
	for depth := 0; owner != nil; owner = owner.parent {
		if depth++; owner == n || depth > maxDepth {
			return false
		}
	}
	return true
}

// owner returns the node that owns n, its controller if possible, or nil.
func (f *family) owner(n *Node) *Node {
	list, _ := api.Field(n.object, "metadata", "ownerReferences").([]any)
	var other *Node
	for _, r := range list {
		ref, _ := r.(map[string]any)
		owner := f.byUID[api.String(ref, "uid")]
		if owner != nil && api.Bool(ref, "controller") {
			return owner
		}
		other = cmp.Or(other, owner)
	}
	return other
}

// isOldSet reports whether n is a ReplicaSet of an earlier revision that has no pods.
func (n *Node) isOldSet() bool {
	return n.is("apps", "ReplicaSet") && len(n.Children) == 0 && api.Replicas(n.object) == 0
}

// sort orders children: the newest ReplicaSet first, else by kind and name.
func (n *Node) sort() {
	if n.Kind == "Pod" {
		return // containers are in the pod's order
	}
	slices.SortStableFunc(n.Children, func(a, b *Node) int {
		if a.Kind == "ReplicaSet" && b.Kind == "ReplicaSet" && a.Created != nil && b.Created != nil {
			return cmp.Or(b.Created.Compare(*a.Created), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for _, child := range n.Children {
		child.sort()
	}
}

// listDescendants lists the objects that those of the release may own.
func (c *Reader) listDescendants(ctx context.Context, f *family) error {
	lists := f.lists()
	found := make([][]*Node, len(lists))
	notes := make([]string, len(lists))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for i, l := range lists {
		group.Go(func() (err error) {
			found[i], notes[i], err = c.list(ctx, l)
			return err
		})
	}
	err := group.Wait()
	f.found = slices.Concat(found...)
	f.notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" })
	return err
}
