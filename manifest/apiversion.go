// SPDX-License-Identifier: Apache-2.0

package manifest

import "strings"

// GroupVersion returns the API group and the version of an apiVersion: "apps" and "v1" of
// "apps/v1". The core group is "".
func GroupVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}

// Group returns the API group of an apiVersion, "" for the core group.
func Group(apiVersion string) string {
	group, _ := GroupVersion(apiVersion)
	return group
}
