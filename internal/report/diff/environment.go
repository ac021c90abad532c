// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/moonhelm/moonhelm/plan"
)

// staleEnvironments returns the workloads whose pods have environment variables of ConfigMaps and
// Secrets that change, unless they are among those with effects that end the pods.
func (d Diff) staleEnvironments(effects []effect) []effect {
	changed := map[plan.Ref]bool{}
	for _, o := range d.Objects {
		if (isKind(o.Ref, "", "ConfigMap") || isKind(o.Ref, "", "Secret")) && changesData(o) {
			changed[o.Ref] = true
		}
	}
	var out []effect
	for _, o := range d.Objects {
		if len(changed) == 0 || !isWorkload(o.Ref) || o.Action != plan.Update && o.Action != plan.Unchanged {
			continue
		}
		ends := func(e effect) bool {
			return e.Ref == o.Ref && slices.Contains([]effectKind{restarts, recreates, fails}, e.Kind)
		}
		if n, _ := podsOf(o.Ref, o.After); n != nil && *n == 0 || slices.ContainsFunc(effects, ends) {
			continue
		}
		var names []string
		for _, ref := range environment(o) {
			if changed[ref] && !slices.Contains(names, ref.String()) {
				names = append(names, ref.String())
			}
		}
		if len(names) > 0 {
			reason := "when its pods restart: environment of " + shortList(names)
			out = append(out, effect{Kind: defers, Ref: o.Ref, Reason: reason})
		}
	}
	return out
}

// changesData reports whether an update changes the values of a ConfigMap or Secret.
func changesData(o Object) bool {
	if o.Action != plan.Update && o.Action != plan.Replace {
		return false
	}
	for _, key := range []string{"data", "binaryData", "stringData"} {
		if differs(o.Before[key], o.After[key]) {
			return true
		}
	}
	return false
}

// environment returns the ConfigMaps and Secrets of which a workload's containers have variables.
func environment(o Object) []plan.Ref {
	var out []plan.Ref
	add := func(kind string, source any) {
		if m, ok := source.(map[string]any); ok {
			out = append(out, plan.Ref{APIVersion: "v1", Kind: kind, Namespace: o.Namespace, Name: asText(m["name"])})
		}
	}
	for _, container := range mapsOf(field(o.After, "spec", "template", "spec", "containers")) {
		for _, from := range mapsOf(container["envFrom"]) {
			add("ConfigMap", from["configMapRef"])
			add("Secret", from["secretRef"])
		}
		for _, variable := range mapsOf(container["env"]) {
			from, _ := variable["valueFrom"].(map[string]any)
			add("ConfigMap", from["configMapKeyRef"])
			add("Secret", from["secretKeyRef"])
		}
	}
	return out
}

// mapsOf returns the items of a list that are maps.
func mapsOf(list any) []map[string]any {
	items, _ := list.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
