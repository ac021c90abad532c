// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// issue is a finding about a field whose line is not yet known.
type issue struct {
	severity Severity
	field    string
	message  string
}

// metadata checks Chart.yaml and returns it, or nil if it cannot be parsed.
func (l *linter) metadata() *chart.Metadata {
	const name = chart.FileMetadata
	f := l.files[name]
	if f == nil {
		if strings.Contains(l.firstUnder(name), "/") {
			l.add(Error, name, 0, "is a directory, must be a file")
		} else {
			l.add(Error, name, 0, "file does not exist: this is not a chart's directory")
		}
		return nil
	}
	m, err := chart.ParseMetadata(name, f.Data)
	if err != nil {
		l.invalid(err, "unable to parse YAML: ")
		return nil
	}
	l.unknownFields(f)
	var raw map[string]any
	var issues []issue
	root := yaml.Root(f.Data)
	if yaml.Unmarshal(f.Data, &raw) == nil { // fails for values that JSON does not have, such as .inf
		issues = rawIssues(raw, root)
	}
	if v := written(root, "version"); v != "" && chart.ValidateVersion(v) == nil {
		m.Version = v
	}
	for _, bad := range append(invalidErrors(m.CheckV3(l.in.ChartV3)), invalidErrors(m.Validate())...) {
		issues = append(issues, issue{Error, bad.Field, sentence(bad)})
	}
	if _, err := m.CRDPolicy(); err != nil {
		for _, bad := range invalidErrors(err) {
			issues = append(issues, issue{Error, bad.Field, sentence(bad)})
		}
	}
	issues = append(issues, versionIssues(m)...)
	issues = append(issues, personIssues(m)...)
	issues = append(issues, linkIssues(m)...)
	issues = append(issues, kubeIssues(m, l.in.Kube)...)
	issues = append(issues, dependencyIssues(m.Dependencies)...)
	issues = append(issues, libraryIssues(m.Libraries)...)
	l.locate(f, issues)
	return m
}

// firstUnder returns the name of a file under a directory, or "" if there is none.
func (l *linter) firstUnder(dir string) string {
	if files := l.filesIn(dir); len(files) > 0 {
		return files[0].Name
	}
	return ""
}

// rawIssues returns the issues that ParseMetadata accepts: scalars of the wrong type, which
// it converts into strings, and a missing apiVersion.
func rawIssues(raw map[string]any, root *yaml.Node) []issue {
	var out []issue
	if v := field(raw, "apiVersion"); v == nil || v == "" {
		out = append(out, issue{Error, "apiVersion", `apiVersion is required; the value must be either "v1" or "v2"`})
	}
	for _, name := range []string{"version", "appVersion"} {
		v, ok := raw[name]
		if _, isString := v.(string); !ok || isString {
			continue
		}
		if v == nil {
			out = append(out,
				issue{Error, name, name + " should be of type string but it is empty; give it a value or remove it"})
			continue
		}
		out = append(out,
			issue{Error, name,
				fmt.Sprintf("%s should be of type string but it's of type %s; put it in quotes%s", name, kindOf(v),
					quoted(root, name))})
	}
	return out
}

// quoted returns how a field with a scalar is written in quotes.
func quoted(root *yaml.Node, name string) string {
	if text := written(root, name); text != "" {
		return fmt.Sprintf(": %s: %q", name, text)
	}
	return ""
}

// written returns the scalar of a field as it is written, because the decoder makes "1" of 1.0. It
// returns "" if the field has no scalar.
func written(root *yaml.Node, name string) string {
	n := yaml.Target(yaml.Value(root, name))
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" ||
		strings.ContainsFunc(n.Value, unicode.IsControl) {
		return ""
	}
	return n.Value
}

// field returns the value of a key. Like the decoder of Chart.yaml, it ignores case.
func field(raw map[string]any, name string) any {
	if v, ok := raw[name]; ok {
		return v
	}
	for k, v := range raw {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case float64, int64:
		return "number"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	}
	return fmt.Sprintf("%T", v)
}

func versionIssues(m *chart.Metadata) []issue {
	var out []issue
	// Validate returns an error for a version that is not valid at all.
	if _, err := semver.StrictNewVersion(m.Version); err != nil && chart.ValidateVersion(m.Version) == nil {
		out = append(out, issue{Warning, "version", fmt.Sprintf("version '%s' is not a valid SemVerV2", m.Version)})
	}
	if m.APIVersion != chart.APIVersionV2 && m.APIVersion != chart.APIVersionV3 {
		if m.Type != "" {
			out = append(out, issue{Error, "type", fmt.Sprintf("chart type is not valid in apiVersion '%s'. It is "+
				"valid in apiVersion 'v2'", m.APIVersion)})
		}
		if m.Dependencies != nil {
			out = append(out, issue{Error, "dependencies", fmt.Sprintf("dependencies are not valid in the Chart file with "+
				"apiVersion '%s'. They are valid in apiVersion 'v2'", m.APIVersion)})
		}
	}
	return out
}

func personIssues(m *chart.Metadata) []issue {
	var out []issue
	for i, p := range m.Maintainers {
		at := fmt.Sprintf("maintainers[%d]", i)
		if p == nil {
			continue // an error of its own
		}
		if p.Name == "" {
			out = append(out, issue{Error, at, "each maintainer requires a name"})
		}
		if p.Email != "" && !validEmail(p.Email) {
			out = append(out,
				issue{Error, at + ".email", fmt.Sprintf("invalid email '%s' for maintainer '%s'", p.Email, p.Name)})
		}
		if p.URL != "" && !validURL(p.URL) {
			out = append(out, issue{Error, at + ".url", fmt.Sprintf("invalid url '%s' for maintainer '%s'", p.URL, p.Name)})
		}
	}
	return out
}

