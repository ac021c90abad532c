// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Target is an object with its REST mapping.
type Target struct {
	Source    string
	Resource  *kube.Resource
	Kind      string
	Namespace string // "" for a cluster-scoped kind
	Name      string
	Object    map[string]any   // shared with the manifest: must not be modified
	From      *manifest.Object // the manifest: the object itself or the list that contains it
}

// Path returns the API path of the object. Without a name the path ends in a slash, which
// [kube.Client] rejects, so it is never the path of the collection.
func (t *Target) Path() string { return t.Resource.Path(t.Namespace, "") + "/" + t.Name }

// String returns the name of the object for messages.
func (t *Target) String() string { return kube.ObjectName(t.Kind, t.Namespace, t.Name) }

// Short returns the name for progress events, without the namespace, which is mostly the
// release's.
func (t *Target) Short() string { return t.Kind + "/" + t.Name }

// Fail wraps err in an [*kube.ObjectError]; it returns nil if err is nil.
func (t *Target) Fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &kube.ObjectError{Object: t.String(), Source: t.Source, Verb: verb, Err: err}
}

// Targets returns the targets of objects and of the items of lists. If the cluster does not
// serve some kinds, it returns a [*kube.NoMatchError] for all of them together with the other
// targets.
func (c Client) Targets(ctx context.Context, objects []*manifest.Object, namespace string) ([]*Target, error) {
	all, err := ParseTargets(objects)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if err := t.CheckName(); err != nil {
			return nil, err
		}
	}
	placed, missing, err := c.ResolveTargets(ctx, all, namespace)
	if err != nil || len(missing) == 0 {
		return placed, err
	}
	return placed, NoMatch(missing)
}

// ParseTargets returns the targets of objects without resources, see [Client.ResolveTargets].
func ParseTargets(objects []*manifest.Object) ([]*Target, error) {
	out := make([]*Target, 0, len(objects))
	for _, o := range objects {
		if o.Empty {
			continue
		}
		items, err := manifest.Flatten([]*manifest.Object{o})
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			m, err := item.Map()
			if err != nil {
				return nil, err
			}
			t := NewTarget(o.Source, m)
			t.From = o
			out = append(out, t)
		}
	}
	return out, nil
}

// ResolveTargets sets the resources and namespaces of targets. missing are those whose kinds
// the cluster does not serve.
func (c Client) ResolveTargets(ctx context.Context, all []*Target, namespace string) (placed, missing []*Target,
	err error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	var wanted []kube.Kind
	seen := map[kube.Kind]bool{}
	for _, t := range all {
		if key := t.Key(); !seen[key] {
			seen[key] = true
			wanted = append(wanted, key)
		}
	}
	found, err := c.Resolve(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range all {
		t.Resource = found[t.Key()]
		switch {
		case t.Resource == nil:
			missing = append(missing, t)
			continue
		case !t.Resource.Namespaced:
			t.Namespace = ""
		case t.Namespace == "":
			t.Namespace = namespace
		}
		placed = append(placed, t)
	}
	return placed, missing, nil
}

// ResolvePreferred sets the resources of targets whose API version the cluster does not serve to
// another version of the group. missing are those without one.
func (c Client) ResolvePreferred(targets []*Target, namespace string) (placed, missing []*Target) {
	for _, t := range targets {
		t.Resource = c.Preferred(manifest.Group(t.Key().APIVersion), t.Kind)
		if t.Resource == nil || t.Key().APIVersion == "" {
			missing = append(missing, t)
			continue
		}
		if !t.Resource.Namespaced {
			t.Namespace = ""
		} else if t.Namespace == "" {
			t.Namespace = namespace
		}
		placed = append(placed, t)
	}
	return placed, missing
}

// NoMatch returns the error for targets whose kinds the cluster does not serve.
func NoMatch(missing []*Target) *kube.NoMatchError {
	e := &kube.NoMatchError{}
	for _, t := range missing {
		what := fmt.Sprintf("%s in %s", orUnset(t.Kind, "kind"), orUnset(t.Key().APIVersion, "apiVersion"))
		if !slices.Contains(e.Missing, what) {
			e.Missing = append(e.Missing, what)
		}
		e.Objects, e.Sources = append(e.Objects, t.Short()), append(e.Sources, t.Source)
	}
	return e
}

func orUnset(s, field string) string {
	if s == "" {
		return "(" + field + " not set)"
	}
	return s
}

// NewTarget returns the target of an object in the file source, without its resource.
func NewTarget(source string, m map[string]any) *Target {
	meta, _ := m["metadata"].(map[string]any)
	t := &Target{Source: source, Object: m}
	t.Kind, _ = m["kind"].(string)
	t.Name, _ = meta["name"].(string)
	t.Namespace, _ = meta["namespace"].(string)
	return t
}

// Key returns the API version and kind in the object's manifest.
func (t *Target) Key() kube.Kind {
	apiVersion, _ := t.Object["apiVersion"].(string)
	return kube.Kind{APIVersion: apiVersion, Kind: t.Kind}
}

// CheckName returns an error if the object's name or namespace would change the API path of a
// request to another object or a collection. An object with a generateName may have no name.
func (t *Target) CheckName() error {
	meta, _ := t.Object["metadata"].(map[string]any)
	generated, _ := meta["generateName"].(string)
	if v, ok := meta["name"]; ok && t.Name == "" {
		return t.misplaced("name", fmt.Sprintf("must be a non-empty string, not %v", v))
	}
	if t.Name == "" && generated == "" && t.Kind != "" {
		return t.misplaced("name", "is missing")
	}
	for field, s := range map[string]string{"name": t.Name, "namespace": t.Namespace} {
		if s == "." || s == ".." || strings.ContainsAny(s, "/%") {
			return t.misplaced(field, fmt.Sprintf("is %q, which is not a valid name", s))
		}
	}
	return nil
}

// misplaced returns the error about a field of the metadata.
func (t *Target) misplaced(field, problem string) error {
	return t.Fail("place", &metadataError{field: "metadata." + field, problem: problem, from: t.From})
}

// metadataError is an error about a field of an object's metadata.
type metadataError struct {
	field, problem string
	from           *manifest.Object // nil if it is not known
}

func (e *metadataError) Error() string { return e.field + " " + e.problem }

// Field returns the field and its object.
func (e *metadataError) Field() (o *manifest.Object, field string) { return e.from, e.field }

// Body returns the JSON of [Target.Labeled].
func (t *Target) Body(owner kube.Owner) ([]byte, error) {
	text, err := json.Marshal(t.Labeled(owner))
	return text, t.Fail("encode", err)
}

// Labeled returns the object as it is sent to the server: with its namespace, without
// annotations that Kubernetes would reject, and, if owner has a release, with the ownership
// labels.
func (t *Target) Labeled(owner kube.Owner) map[string]any {
	object := maps.Clone(t.Object)
	meta, _ := object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	object["metadata"] = meta
	if t.Namespace != "" {
		meta["namespace"] = t.Namespace
	}
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		meta["annotations"] = dropInvalidKeys(annotations)
	}
	if owner.Release != "" {
		meta["labels"] = WithPairs(meta["labels"], release.ManagedByLabel, release.ManagedByHelm)
		meta["annotations"] = WithPairs(meta["annotations"],
			release.NameAnnotation, owner.Release, release.NamespaceAnnotation, owner.Namespace)
	}
	return object
}

