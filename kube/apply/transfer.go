// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// A FoundObject is an object with its place in the cluster and its live state.
type FoundObject struct {
	plan.Ref
	// Object is the manifest by which it was found, or nil.
	Object *manifest.Object
	// Live is the live object with its managed fields, or nil if it does not exist.
	Live map[string]any
	UID  string
	// Ownership is the ownership metadata of Live.
	Ownership release.Ownership
}

// Controller returns the kind and name of the controller of the live object, or "".
func (f *FoundObject) Controller() string {
	meta, _ := f.Live["metadata"].(map[string]any)
	owners, _ := meta["ownerReferences"].([]any)
	for _, o := range owners {
		if m, _ := o.(map[string]any); m["controller"] == true {
			return fmt.Sprintf("%v/%v", m["kind"], m["name"])
		}
	}
	return ""
}

// Terminating reports whether the object is being deleted.
func (f *FoundObject) Terminating() bool {
	return api.String(f.Live, "metadata", "deletionTimestamp") != ""
}

func found(t *api.Target, live map[string]any) *FoundObject {
	f := &FoundObject{Ref: t.Ref(), Object: t.From, Live: live}
	if live != nil {
		m := api.MetadataOf(live)
		f.UID, f.Ownership = m.UID, m.Ownership()
	}
	return f
}

// Find reads the live state of objects, in their order; those without a namespace are in the given
// one. Objects whose kinds the cluster does not serve are reported and left out, and so are those
// without a name.
func (c *Applier) Find(ctx context.Context, objects []*manifest.Object, namespace string) ([]*FoundObject, error) {
	targets, err := c.api.Served(ctx, objects, namespace)
	if err != nil {
		return nil, err
	}
	targets = api.Filter(targets, func(t *api.Target) bool { return t.Name != "" })
	live, err := c.api.ReadAll(ctx, targets, true)
	if err != nil {
		return nil, err
	}
	out := make([]*FoundObject, len(targets))
	for i, t := range targets {
		out[i] = found(t, live[t])
	}
	return out, nil
}

// FindNamed reads the live state of the object of a kind, as [kube.Client.FindKind] takes it, in a
// namespace. Live is nil if it does not exist.
func (c *Applier) FindNamed(ctx context.Context, kind, namespace, name string) (*FoundObject, error) {
	r, err := c.api.FindKind(ctx, kind)
	if err != nil {
		return nil, err
	}
	t := newNamedTarget(r, namespace, name)
	if err := t.CheckName(); err != nil {
		return nil, err
	}
	live, err := c.api.Read(ctx, t, true)
	if err != nil {
		return nil, err
	}
	return found(t, live), nil
}

func newNamedTarget(r *kube.Resource, namespace, name string) *api.Target {
	if !r.Namespaced {
		namespace = ""
	}
	t := api.NewTarget("", map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind,
		"metadata": map[string]any{"name": name, "namespace": namespace}})
	t.Resource, t.Namespace = r, namespace
	return t
}

// FindSelected reads the objects of a kind in a namespace that a label selector selects. Objects
// with a controller are left out.
func (c *Applier) FindSelected(ctx context.Context, kind, namespace, selector string) ([]*FoundObject, error) {
	r, err := c.api.FindKind(ctx, kind)
	if err != nil {
		return nil, err
	}
	if !r.Namespaced {
		namespace = ""
	}
	query := url.Values{"limit": {strconv.Itoa(api.ListPage)}, "labelSelector": {selector}}
	var out []*FoundObject
	for {
		body, err := c.api.Call(ctx, http.MethodGet, r.Path(namespace, ""), query, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.Plural, err)
		}
		items, next, err := api.DecodeList(body, true)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.Plural, err)
		}
		for _, live := range items {
			live["apiVersion"], live["kind"] = r.APIVersion, r.Kind
			t := newNamedTarget(r, api.String(live, "metadata", "namespace"), api.String(live, "metadata", "name"))
			if f := found(t, live); f.Controller() == "" {
				out = append(out, f)
			}
		}
		if next == "" {
			return out, nil
		}
		query.Set("continue", next)
	}
}

