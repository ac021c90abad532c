// SPDX-License-Identifier: Apache-2.0

package common

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/engine/version"
)

// KubeVersion is the cluster's version in templates.
type KubeVersion struct {
	// Version is the full version with its leading v: "v1.36.3-gke.100".
	Version string
	// normalizedVersion is Version without a distribution's suffix.
	normalizedVersion string
	// Major and Minor are decimal numbers.
	Major string
	Minor string
}

// String returns the version without a distribution's suffix: "v1.36.3".
func (v *KubeVersion) String() string {
	if v.normalizedVersion == "" {
		bare, _, _ := strings.Cut(v.Version, "+")
		bare, _, _ = strings.Cut(bare, "-")
		return bare
	}
	return v.normalizedVersion
}

// GitVersion returns the full version. Old charts use this name.
func (v *KubeVersion) GitVersion() string { return v.Version }

// VersionSet has the API versions of a cluster: "apps/v1" and, if it was read from a cluster,
// also "apps/v1/Deployment".
type VersionSet []string

// Has reports whether the set contains apiVersion.
func (s VersionSet) Has(apiVersion string) bool { return slices.Contains(s, apiVersion) }

// Capabilities are the .Capabilities of templates.
type Capabilities struct {
	KubeVersion KubeVersion
	APIVersions VersionSet
	HelmVersion version.BuildInfo
}

// ParseKubeVersion parses a version such as "1.36", "v1.36.3" or "1.36.3-gke.100". The major
// and the minor version are required.
func ParseKubeVersion(text string) (KubeVersion, error) {
	full := strings.TrimPrefix(text, "v")
	numbers, _, _ := strings.Cut(full, "+")
	numbers, _, _ = strings.Cut(numbers, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) < 2 {
		return KubeVersion{}, fmt.Errorf("invalid kube version '%s': write major and minor, such as 1.36", text)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			return KubeVersion{}, fmt.Errorf("invalid kube version '%s': %q is not a number", text, p)
		}
		parts[i] = strconv.FormatUint(n, 10)
	}
	return KubeVersion{Version: "v" + full, normalizedVersion: "v" + strings.Join(parts, "."), Major: parts[0],
		Minor: parts[1]}, nil
}
