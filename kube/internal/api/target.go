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
)

// The marks that say whose an object is.
const (
	LabelManagedBy      = "app.kubernetes.io/managed-by"
	ManagedBy           = "Helm"
	AnnotationRelease   = "meta.helm.sh/release-name"
	AnnotationNamespace = "meta.helm.sh/release-namespace"
)

// Target is one object with its place in the cluster.
type Target struct {
	Source    string
	Resource  *kube.Resource
	Kind      string
	Namespace string // "" for kinds of the whole cluster
	Name      string
	Object    map[string]any   // shared with the manifest: not to be changed
	From      *manifest.Object // what it was read from: itself, or a list with it
}

// Path is the object's own. Without a name it ends in a slash, which no request
// may: it never becomes the path of all objects of the kind.
func (t *Target) Path() string { return t.Resource.Path(t.Namespace, "") + "/" + t.Name }

// String names the object in messages.
func (t *Target) String() string { return kube.ObjectName(t.Kind, t.Namespace, t.Name) }

// Short names the object in progress: its namespace is the release's mostly.
func (t *Target) Short() string { return t.Kind + "/" + t.Name }

// Fail makes an [*kube.ObjectError] of err; nil of nil.
func (t *Target) Fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &kube.ObjectError{Object: t.String(), Source: t.Source, Verb: verb, Err: err}
}

// Targets finds the place of each object; the items of lists count as objects.
// Kinds that the cluster does not serve are one [*kube.NoMatchError] for all, together
// with the targets that were found.
func (c Client) Targets(ctx context.Context, objects []*manifest.Object, namespace string) ([]*Target, error) {
	all, err := Unplaced(objects)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if err := t.CheckName(); err != nil {
			return nil, err
		}
	}
	placed, missing, err := c.Place(ctx, all, namespace)
	if err != nil || len(missing) == 0 {
		return placed, err
	}
	return placed, NoMatch(missing)
}

