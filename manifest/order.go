// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"slices"
)

// installOrder returns Helm's install order of kinds, observed from Helm 4.3.1 with a chart
// with an object of every kind. All other kinds come last, by name.
func installOrder() []string {
	return []string{
		"PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange",
		"PodSecurityPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList",
		"ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
		"CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding",
		"ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList",
		"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
		"HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress",
		"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	}
}

// uninstallOrder returns Helm's uninstall order of kinds, observed with uninstall --debug: the
// install order reversed, except that Services are deleted before their workloads.
func uninstallOrder() []string {
	order := installOrder()
	slices.Reverse(order)
	from, to := slices.Index(order, "Service"), slices.Index(order, "CronJob")
	order = slices.Delete(order, from, from+1)
	return slices.Insert(order, to, "Service")
}

// ranks maps kinds to negative numbers, so that unknown kinds (0) sort last.
func ranks(order []string) map[string]int {
	m := make(map[string]int, len(order))
	for i, k := range order {
		m[k] = i - len(order)
	}
	return m
}

// CompareKinds compares two kinds in install order. The result is negative if a is installed
// first. Kinds that are not in Helm's order come last, by name.
func CompareKinds(a, b string) int {
	return compareKinds(ranks(installOrder()), a, b)
}

func compareKinds(rank map[string]int, a, b string) int {
	ra, rb := rank[a], rank[b]
	if ra == 0 && rb == 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(ra, rb)
}

// SortInstall sorts objs by kind in install order. Objects of the same kind keep their
// order, which is the order of the template names.
func SortInstall(objs []*Object) {
	rank := ranks(installOrder())
	slices.SortStableFunc(objs, func(a, b *Object) int { return compareKinds(rank, a.Kind, b.Kind) })
}

// ApplyOrder returns a copy of objs in the order in which they are applied: by kind as in
// [SortInstall], then by name, so that it does not depend on how a chart is divided into files.
// The manifest keeps the order of objs.
func ApplyOrder(objs []*Object) []*Object {
	out := slices.Clone(objs)
	rank := ranks(installOrder())
	slices.SortStableFunc(out, func(a, b *Object) int {
		return cmp.Or(compareKinds(rank, a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// SortUninstall sorts objs by kind in the order of deletion, then by name. Kinds that are not
// in Helm's order come first, by name: they were installed last, and deleting them may need a
// controller of the same release. (Helm deletes them last.)
func SortUninstall(objs []*Object) {
	rank := ranks(uninstallOrder())
	unknown := func(o *Object) int {
		if rank[o.Kind] == 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(objs, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(unknown(a), unknown(b)), compareKinds(rank, a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}
