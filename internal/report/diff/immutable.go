// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"
)

// immutableRule has the fields of a kind that the API server does not let change, as paths: those
// in fields, or all below the field within except those in mutable.
type immutableRule struct {
	group, kind string
	fields      []string
	within      string
	mutable     []string
}

// immutableRules returns the rules of the Kubernetes API for built-in kinds
// (https://kubernetes.io/docs/reference/kubernetes-api/). They are used if the API server has not
// been asked, and leave out what depends on more than the two states.
func immutableRules() []immutableRule {
	selector := []string{"spec.selector"}
	role := []string{"roleRef"}
	return []immutableRule{
		{group: "apps", kind: "Deployment", fields: selector},
		{group: "apps", kind: "DaemonSet", fields: selector},
		{group: "apps", kind: "ReplicaSet", fields: selector},
		{group: "apps", kind: "StatefulSet", within: "spec", mutable: []string{
			"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
			"persistentVolumeClaimRetentionPolicy", "minReadySeconds"}},
		{group: "batch", kind: "Job", fields: []string{"spec.selector", "spec.template", "spec.completionMode"}},
		{group: "", kind: "PersistentVolumeClaim", within: "spec",
			mutable: []string{"resources", "volumeAttributesClassName", "volumeName"}},
		{group: "", kind: "Secret", fields: []string{"type"}},
		{group: "rbac.authorization.k8s.io", kind: "RoleBinding", fields: role},
		{group: "rbac.authorization.k8s.io", kind: "ClusterRoleBinding", fields: role},
		{group: "storage.k8s.io", kind: "StorageClass",
			fields: []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"}},
		{group: "networking.k8s.io", kind: "IngressClass", fields: []string{"spec.controller"}},
		{group: "scheduling.k8s.io", kind: "PriorityClass", fields: []string{"value", "preemptionPolicy"}},
		{group: "node.k8s.io", kind: "RuntimeClass", fields: []string{"handler"}},
		{group: "apiextensions.k8s.io", kind: "CustomResourceDefinition",
			fields: []string{"spec.group", "spec.names.kind", "spec.names.plural"}},
	}
}

// immutableChanges returns the immutable fields that the update of an object changes.
func immutableChanges(o Object) []string {
	var out []string
	rules := immutableRules()
	if i := slices.IndexFunc(rules, func(r immutableRule) bool { return isKind(o.Ref, r.group, r.kind) }); i >= 0 {
		out = rules[i].changes(o)
	}
	switch {
	case isKind(o.Ref, "", "Service") && changesClusterIP(o):
		out = append(out, "spec.clusterIP")
	case (isKind(o.Ref, "", "ConfigMap") || isKind(o.Ref, "", "Secret")) && o.Before["immutable"] == true:
		for _, key := range []string{"immutable", "data", "binaryData", "stringData"} {
			if differs(o.Before[key], o.After[key]) {
				out = append(out, key)
			}
		}
	}
	return out
}

// changes returns the fields of the rule that differ.
func (r immutableRule) changes(o Object) []string {
	fields := r.fields
	if r.within != "" {
		before, _ := o.Before[r.within].(map[string]any)
		after, _ := o.After[r.within].(map[string]any)
		for _, key := range keys(before, after) {
			if !slices.Contains(r.mutable, key) {
				fields = append(fields, r.within+"."+key)
			}
		}
	}
	if r.kind == "Job" && field(o.Before, "spec", "suspend") == true { // its template may still be adjusted
		fields = []string{"spec.selector", "spec.completionMode"}
	}
	var out []string
	for _, f := range fields {
		path := strings.Split(f, ".")
		if differs(field(o.Before, path...), field(o.After, path...)) {
			out = append(out, f)
		}
	}
	return out
}

// changesClusterIP reports whether a Service is given another address: the API server keeps the
// address of one that does not name any.
func changesClusterIP(o Object) bool {
	const external = "ExternalName" // has no address
	to := asText(field(o.After, "spec", "clusterIP"))
	return to != "" && to != field(o.Before, "spec", "clusterIP") &&
		field(o.Before, "spec", "type") != external && field(o.After, "spec", "type") != external
}

// differs reports whether two values differ, where an empty one is the same as none.
func differs(before, after any) bool {
	if isEmpty(before) && isEmpty(after) {
		return false
	}
	return len(fieldChanges(map[string]any{"v": before}, map[string]any{"v": after}, false)) > 0
}