func linkIssues(m *chart.Metadata) []issue {
	var out []issue
	for i, s := range m.Sources {
		if !validURL(s) {
			out = append(out, issue{Error, fmt.Sprintf("sources[%d]", i), fmt.Sprintf("invalid source URL '%s'", s)})
		}
	}
	switch {
	case m.Icon == "":
		out = append(out, issue{Info, "icon", "icon is recommended"})
	case !validURL(m.Icon):
		out = append(out, issue{Error, "icon", fmt.Sprintf("invalid icon URL '%s'", m.Icon)})
	}
	return out
}

// validURL reports whether text is an absolute URL of any scheme.
func validURL(text string) bool {
	u, err := url.ParseRequestURI(text)
	return err == nil && u.Scheme != ""
}

// kubeIssues checks kubeVersion. That it excludes the version is an Info only, because the chart may
// be for other clusters.
func kubeIssues(m *chart.Metadata, kube KubeVersion) []issue {
	if m.KubeVersion == "" {
		return nil
	}
	c, err := semver.NewConstraint(m.KubeVersion)
	if err != nil {
		return []issue{{Error, "kubeVersion", fmt.Sprintf("kubeVersion '%s' is not a version range, such as "+
			"'>=1.30.0-0': the chart cannot be installed", m.KubeVersion)}}
	}
	for patch := range uint64(50) {
		if c.Check(semver.New(uint64(kube.Major), uint64(kube.Minor), patch, "", "")) {
			return nil
		}
	}
	return []issue{{Info, "kubeVersion", fmt.Sprintf("kubeVersion '%s' excludes Kubernetes %d.%d, which "+
		"the chart is checked for", m.KubeVersion, kube.Major, kube.Minor)}}
}

// dependencyIssues checks the versions of dependencies, and what they wait for.
func dependencyIssues(deps []*chart.Dependency) []issue {
	var out []issue
	for i, d := range deps {
		if d == nil {
			continue
		}
		for j, name := range d.DependsOn {
			if !slices.ContainsFunc(deps,
				func(o *chart.Dependency) bool { return o != nil && (o.Name == name || o.Alias == name) }) {
				out = append(out, issue{Warning, fmt.Sprintf("dependencies[%d].depends-on[%d]", i, j),
					fmt.Sprintf("dependency %q waits for %q, which is not a dependency of the chart: nothing will wait for it",
						cmp.Or(d.Alias, d.Name), name)})
			}
		}
		if d.Version == "" {
			continue
		}
		if _, err := semver.NewConstraint(d.Version); err != nil {
			out = append(out, issue{Error, fmt.Sprintf("dependencies[%d].version", i),
				fmt.Sprintf("dependency %q: '%s' is neither a version nor a version range, such as '^1.2.0'", d.Name, d.Version)})
		}
	}
	return out
}

// requirements checks requirements.yaml and the lock files.
func (l *linter) requirements(m *chart.Metadata) {
	if f := l.files[chart.FileRequirements]; f != nil {
		r, err := chart.ParseRequirements(f.Name, f.Data)
		switch {
		case err != nil:
			l.invalid(err, "unable to parse YAML: ")
		case m != nil:
			l.locate(f, requirementIssues(r))
		}
	}
	for _, name := range []string{chart.FileLock, chart.FileRequirementsLock} {
		if f := l.files[name]; f != nil {
			if _, err := chart.ParseLock(name, f.Data); err != nil {
				l.invalid(err, "unable to parse YAML: ")
			}
		}
	}
}

func requirementIssues(r *chart.Requirements) []issue {
	// A valid chart, so that all issues are about the list.
	m := &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "x", Version: "1.0.0", Dependencies: r.Dependencies,
		Libraries: r.Libraries}
	out := append(dependencyIssues(r.Dependencies), libraryIssues(r.Libraries)...)
	for _, bad := range invalidErrors(m.Validate()) {
		out = append(out, issue{Error, bad.Field, sentence(bad)})
	}
	return out
}

// locate adds findings for the issues, with the lines of their fields.
func (l *linter) locate(f *chart.File, issues []issue) {
	if len(issues) == 0 {
		return
	}
	errs := make([]error, len(issues))
	for i, is := range issues {
		errs[i] = &chart.InvalidError{File: f.Name, Field: is.field}
	}
	for i, bad := range invalidErrors(chart.Locate(f.Name, f.Data, errors.Join(errs...))) {
		l.add(issues[i].severity, f.Name, bad.Line, "%s", issues[i].message)
	}
}

// invalid adds findings for an error from parsing a file.
func (l *linter) invalid(err error, prefix string) {
	for _, bad := range invalidErrors(err) {
		l.add(Error, bad.File, bad.Line, "%s%s%s", prefix, sentence(bad), excerpt(l.files[bad.File], bad.Line))
	}
}

func sentence(bad *chart.InvalidError) string {
	if bad.Field == "" {
		return bad.Problem
	}
	return bad.Field + " " + bad.Problem
}

// invalidErrors returns the errors that err joins.
func invalidErrors(err error) []*chart.InvalidError {
	if err == nil {
		return nil
	}
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	var out []*chart.InvalidError
	for _, e := range list {
		var bad *chart.InvalidError
		if !errors.As(e, &bad) {
			bad = &chart.InvalidError{Problem: e.Error()}
		}
		out = append(out, bad)
	}
	return out
}
