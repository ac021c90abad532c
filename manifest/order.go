// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"slices"
)

// installOrder is the order of kinds that Helm installs in, observed from
// Helm 4.3.1 with a chart that holds one object of every kind. Kinds that are
// not here come after all others, by name.
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

// uninstallOrder is the order that Helm deletes in, seen with uninstall --debug:
// the reverse, but Services go before what they lead to.
func uninstallOrder() []string {
	order := installOrder()
	slices.Reverse(order)
	from, to := slices.Index(order, "Service"), slices.Index(order, "CronJob")
	order = slices.Delete(order, from, from+1)
	return slices.Insert(order, to, "Service")
}

// ranks are negative, so that an unknown kind's 0 is last.
func ranks(order []string) map[string]int {
	m := make(map[string]int, len(order))
	for i, k := range order {
		m[k] = i - len(order)
	}
	return m
}

// CompareKinds orders two kinds as they are installed: negative where a comes
// first. Kinds that Helm does not know come last, by name.
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

// SortInstall sorts objs by kind as they are installed. Objects of one kind
// keep the order that they came in, which is the order of their templates'
// names.
func SortInstall(objs []*Object) {
	rank := ranks(installOrder())
	slices.SortStableFunc(objs, func(a, b *Object) int { return compareKinds(rank, a.Kind, b.Kind) })
}

// ApplyOrder returns objs in the order in which they are written to a cluster: by kind as
// [SortInstall] has them, then by name, so that it does not depend on how a chart is
// divided into files. objs keeps its order, that of the manifest text.
func ApplyOrder(objs []*Object) []*Object {
	out := slices.Clone(objs)
	rank := ranks(installOrder())
	slices.SortStableFunc(out, func(a, b *Object) int {
		return cmp.Or(compareKinds(rank, a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// SortUninstall sorts objs by kind as they are deleted, and by name within a
// kind. Kinds that Helm does not know go first, by name: they were installed
// last, and their objects may need a controller of the same release to finish
// them. (Helm deletes them last.)
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
