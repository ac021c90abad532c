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

// An InvalidError is returned for a Chart.yaml, requirements.yaml or lock file that is
// not valid.
type InvalidError struct {
	File string
	// Line is 1-based, or 0 if it is not known.
	Line int
	// Field is the path of the invalid field ("dependencies[1].alias"), or "" for an error
	// about the whole file.
	Field string
	// Problem follows Field in the message: "is required".
	Problem string
	// Rule is Helm's message for the violated rule, or "" if Helm has none.
	Rule string
	// Syntax is set if the file is not YAML.
	Syntax bool
}

func (e *InvalidError) Error() string {
	var b strings.Builder
	if e.Syntax { // Helm's message
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

// VariableV3 is the environment variable that enables charts with the experimental
// apiVersion v3.
const VariableV3 = "HELM_EXPERIMENTAL_CHART_V3"

// CheckV3 returns an [*InvalidError] for a chart with the experimental apiVersion v3,
// unless accepted is set.
func (m *Metadata) CheckV3(accepted bool) error {
	if m.APIVersion != APIVersionV3 || accepted {
		return nil
	}
	return &InvalidError{
		File: FileMetadata, Field: "apiVersion",
		Problem: `is "v3", which is experimental; set ` + VariableV3 + "=1 in your environment to use such charts",
	}
}

// Validate checks the rules for charts that can be loaded. The error joins an
// [*InvalidError] for every violation; [Locate] adds their lines. The rules of the
// experimental [APIVersionV3] are those of v2; see [Metadata.CheckV3].
func (m *Metadata) Validate() error {
	var errs []error
	addRuleError := func(rule, field, format string, args ...any) {
		errs = append(errs,
			&InvalidError{File: FileMetadata, Field: field, Problem: fmt.Sprintf(format, args...), Rule: rule})
	}
	addError := func(field, format string, args ...any) { addRuleError("", field, format, args...) }
	switch m.APIVersion {
	case "":
		addError("apiVersion", "is required (v2 for a new chart)")
	case APIVersionV1, APIVersionV2, APIVersionV3:
	default:
		addError("apiVersion", "is %q, must be v1 or v2", m.APIVersion)
	}
	if err := ValidateName(m.Name); err != nil {
		rule := fmt.Sprintf("chart.metadata.name %q is invalid", m.Name)
		if m.Name == "" {
			rule = "chart.metadata.name is required"
		}
		addRuleError(rule, "name", "%s", err)
	}
	if m.Version == "" {
		addRuleError("chart.metadata.version is required", "version", "is required")
	} else if err := ValidateVersion(m.Version); err != nil {
		addRuleError(fmt.Sprintf("chart.metadata.version %q is invalid", m.Version), "version", "%s", err)
	}
	switch m.Type {
	case "", TypeApplication, TypeLibrary:
	default:
		addRuleError("chart.metadata.type must be application or library",
			"type", "is %q, must be application or library", m.Type)
	}
	for i, mt := range m.Maintainers {
		if mt == nil {
			addError(fmt.Sprintf("maintainers[%d]", i), "is empty, must have a name")
		}
	}
	validateDependencies("dependencies", m.Dependencies, addRuleError)
	validateDependencies("libraries", m.Libraries, addRuleError)
	m.validateMoved(addError)
	return errors.Join(errs...)
}

func validateDependencies(
	field string, deps []*Dependency, addRuleError func(rule, field, format string, args ...any),
) {
	addError := func(field, format string, args ...any) { addRuleError("", field, format, args...) }
	seen := make(map[string]int, len(deps))
	for i, d := range deps {
		entry := fmt.Sprintf("%s[%d]", field, i)
		if d == nil {
			addError(entry, "is empty, must have a name and a version")
			continue
		}
		if !isValidAlias(d.Alias) {
			addRuleError(fmt.Sprintf("dependency %q has disallowed characters in the alias", d.Name), entry+".alias",
				"is %q, may contain only letters, digits, '-' and '_'", d.Alias)
		}
		key := d.Name
		if d.Alias != "" {
			key = d.Alias
		}
		if first, dup := seen[key]; dup {
			addError(entry, "uses the name %q again (first in %s[%d]); give one of them an alias", key, field, first)
		} else {
			seen[key] = i
		}
		for j, name := range d.DependsOn {
			if name == "" {
				addError(fmt.Sprintf("%s.depends-on[%d]", entry, j), "is empty, must name another dependency")
			} else if name == key {
				addError(fmt.Sprintf("%s.depends-on[%d]", entry, j), "is the dependency itself, must name another one")
			}
		}
		for j, iv := range d.ImportValues {
			if !isValidImport(iv) {
				addError(fmt.Sprintf("%s.import-values[%d]", entry, j),
					"must be a string, or a map with child and parent")
			}
		}
		for j, ev := range d.ExportValues {
			if !isValidExport(ev) {
				addError(fmt.Sprintf("%s.export-values[%d]", entry, j),
					"must be a string, or a map with parent and child; parent is the path of a key")
			}
		}
	}
}

// isValidExport reports whether ev is a valid entry of export-values.
func isValidExport(ev any) bool {
	switch v := ev.(type) {
	case string:
		return v != ""
	case map[string]any:
		parent, okp := v["parent"].(string)
		child, okc := v["child"].(string)
		return okp && okc && parent != "" && parent != "." && child != ""
	}
	return false
}

// isValidAlias reports whether alias can be used in a path and as a key of values. The
// empty alias is valid.
func isValidAlias(alias string) bool {
	return strings.IndexFunc(alias, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return false
		}
		return true
	}) < 0
}

func isValidImport(iv any) bool {
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

// ValidateName checks a chart's name. It must be a single path element, so that it cannot
// lead out of a directory.
func ValidateName(name string) error {
	switch {
	case name == "":
		return errors.New("is required")
	case name == "." || name == ".." || name != path.Base(name) || strings.ContainsAny(name, `/\`):
		return fmt.Errorf("is %q, must be a plain name without slashes or dots alone", name)
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("is %q, must not contain control characters", name)
	}
	return nil
}

// ValidateVersion checks a chart's version: a semantic version, in which, as in Helm, the
// last parts may be missing ("1", "v1.2"), so also a single path element.
func ValidateVersion(version string) error {
	if _, err := semver.NewVersion(version); err != nil {
		return fmt.Errorf("is %q, must be a semantic version such as 1.2.3", version)
	}
	return nil
}