// Unplaced are the targets of objects, before anybody knows where they live.
func Unplaced(objects []*manifest.Object) ([]*Target, error) {
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

// Place finds out where targets live; missing are those of kinds that the
// cluster does not serve.
func (c Client) Place(ctx context.Context, all []*Target, namespace string) (placed, missing []*Target, err error) {
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

// Elsewhere finds targets that the cluster does not serve in the version they
// ask for under another version of their group; missing are the others.
func (c Client) Elsewhere(targets []*Target, namespace string) (placed, missing []*Target) {
	for _, t := range targets {
		t.Resource = c.Preferred(kube.GroupOf(t.Key().APIVersion), t.Kind)
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

// NoMatch is the error of targets whose kinds the cluster does not serve.
func NoMatch(missing []*Target) *kube.NoMatchError {
	e := &kube.NoMatchError{}
	for _, t := range missing {
		what := fmt.Sprintf("%s in %s", orUnset(t.Kind, "kind"), orUnset(t.Key().APIVersion, "apiVersion"))
		if !slices.Contains(e.Missing, what) {
			e.Missing = append(e.Missing, what)
		}
		e.Objects = append(e.Objects, t.Short())
	}
	return e
}

func orUnset(s, field string) string {
	if s == "" {
		return "(" + field + " not set)"
	}
	return s
}

// NewTarget is the target of an object that was read from source, without its place.
func NewTarget(source string, m map[string]any) *Target {
	meta, _ := m["metadata"].(map[string]any)
	t := &Target{Source: source, Object: m}
	t.Kind, _ = m["kind"].(string)
	t.Name, _ = meta["name"].(string)
	t.Namespace, _ = meta["namespace"].(string)
	return t
}

// Key is the version and the kind that the object asks for.
func (t *Target) Key() kube.Kind {
	apiVersion, _ := t.Object["apiVersion"].(string)
	return kube.Kind{APIVersion: apiVersion, Kind: t.Kind}
}

// CheckName refuses names that would lead to another place in the API: a name
// that is missing makes the path of all objects of the kind. An object with a
// generateName has no name before it is created, and is in no list of what
// exists.
func (t *Target) CheckName() error {
	meta, _ := t.Object["metadata"].(map[string]any)
	generated, _ := meta["generateName"].(string)
	if v, ok := meta["name"]; ok && t.Name == "" {
		return t.Fail("place", fmt.Errorf("metadata.name must be a text in quotes, it is %v", v))
	}
	if t.Name == "" && generated == "" && t.Kind != "" {
		return t.Fail("place", errors.New("metadata.name is missing"))
	}
	for field, s := range map[string]string{"name": t.Name, "namespace": t.Namespace} {
		if s == "." || s == ".." || strings.ContainsAny(s, "/%") {
			return t.Fail("place", fmt.Errorf("metadata.%s is %q, which is not a name: it leads to another place", field, s))
		}
	}
	return nil
}

// Body is the JSON of marked.
func (t *Target) Body(owner kube.Owner) ([]byte, error) {
	text, err := json.Marshal(t.Marked(owner))
	return text, t.Fail("encode", err)
}

// Marked is the object as it is sent: with its namespace, without annotations
// that Kubernetes would refuse, and, where owner names a release, with the
// release's marks.
func (t *Target) Marked(owner kube.Owner) map[string]any {
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
		meta["annotations"] = sendable(annotations)
	}
	if owner.Release != "" {
		meta["labels"] = WithPairs(meta["labels"], LabelManagedBy, ManagedBy)
		meta["annotations"] = WithPairs(meta["annotations"], AnnotationRelease, owner.Release, AnnotationNamespace,
			owner.Namespace)
	}
	return object
}

// sendable leaves out keys with two slashes, such as those of
// helm.sh/depends-on/..., which speak to us and are not names in Kubernetes.
func sendable(annotations map[string]any) map[string]any {
	ours := func(key string, _ any) bool { return strings.Count(key, "/") > 1 }
	for key := range annotations {
		if ours(key, nil) {
			annotations = maps.Clone(annotations)
			maps.DeleteFunc(annotations, ours)
			break
		}
	}
	return annotations
}

// WithPairs returns a copy of the map m, or a new one, with the given pairs set.
func WithPairs(m any, pairs ...string) any {
	old, ok := m.(map[string]any)
	if !ok && m != nil {
		return m // not a map: the server says so better than we could
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

// Existing are the targets whose kinds the cluster serves: an object of a kind
// that is gone is gone with it.
func (c Client) Existing(ctx context.Context, objects []*manifest.Object, namespace string) ([]*Target, error) {
	targets, err := c.Targets(ctx, objects, namespace)
	var gone *kube.NoMatchError
	if !errors.As(err, &gone) {
		return targets, err
	}
	c.ReportGone(gone)
	return targets, nil
}

// ReportGone reports that objects are gone with their kinds.
func (c Client) ReportGone(e *kube.NoMatchError) {
	c.Progress().Send(progress.Event{Kind: progress.Warning, Text: "the cluster has no " +
		strings.Join(e.Missing, ", no ") +
		" any more, and so none of " + strings.Join(e.Objects, ", ")})
}

// Single is the target of o, which must be a single object and no list: what is true
// of a list as a whole, such as its name or its kind, is not true of its items.
func (c Client) Single(ctx context.Context, o *manifest.Object, namespace string) (*Target, error) {
	targets, err := c.Targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return nil, err
	}
	if len(targets) != 1 {
		return nil, fmt.Errorf("%s holds %d objects, not one", o, len(targets))
	}
	return targets[0], nil
}

// Moved is t in a namespace.
func (t *Target) Moved(namespace string) *Target {
	if t.Namespace == namespace {
		return t
	}
	m := *t
	m.Namespace = namespace
	return &m
}

// Ref names the target as plans do.
func (t *Target) Ref() plan.Ref {
	return plan.Ref{APIVersion: t.Resource.APIVersion, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
}
