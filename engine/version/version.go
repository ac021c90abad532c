// SPDX-License-Identifier: Apache-2.0

// Package version holds the type that templates see as
// .Capabilities.HelmVersion. It bears the name that the type has in Helm, for
// templates print and compare names of types.
package version

// BuildInfo is this program's version as templates see it.
type BuildInfo struct {
	Version           string `json:"version,omitempty"`
	GitCommit         string `json:"git_commit,omitempty"`
	GitTreeState      string `json:"git_tree_state,omitempty"`
	GoVersion         string `json:"go_version,omitempty"`
	KubeClientVersion string `json:"kube_client_version"`
}
