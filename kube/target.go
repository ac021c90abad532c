// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// The marks that say whose an object is.
const (
	labelManagedBy      = "app.kubernetes.io/managed-by"
	managedBy           = "Helm"
	annotationRelease   = "meta.helm.sh/release-name"
	annotationNamespace = "meta.helm.sh/release-namespace"
)

// target is one object with its place in the cluster.
type target struct {
	source    string
	res       *resource
	kind      string
	namespace string // "" for kinds of the whole cluster
	name      string
	object    map[string]any   // shared with the manifest: not to be changed
	from      *manifest.Object // what it was read from: itself, or a list with it
}

// path is the object's own. Without a name it ends in a slash, which no request
// may: it never becomes the path of all objects of the kind.
func (t *target) path() string { return t.res.path(t.namespace, "") + "/" + t.name }

// String names the object in messages.
func (t *target) String() string { return label(t.kind, t.namespace, t.name) }

// short names the object in progress: its namespace is the release's mostly.
func (t *target) short() string { return t.kind + "/" + t.name }

func (t *target) fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &ObjectError{Object: t.String(), Source: t.source, Verb: verb, Err: err}
}

// targets finds the place of each object; the items of lists count as objects.
// Kinds that the cluster does not serve are one [*NoMatchError] for all, together
// with the targets that were found.
func (c *Client) targets(ctx context.Context, objects []*manifest.Object, namespace string) ([]*target, error) {
	all, err := unplaced(objects)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if err := t.checkName(); err != nil {
			return nil, err
		}
	}
	placed, missing, err := c.place(ctx, all, namespace)
	if err != nil || len(missing) == 0 {
		return placed, err
	}
	return placed, noKind(missing)
}

// unplaced are the targets of objects, before anybody knows where they live.
func unplaced(objects []*manifest.Object) ([]*target, error) {
	out := make([]*target, 0, len(objects))
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
			t := newTarget(o.Source, m)
			t.from = o
			out = append(out, t)
		}
	}
	return out, nil
}

