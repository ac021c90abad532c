// SPDX-License-Identifier: Apache-2.0

package chart

import "time"

// Values of the field "type" in Chart.yaml.
const (
	TypeApplication = "application"
	TypeLibrary     = "library"
)

// Maintainer is one entry of "maintainers" in Chart.yaml.
type Maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Metadata is the content of Chart.yaml. Its JSON, including the order of the fields, is
// the same as Helm's in release records and in the config of OCI artifacts.
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
	// Libraries are the dependencies in library/. Helm ignores the field.
	Libraries []*Dependency `json:"libraries,omitempty"`
	// Moved says what objects of earlier versions are called now. Helm ignores the field.
	Moved []*Moved `json:"moved,omitempty"`
}

// Dependency is one entry of "dependencies" in Chart.yaml or requirements.yaml.
type Dependency struct {
	Name       string   `json:"name"`
	Version    string   `json:"version,omitempty"`
	Repository string   `json:"repository"`
	Condition  string   `json:"condition,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Enabled    bool     `json:"enabled,omitempty"`
	// ImportValues has strings (the exports form) and maps with the keys "child"
	// and "parent" (the child-parent form).
	ImportValues []any  `json:"import-values,omitempty"`
	Alias        string `json:"alias,omitempty"`
	// ExportValues has strings (the exports form) and maps with the keys "parent" and
	// "child" (Helm's proposal 16). The lock's digest leaves it out.
	ExportValues []any `json:"export-values,omitempty"`
	// DependsOn names the dependencies, by alias or name, that must be ready
	// before this one is applied (Helm's proposal 25). The lock's digest leaves it out.
	DependsOn []string `json:"depends-on,omitempty"`
}

// Lock is the content of Chart.lock or requirements.lock.
type Lock struct {
	Generated    time.Time     `json:"generated"`
	Digest       string        `json:"digest"`
	Dependencies []*Dependency `json:"dependencies"`
}
