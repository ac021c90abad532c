// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"maps"
	"slices"
)

// lookup returns the function lookup of t's templates, which finds the objects of the suite and of t.
// Objects of kinds that the scheme does not have are not found, and cannot be listed.
func (r *renderer) lookup(t *test) func(apiVersion, kind, namespace, name string) (map[string]any, error) {
	scheme := maps.Clone(r.def.Cluster.Scheme)
	if scheme == nil {
		scheme = t.Cluster.Scheme
	} else {
		maps.Copy(scheme, t.Cluster.Scheme)
	}
	objects := slices.Concat(r.def.Cluster.Objects, t.Cluster.Objects)
	if len(objects) == 0 {
		return nil
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		known, ok := scheme[apiVersion+"/"+kind]
		switch {
		case !ok && name == "":
			return nil, &schemeError{apiVersion + "/" + kind}
		case !ok:
			return map[string]any{}, nil
		}
		if !known.Namespaced {
			namespace = ""
		} else if name != "" && namespace == "" {
			return map[string]any{}, nil
		}
		items, all := []any{}, 0
		for _, o := range objects {
			if isObject(o, apiVersion, kind, "") {
				all++
			}
			if !isObject(o, apiVersion, kind, namespace) {
				continue
			}
			if name == "" {
				items = append(items, numbers(o))
			} else if field(o, "name") == name {
				return numbers(o).(map[string]any), nil
			}
		}
		if name != "" {
			return map[string]any{}, nil
		}
		meta := map[string]any{"continue": "", "resourceVersion": fmt.Sprint(all + 1)}
		return map[string]any{"apiVersion": apiVersion, "kind": kind + "List", "metadata": meta, "items": items}, nil
	}
}

// schemeError is returned for listing a kind that the scheme of a suite does not have.
type schemeError struct{ kind string }

func (e *schemeError) Error() string {
	return fmt.Sprintf("the scheme of kubernetesProvider has no %q, so its objects cannot be listed", e.kind)
}

// isObject reports whether o has the kind and is in the namespace; "" stands for all.
func isObject(o map[string]any, apiVersion, kind, namespace string) bool {
	return o["apiVersion"] == apiVersion && o["kind"] == kind && (namespace == "" || field(o, "namespace") == namespace)
}

func field(o map[string]any, name string) any {
	meta, _ := o["metadata"].(map[string]any)
	return meta[name]
}

// numbers returns a copy of an object with the numbers of objects of an API: int64 and float64.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = numbers(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = numbers(item)
		}
		return out
	case int:
		return int64(v)
	}
	return v
}
