// SPDX-License-Identifier: Apache-2.0

package chart

import "time"

// Chart types of Chart.yaml's "type".
const (
	TypeApplication = "application"
	TypeLibrary     = "library"
)

// Maintainer is one entry of Chart.yaml's maintainers.
type Maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Metadata is Chart.yaml. Field names and their order in JSON are the format
// that release records and OCI configurations have, which is Helm's.
type Metadata struct {
	Name         string            `json:"name,omitempty"`
	Home         string            `json:"home,omitempty"`
	Sources      []string          `json:"sources,omitempty"`
	Version      string            `json:"version,omitempty"`
	Description  string            `json:"description,omitempty"`
	Keywords     []string          `json:"keywords,omitempty"`
	Maintainers  []*Maintainer     `json:"maintainers,omitempty"`
	Icon         string            `json:"icon,omitempty"`
	APIVersion   string            `json:"apiVersion,omitempty"`
	Condition    string            `json:"condition,omitempty"`
	Tags         string            `json:"tags,omitempty"`
	AppVersion   string            `json:"appVersion,omitempty"`
	Deprecated   bool              `json:"deprecated,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	KubeVersion  string            `json:"kubeVersion,omitempty"`
	Dependencies []*Dependency     `json:"dependencies,omitempty"`
	Type         string            `json:"type,omitempty"`
	// Libraries are library charts kept in library/ ("libraries:"). Helm drops
	// the field.
	Libraries []*Dependency `json:"libraries,omitempty"`
}

// Dependency is one entry of dependencies in Chart.yaml or requirements.yaml.
type Dependency struct {
	Name       string   `json:"name"`
	Version    string   `json:"version,omitempty"`
	Repository string   `json:"repository"`
	Condition  string   `json:"condition,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Enabled    bool     `json:"enabled,omitempty"`
	// ImportValues holds strings (exports form) and maps with the keys "child"
	// and "parent" (child-parent form).
	ImportValues []any  `json:"import-values,omitempty"`
	Alias        string `json:"alias,omitempty"`
	// DependsOn names the dependencies, by alias or name, that must be ready
	// before this one is applied (Helm's proposal 25). A lock's digest leaves it out.
	DependsOn []string `json:"depends-on,omitempty"`
}

// Lock is Chart.lock or requirements.lock.
type Lock struct {
	Generated    time.Time     `json:"generated"`
	Digest       string        `json:"digest"`
	Dependencies []*Dependency `json:"dependencies"`
}
