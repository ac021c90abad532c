// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"
)

// An InvalidError is returned for a file of a chart's metadata that breaks a rule.
// Field is the path of the offending field ("dependencies[1].alias"), "" where the
// whole file is meant; Line is 1-based, 0 where it is not known; Problem is the rest
// of the sentence.
type InvalidError struct {
	File    string
	Line    int
	Field   string
	Problem string
	// Rule is Helm's sentence for the broken rule, "" where it has none.
	Rule string
	// Syntax is set where the file is not YAML.
	Syntax bool
}

func (e *InvalidError) Error() string {
	var b strings.Builder
	if e.Syntax { // in Helm's words
		fmt.Fprintf(&b, "cannot load %s: error converting YAML to JSON: yaml: ", e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", e.Line)
		}
		b.WriteString(e.Problem)
		return b.String()
	}
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Rule != "" {
		b.WriteString("validation: " + e.Rule)
		if e.Problem == "" || strings.HasSuffix(e.Rule, e.Problem) {
			return b.String()
		}
		fmt.Fprintf(&b, ": %s %s", e.Field, e.Problem)
		return b.String()
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// VariableV3 is the environment variable by which programs accept charts of the
// experimental apiVersion v3.
const VariableV3 = "HELM_EXPERIMENTAL_CHART_V3"

// CheckV3 returns an [*InvalidError] for a chart of the experimental apiVersion v3,
// unless such charts are accepted.
func (m *Metadata) CheckV3(accepted bool) error {
	if m.APIVersion != APIVersionV3 || accepted {
		return nil
	}
	return &InvalidError{
		File: FileMetadata, Field: "apiVersion",
		Problem: `is "v3", which is experimental; set ` + VariableV3 + "=1 in your environment to use such charts",
	}
}

// Validate checks the rules that every chart must keep to be loaded. The error
// joins an [*InvalidError] for every broken rule; [Locate] adds their lines. The
// experimental [APIVersionV3] has the rules of v2; see [Metadata.CheckV3].
func (m *Metadata) Validate() error {
	var errs []error
	breaks := func(rule, field, format string, args ...any) {
		errs = append(errs,
			&InvalidError{File: FileMetadata, Field: field, Problem: fmt.Sprintf(format, args...), Rule: rule})
	}
	bad := func(field, format string, args ...any) { breaks("", field, format, args...) }
	switch m.APIVersion {
	case "":
		bad("apiVersion", "is required (v2 for a new chart)")
	case APIVersionV1, APIVersionV2, APIVersionV3:
	default:
		bad("apiVersion", "is %q, must be v1 or v2", m.APIVersion)
	}
	if err := ValidateName(m.Name); err != nil {
		rule := fmt.Sprintf("chart.metadata.name %q is invalid", m.Name)
		if m.Name == "" {
			rule = "chart.metadata.name is required"
		}
		breaks(rule, "name", "%s", err)
	}
	if m.Version == "" {
		breaks("chart.metadata.version is required", "version", "is required")
	} else if err := ValidateVersion(m.Version); err != nil {
		breaks(fmt.Sprintf("chart.metadata.version %q is invalid", m.Version), "version", "%s", err)
	}
	switch m.Type {
	case "", TypeApplication, TypeLibrary:
	default:
		breaks("chart.metadata.type must be application or library", "type", "is %q, must be application or library", m.Type)
	}
	for i, mt := range m.Maintainers {
		if mt == nil {
			bad(fmt.Sprintf("maintainers[%d]", i), "is empty, must have a name")
		}
	}
	validateDependencies("dependencies", m.Dependencies, breaks)
	validateDependencies("libraries", m.Libraries, breaks)
	return errors.Join(errs...)
}

func validateDependencies(field string, deps []*Dependency, breaks func(rule, field, format string, args ...any)) {
	bad := func(field, format string, args ...any) { breaks("", field, format, args...) }
	seen := make(map[string]int, len(deps))
	for i, d := range deps {
		at := fmt.Sprintf("%s[%d]", field, i)
		if d == nil {
			bad(at, "is empty, must have a name and a version")
			continue
		}
		if !validAlias(d.Alias) {
			breaks(fmt.Sprintf("dependency %q has disallowed characters in the alias", d.Name), at+".alias",
				"is %q, may hold only letters, digits, '-' and '_'", d.Alias)
		}
		key := d.Name
		if d.Alias != "" {
			key = d.Alias
		}
		if first, dup := seen[key]; dup {
			bad(at, "uses the name %q again (first in %s[%d]); give one of them an alias", key, field, first)
		} else {
			seen[key] = i
		}
		for j, name := range d.DependsOn {
			if name == "" {
				bad(fmt.Sprintf("%s.depends-on[%d]", at, j), "is empty, must name another dependency")
			} else if name == key {
				bad(fmt.Sprintf("%s.depends-on[%d]", at, j), "is the dependency itself, must name another one")
			}
		}
		for j, iv := range d.ImportValues {
			if !validImport(iv) {
				bad(fmt.Sprintf("%s.import-values[%d]", at, j), "must be a string, or a map with child and parent")
			}
		}
	}
}

// validAlias reports whether an alias, where there is one, can stand in a path
// and in values.
func validAlias(alias string) bool {
	return strings.IndexFunc(alias, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return false
		}
		return true
	}) < 0
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
// it can never lead out of a directory.
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

// ValidateVersion checks a chart's version: a semantic version, of which Helm
// lets the last parts be missing ("1", "v1.2"), and one path element.
func ValidateVersion(version string) error {
	if _, err := semver.NewVersion(version); err != nil {
		return fmt.Errorf("is %q, must be a semantic version such as 1.2.3", version)
	}
	return nil
}
