// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// KubeVersion is the cluster's version as templates see it.
type KubeVersion struct {
	// Version is the full version with its leading v: "v1.36.3-gke.100".
	Version string
	// bare is Version without what a distribution adds.
	bare string
	// Major and Minor are decimal numbers.
	Major string
	Minor string
}

// String is the version without what a distribution adds to it: "v1.36.3".
func (v *KubeVersion) String() string {
	if v.bare == "" {
		bare, _, _ := strings.Cut(v.Version, "+")
		bare, _, _ = strings.Cut(bare, "-")
		return bare
	}
	return v.bare
}

// GitVersion is the full version, under the name that old charts use.
func (v *KubeVersion) GitVersion() string { return v.Version }

// VersionSet are the API versions of a cluster: "apps/v1" and, from a real
// cluster, "apps/v1/Deployment" too.
type VersionSet []string

// Has tells whether the set holds apiVersion.
func (s VersionSet) Has(apiVersion string) bool { return slices.Contains(s, apiVersion) }

// HelmVersion is this program's version as templates see it.
type HelmVersion struct {
	Version           string `json:"version,omitempty"`
	GitCommit         string `json:"git_commit,omitempty"`
	GitTreeState      string `json:"git_tree_state,omitempty"`
	GoVersion         string `json:"go_version,omitempty"`
	KubeClientVersion string `json:"kube_client_version"`
}

// Capabilities tell templates what they are rendered for.
type Capabilities struct {
	KubeVersion KubeVersion
	APIVersions VersionSet
	HelmVersion HelmVersion
}

// compatible is the Helm whose templates ours behave like; charts compare it.
const compatible = "v4.3.1"

// defaultKube is the Kubernetes that offline rendering assumes, as Helm 4.3.1 does.
const defaultKube = "v1.37.0"

// DefaultCapabilities are those of offline rendering: a recent Kubernetes with
// the API groups that it ships.
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

// ParseKubeVersion reads a version such as "1.36", "v1.36.3" or
// "1.36.3-gke.100". It needs a major and a minor version at least.
func ParseKubeVersion(text string) (KubeVersion, error) {
	full := strings.TrimPrefix(text, "v")
	numbers, _, _ := strings.Cut(full, "+")
	numbers, _, _ = strings.Cut(numbers, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) < 2 {
		return KubeVersion{}, fmt.Errorf("%q is no Kubernetes version; write major and minor, such as 1.36", text)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			return KubeVersion{}, fmt.Errorf("%q is no Kubernetes version: %q is no number", text, p)
		}
		parts[i] = strconv.FormatUint(n, 10)
	}
	return KubeVersion{Version: "v" + full, bare: "v" + strings.Join(parts, "."), Major: parts[0], Minor: parts[1]}, nil
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
