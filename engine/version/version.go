// SPDX-License-Identifier: Apache-2.0

// Package version defines the type of .Capabilities.HelmVersion. The package and the type have
// the same names as in Helm, because templates print and compare names of types.
package version

// BuildInfo is this program's version in templates.
type BuildInfo struct {
	Version           string `json:"version,omitempty"`
	GitCommit         string `json:"git_commit,omitempty"`
	GitTreeState      string `json:"git_tree_state,omitempty"`
	GoVersion         string `json:"go_version,omitempty"`
	KubeClientVersion string `json:"kube_client_version"`
}
