// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"runtime"

	"github.com/moonhelm/moonhelm/engine/common"
	"github.com/moonhelm/moonhelm/engine/version"
)

// These types have the same names as in Helm, because templates print and compare names of
// types; see package common.
type (
	// KubeVersion is the cluster's version.
	KubeVersion = common.KubeVersion
	// VersionSet are the API versions of a cluster.
	VersionSet = common.VersionSet
	// HelmVersion is this program's version.
	HelmVersion = version.BuildInfo
	// Capabilities are the .Capabilities of templates.
	Capabilities = common.Capabilities
	// Values are a chart's values.
	Values = common.Values
)

// ParseKubeVersion parses a version such as "1.36", "v1.36.3" or "1.36.3-gke.100". The major
// and the minor version are required.
func ParseKubeVersion(text string) (KubeVersion, error) { return common.ParseKubeVersion(text) }

// compatible is the version of Helm with which templates are compatible. Charts compare it.
const compatible = "v4.3.1"

// defaultKube is the Kubernetes version for rendering without a cluster, as in Helm 4.3.1.
const defaultKube = "v1.37.0"

// DefaultCapabilities returns the capabilities for rendering without a cluster: a recent
// Kubernetes version with its API groups.
func DefaultCapabilities() *Capabilities {
	v, err := ParseKubeVersion(defaultKube)
	if err != nil {
		panic(err) // a constant of this file
	}
	return &Capabilities{
		KubeVersion: v,
		APIVersions: defaultAPIVersions(),
		HelmVersion: HelmVersion{Version: compatible, GoVersion: runtime.Version(), KubeClientVersion: "v1.37"},
	}
}

func defaultAPIVersions() VersionSet {
	return VersionSet{
		"v1", "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1alpha1",
		"admissionregistration.k8s.io/v1beta1", "internal.apiserver.k8s.io/v1alpha1",
		"apps/v1", "apps/v1beta1", "apps/v1beta2",
		"authentication.k8s.io/v1", "authentication.k8s.io/v1alpha1", "authentication.k8s.io/v1beta1",
		"authorization.k8s.io/v1", "authorization.k8s.io/v1beta1",
		"autoscaling/v1", "autoscaling/v2", "batch/v1", "batch/v1beta1",
		"certificates.k8s.io/v1", "certificates.k8s.io/v1beta1", "certificates.k8s.io/v1alpha1",
		"coordination.k8s.io/v1alpha2", "coordination.k8s.io/v1beta1", "coordination.k8s.io/v1",
		"discovery.k8s.io/v1", "discovery.k8s.io/v1beta1", "events.k8s.io/v1", "events.k8s.io/v1beta1",
		"extensions/v1beta1", "flowcontrol.apiserver.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1beta1",
		"flowcontrol.apiserver.k8s.io/v1beta2", "flowcontrol.apiserver.k8s.io/v1beta3",
		"lifecycle.k8s.io/v1alpha1", "networking.k8s.io/v1", "networking.k8s.io/v1beta1",
		"node.k8s.io/v1", "node.k8s.io/v1alpha1", "node.k8s.io/v1beta1", "policy/v1", "policy/v1beta1",
		"rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1alpha1",
		"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3",
		"scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1",
		"storage.k8s.io/v1beta1", "storage.k8s.io/v1", "storage.k8s.io/v1alpha1",
		"storagemigration.k8s.io/v1", "storagemigration.k8s.io/v1beta1",
		"apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1",
	}
}