// dropInvalidKeys removes keys with two slashes, such as helm.sh/depends-on/..., which are
// instructions to Moonhelm and not valid in Kubernetes.
func dropInvalidKeys(annotations map[string]any) map[string]any {
	isInvalid := func(key string, _ any) bool { return strings.Count(key, "/") > 1 }
	for key := range annotations {
		if isInvalid(key, nil) {
			annotations = maps.Clone(annotations)
			maps.DeleteFunc(annotations, isInvalid)
			break
		}
	}
	return annotations
}

// WithPairs returns a copy of the map m, or a new one, with the given pairs set.
func WithPairs(m any, pairs ...string) any {
	old, ok := m.(map[string]any)
	if !ok && m != nil {
		return m // not a map: the server's error names the field
	}
	out := make(map[string]any, len(old)+len(pairs)/2)
	maps.Copy(out, old)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// Filter returns the targets that are wanted.
func Filter(targets []*Target, wanted func(*Target) bool) []*Target {
	var out []*Target
	for _, t := range targets {
		if wanted(t) {
			out = append(out, t)
		}
	}
	return out
}

// Served returns the targets whose kinds the cluster serves, and warns about the others: when
// a CRD is deleted, so are its objects.
func (c Client) Served(ctx context.Context, objects []*manifest.Object, namespace string) ([]*Target, error) {
	targets, err := c.Targets(ctx, objects, namespace)
	var gone *kube.NoMatchError
	if !errors.As(err, &gone) {
		return targets, err
	}
	c.WarnNotServed(gone)
	return targets, nil
}

// WarnNotServed sends a warning that objects do not exist because their kinds are not served.
func (c Client) WarnNotServed(e *kube.NoMatchError) {
	c.Progress().Send(progress.Event{Kind: progress.Warning, Text: "the cluster has no " +
		strings.Join(e.Missing, ", no ") +
		" any more, and so none of " + strings.Join(e.Objects, ", ")})
}

// Single returns the target of o, which must be a single object and not a list.
func (c Client) Single(ctx context.Context, o *manifest.Object, namespace string) (*Target, error) {
	targets, err := c.Targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return nil, err
	}
	if len(targets) != 1 {
		return nil, fmt.Errorf("%s contains %d objects, want one", o, len(targets))
	}
	return targets[0], nil
}

// InNamespace returns a copy of t in another namespace.
func (t *Target) InNamespace(namespace string) *Target {
	if t.Namespace == namespace {
		return t
	}
	m := *t
	m.Namespace = namespace
	return &m
}

// Ref returns the reference that plans use.
func (t *Target) Ref() plan.Ref {
	return plan.Ref{APIVersion: t.Resource.APIVersion, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
}
