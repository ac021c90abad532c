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

func ranks() map[string]int {
	order := installOrder()
	m := make(map[string]int, len(order))
	for i, k := range order {
		m[k] = i - len(order) // negative, so that an unknown kind's 0 is last
	}
	return m
}

// CompareKinds orders two kinds as they are installed: negative where a comes
// first. Kinds that Helm does not know come last, by name.
func CompareKinds(a, b string) int {
	return compareKinds(ranks(), a, b)
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
	rank := ranks()
	slices.SortStableFunc(objs, func(a, b *Object) int { return compareKinds(rank, a.Kind, b.Kind) })
}

// SortUninstall sorts objs by kind as they are deleted: what was installed
// last goes first, so custom resources go before what defines and serves them.
// Objects of one kind keep their order.
func SortUninstall(objs []*Object) {
	rank := ranks()
	slices.SortStableFunc(objs, func(a, b *Object) int { return compareKinds(rank, b.Kind, a.Kind) })
}
