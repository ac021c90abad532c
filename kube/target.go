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
)

// Owner is the release that objects belong to.
type Owner struct {
	Release   string
	Namespace string
}

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
	object    map[string]any // shared with the manifest: not to be changed
}

func (t *target) path() string { return t.res.path(t.namespace, t.name) }

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
// Kinds that the cluster does not serve are one [*NoKindError] for all, together
// with the targets that were found.
func (c *Client) targets(ctx context.Context, objects []*manifest.Object, namespace string) ([]*target, error) {
	var out []*target
	var wanted []kindKey
	seen := map[kindKey]bool{}
	for _, o := range objects {
		if o.Empty {
			continue
		}
		m, err := o.Map()
		if err != nil {
			return nil, err
		}
		for _, item := range flatten(m) {
			t, key := newTarget(o.Source, item)
			if err := t.checkName(); err != nil {
				return nil, err
			}
			out = append(out, t)
			if !seen[key] {
				seen[key] = true
				wanted = append(wanted, key)
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	found, err := c.resolve(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return place(out, found, namespace)
}

func place(all []*target, found map[kindKey]*resource, namespace string) ([]*target, error) {
	var missing NoKindError
	placed := all[:0]
	for _, t := range all {
		apiVersion, _ := t.object["apiVersion"].(string)
		t.res = found[kindKey{apiVersion, t.kind}]
		if t.res == nil {
			what := fmt.Sprintf("%s in %s", orUnset(t.kind, "kind"), orUnset(apiVersion, "apiVersion"))
			if !slices.Contains(missing.Missing, what) {
				missing.Missing = append(missing.Missing, what)
			}
			missing.Objects = append(missing.Objects, t.short())
			continue
		}
		switch {
		case !t.res.Namespaced:
			t.namespace = ""
		case t.namespace == "":
			t.namespace = namespace
		}
		placed = append(placed, t)
	}
	if len(missing.Missing) > 0 {
		return placed, &missing
	}
	return placed, nil
}

func orUnset(s, field string) string {
	if s == "" {
		return "(" + field + " not set)"
	}
	return s
}

func newTarget(source string, m map[string]any) (*target, kindKey) {
	meta, _ := m["metadata"].(map[string]any)
	t := &target{source: source, object: m}
	t.kind, _ = m["kind"].(string)
	t.name, _ = meta["name"].(string)
	t.namespace, _ = meta["namespace"].(string)
	apiVersion, _ := m["apiVersion"].(string)
	return t, kindKey{apiVersion, t.kind}
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
			return t.fail("place", fmt.Errorf("metadata.%s is %q, which is no name: it leads to another place", field, s))
		}
	}
	return nil
}

// flatten returns the items of a list, or the object itself.
func flatten(m map[string]any) []map[string]any {
	kind, _ := m["kind"].(string)
	items, ok := m["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return []map[string]any{m}
	}
	var out []map[string]any
	for _, item := range items {
		if im, ok := item.(map[string]any); ok {
			out = append(out, flatten(im)...)
		}
	}
	return out
}

// body is the object's JSON with its namespace and, where owner names a
// release, with the release's marks.
func (t *target) body(owner Owner) ([]byte, error) {
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
	if owner.Release != "" {
		meta["labels"] = with(meta["labels"], labelManagedBy, managedBy)
		meta["annotations"] = with(meta["annotations"], annotationRelease, owner.Release, annotationNamespace, owner.Namespace)
	}
	text, err := json.Marshal(object)
	return text, t.fail("encode", err)
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