// place finds out where targets live; missing are those of kinds that the
// cluster does not serve.
func (c *Client) place(ctx context.Context, all []*target, namespace string) (placed, missing []*target, err error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	var wanted []kindKey
	seen := map[kindKey]bool{}
	for _, t := range all {
		if key := t.key(); !seen[key] {
			seen[key] = true
			wanted = append(wanted, key)
		}
	}
	found, err := c.resolve(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range all {
		t.res = found[t.key()]
		switch {
		case t.res == nil:
			missing = append(missing, t)
			continue
		case !t.res.Namespaced:
			t.namespace = ""
		case t.namespace == "":
			t.namespace = namespace
		}
		placed = append(placed, t)
	}
	return placed, missing, nil
}

// elsewhere finds targets that the cluster does not serve in the version they
// ask for under another version of their group; missing are the others.
func (c *Client) elsewhere(targets []*target, namespace string) (placed, missing []*target) {
	for _, t := range targets {
		t.res = c.preferred(groupOf(t.key().apiVersion), t.kind)
		if t.res == nil || t.key().apiVersion == "" {
			missing = append(missing, t)
			continue
		}
		if !t.res.Namespaced {
			t.namespace = ""
		} else if t.namespace == "" {
			t.namespace = namespace
		}
		placed = append(placed, t)
	}
	return placed, missing
}

func noKind(missing []*target) *NoMatchError {
	e := &NoMatchError{}
	for _, t := range missing {
		what := fmt.Sprintf("%s in %s", orUnset(t.kind, "kind"), orUnset(t.key().apiVersion, "apiVersion"))
		if !slices.Contains(e.Missing, what) {
			e.Missing = append(e.Missing, what)
		}
		e.Objects = append(e.Objects, t.short())
	}
	return e
}

func orUnset(s, field string) string {
	if s == "" {
		return "(" + field + " not set)"
	}
	return s
}

func newTarget(source string, m map[string]any) *target {
	meta, _ := m["metadata"].(map[string]any)
	t := &target{source: source, object: m}
	t.kind, _ = m["kind"].(string)
	t.name, _ = meta["name"].(string)
	t.namespace, _ = meta["namespace"].(string)
	return t
}

// key is the version and the kind that the object asks for.
func (t *target) key() kindKey {
	apiVersion, _ := t.object["apiVersion"].(string)
	return kindKey{apiVersion, t.kind}
}

// checkName refuses names that would lead to another place in the API: a name
// that is missing makes the path of all objects of the kind. An object with a
// generateName has no name before it is created, and is in no list of what
// exists.
func (t *target) checkName() error {
	meta, _ := t.object["metadata"].(map[string]any)
	generated, _ := meta["generateName"].(string)
	if v, ok := meta["name"]; ok && t.name == "" {
		return t.fail("place", fmt.Errorf("metadata.name must be a text in quotes, it is %v", v))
	}
	if t.name == "" && generated == "" && t.kind != "" {
		return t.fail("place", errors.New("metadata.name is missing"))
	}
	for field, s := range map[string]string{"name": t.name, "namespace": t.namespace} {
		if s == "." || s == ".." || strings.ContainsAny(s, "/%") {
			return t.fail("place", fmt.Errorf("metadata.%s is %q, which is not a name: it leads to another place", field, s))
		}
	}
	return nil
}

// body is the JSON of marked.
func (t *target) body(owner Owner) ([]byte, error) {
	text, err := json.Marshal(t.marked(owner))
	return text, t.fail("encode", err)
}

// marked is the object as it is sent: with its namespace, without annotations
// that Kubernetes would refuse, and, where owner names a release, with the
// release's marks.
func (t *target) marked(owner Owner) map[string]any {
	object := maps.Clone(t.object)
	meta, _ := object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	object["metadata"] = meta
	if t.namespace != "" {
		meta["namespace"] = t.namespace
	}
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		meta["annotations"] = sendable(annotations)
	}
	if owner.Release != "" {
		meta["labels"] = with(meta["labels"], labelManagedBy, managedBy)
		meta["annotations"] = with(meta["annotations"], annotationRelease, owner.Release, annotationNamespace, owner.Namespace)
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

// with returns a copy of the map m, or a new one, with the given pairs set.
func with(m any, pairs ...string) any {
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

func keep(targets []*target, wanted func(*target) bool) []*target {
	var out []*target
	for _, t := range targets {
		if wanted(t) {
			out = append(out, t)
		}
	}
	return out
}

// existing are the targets whose kinds the cluster serves: an object of a kind
// that is gone is gone with it.
func (c *Client) existing(ctx context.Context, objects []*manifest.Object, namespace string) ([]*target, error) {
	targets, err := c.targets(ctx, objects, namespace)
	var gone *NoMatchError
	if !errors.As(err, &gone) {
		return targets, err
	}
	c.gonewith(gone)
	return targets, nil
}

// gonewith reports that objects are gone with their kinds.
func (c *Client) gonewith(e *NoMatchError) {
	c.progress.Send(progress.Event{Kind: progress.Warning, Text: "the cluster has no " + strings.Join(e.Missing, ", no ") +
		" any more, and so none of " + strings.Join(e.Objects, ", ")})
}

// single is the target of o, which must be a single object and no list: what is true
// of a list as a whole, such as its name or its kind, is not true of its items.
func (c *Client) single(ctx context.Context, o *manifest.Object, namespace string) (*target, error) {
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return nil, err
	}
	if len(targets) != 1 {
		return nil, fmt.Errorf("%s holds %d objects, not one", o, len(targets))
	}
	return targets[0], nil
}

// moved is t in a namespace.
func (t *target) moved(namespace string) *target {
	if t.namespace == namespace {
		return t
	}
	m := *t
	m.namespace = namespace
	return &m
}

func (t *target) ref() plan.Ref {
	return plan.Ref{APIVersion: t.res.apiVersion, Kind: t.kind, Namespace: t.namespace, Name: t.name}
}