// FindNames returns the names of the objects of a kind in a namespace, of at most one page.
func (c *Applier) FindNames(ctx context.Context, kind, namespace string) ([]string, error) {
	r, err := c.api.FindKind(ctx, kind)
	if err != nil {
		return nil, err
	}
	if !r.Namespaced {
		namespace = ""
	}
	body, err := c.api.Call(ctx, http.MethodGet, r.Path(namespace, ""), url.Values{"limit": {strconv.Itoa(api.ListPage)}},
		http.Header{"Accept": {api.AcceptMetaList}}, nil)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.Plural, err)
	}
	items, _, err := api.DecodeList(body, false)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.Plural, err)
	}
	out := make([]string, len(items))
	for i, live := range items {
		out[i] = api.String(live, "metadata", "name")
	}
	return out, nil
}

// An OwnershipChange changes the ownership metadata of an object.
type OwnershipChange struct {
	plan.Ref
	// UID is that of the object: another object of the name is left alone.
	UID string
	// From is the metadata that the object must have, unless it has To already.
	From, To release.Ownership
	// SkipOthers leaves the object alone if it has other metadata, instead of failing.
	SkipOthers bool
}

// An OwnershipError is returned if the ownership metadata of an object is neither the old nor the
// new one of an [OwnershipChange], because another client has changed it.
type OwnershipError struct {
	Object string
	Is     release.Ownership
}

func (e *OwnershipError) Error() string {
	if e.Is.Release != "" {
		return fmt.Sprintf("%s belongs to release %q in namespace %q now", e.Object, e.Is.Release, e.Is.Namespace)
	}
	return fmt.Sprintf("another client has changed the ownership metadata of %s", e.Object)
}

// ChangeOwnership makes changes, several at once, and nothing else of the objects. Objects that do
// not exist any more are skipped. A change that was made already is not made again. The error is
// that of the first change that fails, a [*kube.ObjectError] or an [*OwnershipError]; changes that
// have begun are finished.
func (c *Applier) ChangeOwnership(ctx context.Context, changes []OwnershipChange) error {
	targets := make([]*api.Target, len(changes))
	for i, ch := range changes {
		targets[i] = api.NewTarget("", map[string]any{"apiVersion": ch.APIVersion, "kind": ch.Kind,
			"metadata": map[string]any{"name": ch.Name, "namespace": ch.Namespace}})
		if ch.Name == "" {
			return fmt.Errorf("change the owner of a %s without a name", ch.Kind)
		}
		if err := targets[i].CheckName(); ch.Namespace != "" && err != nil {
			return err
		}
	}
	if _, _, err := c.api.ResolveTargets(ctx, targets, ""); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(parallelChanges)
	for i, t := range targets {
		if t.Resource == nil {
			continue // without the kind there are no objects of it
		}
		group.Go(func() error { return t.Fail("change the owner of", c.changeOwnership(ctx, t, changes[i])) })
	}
	return group.Wait()
}

const parallelChanges = 8

func (c *Applier) changeOwnership(ctx context.Context, t *api.Target, ch OwnershipChange) error {
	for tries := 1; ; tries++ {
		m, err := c.api.Metadata(ctx, t)
		if err != nil {
			return err
		}
		if m == nil || m.UID != ch.UID {
			return nil
		}
		is := m.Ownership()
		if is == ch.To || ch.SkipOthers && is != ch.From {
			return nil
		}
		if is != ch.From {
			return &OwnershipError{Object: t.String(), Is: is}
		}
		body, err := json.Marshal(ownershipPatch(ch, m.ResourceVersion))
		if err != nil {
			return err
		}
		_, err = c.api.Call(ctx, http.MethodPatch, t.Path(), url.Values{"fieldManager": {kube.FieldManager}},
			metadataOnly("application/merge-patch+json"), body)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case apierrors.IsConflict(err) && tries < maxPutAttempts:
			continue // its status has changed, or the response of the first attempt was lost
		case err == nil:
			c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: t.Short()})
		}
		return err
	}
}

// ownershipPatch returns the merge patch of a change to the state version of an object.
func ownershipPatch(ch OwnershipChange, version string) map[string]any {
	meta := map[string]any{"uid": ch.UID, "resourceVersion": version}
	set := func(field, key, from, to string) {
		if from == to {
			return
		}
		m, _ := meta[field].(map[string]any)
		if m == nil {
			m = map[string]any{}
			meta[field] = m
		}
		if m[key] = to; to == "" {
			m[key] = nil
		}
	}
	set("labels", release.ManagedByLabel, ch.From.ManagedBy, ch.To.ManagedBy)
	set("annotations", release.NameAnnotation, ch.From.Release, ch.To.Release)
	set("annotations", release.NamespaceAnnotation, ch.From.Namespace, ch.To.Namespace)
	return map[string]any{"metadata": meta}
}
