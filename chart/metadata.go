// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/Masterminds/semver/v3"
)

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
// that release records and OCI configurations keep (CONTRACTS.md).
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
}

// Lock is Chart.lock or requirements.lock.
type Lock struct {
	Generated    time.Time     `json:"generated"`
	Digest       string        `json:"digest"`
	Dependencies []*Dependency `json:"dependencies"`
}

// InvalidError tells that a chart's metadata breaks a rule. Field is the path
// of the offending field ("dependencies[1].alias"), Problem the rest of the
// sentence.
type InvalidError struct {
	Field   string
	Problem string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s %s", FileMetadata, e.Field, e.Problem)
}

var aliasPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]+$`) })

// Validate checks the rules that every chart must keep to be loaded. The error
// joins an [*InvalidError] for every broken rule.
func (m *Metadata) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &InvalidError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	switch m.APIVersion {
	case "":
		bad("apiVersion", "is required (v2 for a new chart)")
	case APIVersionV1, APIVersionV2:
	default:
		bad("apiVersion", "is %q, must be v1 or v2", m.APIVersion)
	}
	if err := ValidateName(m.Name); err != nil {
		bad("name", "%s", err)
	}
	if m.Version == "" {
		bad("version", "is required")
	} else if _, err := semver.NewVersion(m.Version); err != nil {
		bad("version", "is %q, must be a semantic version such as 1.2.3", m.Version)
	}
	switch m.Type {
	case "", TypeApplication, TypeLibrary:
	default:
		bad("type", "is %q, must be application or library", m.Type)
	}
	for i, mt := range m.Maintainers {
		if mt == nil {
			bad(fmt.Sprintf("maintainers[%d]", i), "is empty")
		}
	}
	m.validateDependencies(bad)
	return errors.Join(errs...)
}

func (m *Metadata) validateDependencies(bad func(field, format string, args ...any)) {
	seen := map[string]int{}
	for i, d := range m.Dependencies {
		at := fmt.Sprintf("dependencies[%d]", i)
		if d == nil {
			bad(at, "is empty")
			continue
		}
		if d.Alias != "" && !aliasPattern().MatchString(d.Alias) {
			bad(at+".alias", "is %q, may hold only letters, digits, '-' and '_'", d.Alias)
		}
		key := d.Name
		if d.Alias != "" {
			key = d.Alias
		}
		if first, dup := seen[key]; dup {
			bad(at, "uses the name %q again (first in dependencies[%d]); give one of them an alias", key, first)
		} else {
			seen[key] = i
		}
		for j, iv := range d.ImportValues {
			if !validImport(iv) {
				bad(fmt.Sprintf("%s.import-values[%d]", at, j), "must be a string, or a map with child and parent")
			}
		}
	}
}

func validImport(iv any) bool {
	switch v := iv.(type) {
	case string:
		return true
	case map[string]any:
		_, child := v["child"].(string)
		_, parent := v["parent"].(string)
		return child && parent
	}
	return false
}

// ValidateName checks a chart's name: not empty, and one path element, so that
// it can never lead out of a folder.
func ValidateName(name string) error {
	switch {
	case name == "":
		return errors.New("is required")
	case name == "." || name == ".." || name != path.Base(name) || strings.ContainsAny(name, `/\`):
		return fmt.Errorf("is %q, must be a plain name without slashes or dots alone", name)
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("is %q, must not hold control characters", name)
	}
	return nil
}
