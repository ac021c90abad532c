// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
)

// parseCRDs reads the crds/ folders of c and of all charts below it. They are
// never templates.
func parseCRDs(c *chart.Chart) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, f := range c.CRDs() {
		objs, err := manifest.Parse(f.Source, string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Source, err)
		}
		out = append(out, objs...)
	}
	return out, nil
}

// served lists what capabilities say once crds are established:
// "group/version" and "group/version/Kind" of every served version.
func served(crds []*manifest.Object) []string {
	var out []string
	for _, o := range crds {
		if o.Kind != "CustomResourceDefinition" {
			continue
		}
		m, err := o.Map()
		if err != nil {
			continue
		}
		spec, _ := m["spec"].(map[string]any)
		group, _ := spec["group"].(string)
		names, _ := spec["names"].(map[string]any)
		kind, _ := names["kind"].(string)
		versions, _ := spec["versions"].([]any)
		for _, v := range versions {
			vm, _ := v.(map[string]any)
			name, _ := vm["name"].(string)
			if on, _ := vm["served"].(bool); !on || name == "" || group == "" {
				continue
			}
			out = append(out, group+"/"+name, group+"/"+name+"/"+kind)
		}
	}
	return out
}

// without leaves out the objects of kinds that crds define: they cannot exist
// before crds do.
func without(objects, crds []*manifest.Object) []*manifest.Object {
	if len(crds) == 0 {
		return objects
	}
	defined := map[string]bool{}
	for _, v := range served(crds) {
		defined[v] = true
	}
	var out []*manifest.Object
	for _, o := range objects {
		if !defined[o.APIVersion+"/"+o.Kind] {
			out = append(out, o)
		}
	}
	return out
}

// lookupBefore answers for kinds that crds are about to define: they are there,
// and there is nothing of them yet. Everything else is left to lookup.
func lookupBefore(crds []*manifest.Object, lookup lookupFunc) lookupFunc {
	if len(crds) == 0 || lookup == nil {
		return lookup
	}
	defined := map[string]bool{}
	for _, v := range served(crds) {
		defined[v] = true
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		switch {
		case !defined[apiVersion+"/"+kind]:
			return lookup(apiVersion, kind, namespace, name)
		case name != "":
			return map[string]any{}, nil
		}
		return map[string]any{
			"apiVersion": apiVersion, "kind": kind + "List",
			"metadata": map[string]any{"resourceVersion": ""}, "items": []any{},
		}, nil
	}
}
