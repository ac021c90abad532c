// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// object is an object as a policy sees it.
type object struct {
	value                    map[string]any
	apiVersion, kind         string
	group, version, resource string
	namespaced               bool
	name, namespace          string
	labels                   map[string]string
}

// is reports whether the object has the kind of a group.
func (o *object) is(group, kind string) bool { return o.group == group && o.kind == kind }

// request returns the variable request.
func (o *object) request() map[string]any {
	kind := map[string]any{"group": o.group, "version": o.version, "kind": o.kind}
	resource := map[string]any{"group": o.group, "version": o.version, "resource": o.resource}
	return map[string]any{
		"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
		"subResource": "", "requestSubResource": "", "name": o.name, "namespace": o.namespace,
		"operation": "CREATE", "dryRun": false, "uid": "",
		"userInfo": map[string]any{"username": "", "uid": "", "groups": []any{}, "extra": map[string]any{}},
		"options":  map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
	}
}

// kinds are the kinds that objects may have.
type kinds struct {
	release *builtin.Release
	custom  map[string]builtin.Kind // by apiVersion and kind
	rules   map[string]customRules  // by the same
}

func newKinds(req lint.PolicyRequest) (*kinds, error) {
	minor, err := kubeMinor(req.KubeVersion)
	if err != nil {
		return nil, err
	}
	if minor == 0 {
		minor = builtin.Last
	}
	release, err := builtin.Load(minor)
	if err != nil {
		return nil, err
	}
	k := &kinds{release: release, custom: map[string]builtin.Kind{}, rules: map[string]customRules{}}
	for _, d := range append(append([]map[string]any{}, req.Definitions...), req.Objects...) {
		k.define(d)
	}
	return k, nil
}

// define adds the kinds of a CustomResourceDefinition. It ignores other objects.
func (k *kinds) define(object map[string]any) {
	if object["kind"] != "CustomResourceDefinition" {
		return
	}
	var d struct {
		Spec struct {
			Group, Scope string
			Names        struct{ Kind, Plural string }
			Versions     []struct{ Name string }
		}
	}
	if text, err := json.Marshal(object); err != nil || json.Unmarshal(text, &d) != nil {
		return
	}
	maps.Copy(k.rules, readRules(object, k.release.Common()))
	for _, v := range d.Spec.Versions {
		apiVersion := d.Spec.Group + "/" + v.Name
		k.custom[apiVersion+" "+d.Spec.Names.Kind] = builtin.Kind{
			APIVersion: apiVersion, Kind: d.Spec.Names.Kind, Resource: d.Spec.Names.Plural,
			Namespaced: d.Spec.Scope != "Cluster",
		}
	}
}

// kind returns a kind, and reports whether it is one of Kubernetes' own. The resource of a kind that is not
// known is guessed.
func (k *kinds) kind(apiVersion, kind string) (out builtin.Kind, own bool) {
	if out, own = k.release.Kind(apiVersion, kind); own {
		return out, true
	}
	if out, ok := k.custom[apiVersion+" "+kind]; ok {
		return out, false
	}
	plural := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(plural, "s"), strings.HasSuffix(plural, "x"), strings.HasSuffix(plural, "ch"):
		plural += "es"
	case strings.HasSuffix(plural, "y"):
		plural = strings.TrimSuffix(plural, "y") + "ies"
	default:
		plural += "s"
	}
	return builtin.Kind{APIVersion: apiVersion, Kind: kind, Resource: plural, Namespaced: true}, false
}

// otherVersions reports whether the object's kind is known in other versions of its group.
func (k *kinds) otherVersions(o *object) bool {
	for _, other := range k.release.Kinds() {
		group := manifest.Group(other.APIVersion)
		if group == o.group && other.Kind == o.kind && other.APIVersion != o.apiVersion {
			return true
		}
	}
	for _, other := range k.custom {
		group := manifest.Group(other.APIVersion)
		if group == o.group && other.Kind == o.kind && other.APIVersion != o.apiVersion {
			return true
		}
	}
	return false
}

// object returns m as an API server would hand it to a policy: with default values, and for
// Kubernetes' own kinds with the fields that their Go types write. It returns nil if m is not an object
// that a server can read.
func (k *kinds) object(m map[string]any, namespace string) *object {
	var copied map[string]any
	text, err := json.Marshal(m)
	if err != nil || utiljson.Unmarshal(text, &copied) != nil { // integers become int64
		return nil
	}
	o := &object{value: copied}
	o.apiVersion, _ = copied["apiVersion"].(string)
	o.kind, _ = copied["kind"].(string)
	if o.apiVersion == "" || o.kind == "" {
		return nil
	}
	kind, own := k.kind(o.apiVersion, o.kind)
	o.group, o.version = manifest.GroupVersion(o.apiVersion)
	o.resource, o.namespaced = kind.Resource, kind.Namespaced
	meta, ok := copied["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		copied["metadata"] = meta
	}
	if o.namespaced {
		if meta["namespace"] == nil || meta["namespace"] == "" {
			meta["namespace"] = namespace
		}
		o.namespace, _ = meta["namespace"].(string)
	}
	o.name, _ = meta["name"].(string)
	if own {
		k.setDefaults(kind, copied)
		if o.value = typed(o.apiVersion, o.kind, copied); o.value == nil {
			return nil
		}
	}
	o.labels = map[string]string{}
	all, _ := meta["labels"].(map[string]any)
	for key, value := range all {
		o.labels[key] = fmt.Sprint(value)
	}
	return o
}

// typed returns an object as its Go type writes it, or nil if it cannot be read. The type decides, for
// example, which fields are left out where they are empty.
func typed(apiVersion, kind string, value map[string]any) map[string]any {
	into, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return value // of another module, such as CustomResourceDefinition
	}
	text, err := json.Marshal(value)
	if err != nil || utiljson.Unmarshal(text, into) != nil {
		return nil
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		return nil
	}
	return out
}
