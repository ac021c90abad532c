// SPDX-License-Identifier: Apache-2.0

// Package lint checks charts for errors, deprecated features and deviations from
// conventions.
//
//	findings := lint.Chart(lint.Input{Files: files, Chart: c, Kube: lint.KubeVersion{Major: 1, Minor: 34}})
//	findings = append(findings, lint.Objects(rendered, kube, nil)...)
//	for _, f := range lint.Sort(findings) {
//		fmt.Println(f)
//	}
//
// [Chart] checks a chart's files, which need not form a valid chart, and [Objects] checks
// the output of its templates. The severities are the same as Helm's, so a chart passes
// both linters or neither, except for version ranges that are not valid and fields of a wrong
// type, at which Helm's does not look. The package does not read files, render templates or
// validate values; package action does so and calls it.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// Severity is the severity of a finding.
type Severity int

// The severities in ascending order.
const (
	Info    Severity = iota // a recommendation
	Warning                 // a violated convention; fails a strict check
	Error                   // the chart cannot be installed, or not as intended
)

// String returns the severity as it is printed: "ERROR", "WARNING" or "INFO".
func (s Severity) String() string {
	switch s {
	case Error:
		return "ERROR"
	case Warning:
		return "WARNING"
	}
	return "INFO"
}

// Finding is a problem in a chart or a recommendation.
type Finding struct {
	Severity Severity
	// Path is the file's path in the chart, or "" for the whole chart.
	Path string
	// Line is 1-based, or 0 if it is not known.
	Line int
	// Message may have several lines.
	Message string
}

// Position returns the path and the line in the form that editors recognize: "path:line".
func (f Finding) Position() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return f.Path
}

// String returns the finding in Helm's format: "[ERROR] Chart.yaml:3: ...".
func (f Finding) String() string {
	return "[" + f.Severity.String() + "] " + f.Text()
}

// Text returns the finding without its severity. Lines of the message after the first are
// indented.
func (f Finding) Text() string {
	text := strings.ReplaceAll(strings.TrimRight(f.Message, "\n"), "\n", "\n\t")
	if f.Path == "" {
		return text
	}
	return f.Position() + ": " + text
}

// Worst returns the highest severity of findings, or -1 if there are none.
func Worst(findings []Finding) Severity {
	worst := Severity(-1)
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Sort sorts findings by file (Chart.yaml, values, templates, dependencies, CRDs, others)
// and line, and returns them without duplicates.
func Sort(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(rank(a.Path), rank(b.Path)),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(b.Severity, a.Severity),
		)
	})
	seen := make(map[Finding]bool, len(findings))
	return slices.DeleteFunc(findings, func(f Finding) bool {
		again := seen[f]
		seen[f] = true
		return again
	})
}

func rank(path string) int {
	switch top, _, _ := strings.Cut(path, "/"); top {
	case "":
		return 0
	case chart.FileMetadata:
		return 1
	case chart.FileRequirements, chart.FileLock, chart.FileRequirementsLock:
		return 2
	case chart.FileValues, chart.FileSchema, chart.FileSchemaYAML:
		return 3
	case chart.DirTemplates:
		return 4
	case chart.DirCharts, chart.DirLibrary:
		return 5
	case chart.DirCRDs:
		return 6
	}
	return 7
}

// Input is the chart that [Chart] checks. It need not be valid.
type Input struct {
	// Files are all files of the chart and its subcharts. Names are relative to the
	// chart's directory.
	Files []*chart.File
	// Directories are the names of directories in the chart's directory without files in
	// Files: all files in them are ignored, or there are none.
	Directories []string
	// Chart is the chart loaded from Files, or nil if loading failed.
	Chart *chart.Chart
	// Kube is the Kubernetes version to check the chart for.
	Kube KubeVersion
	// Schemas are the schemas that the files in crds/ must match, or nil.
	Schemas *Schemas
	// ChartV3 allows the experimental apiVersion v3.
	ChartV3 bool
}

// KubeVersion is a Kubernetes version without the patch version.
type KubeVersion struct{ Major, Minor int }

// Chart checks the files and the metadata of a chart. It returns the findings in no
// particular order; see [Sort].
func Chart(in Input) []Finding {
	l := &linter{files: make(map[string]*chart.File, len(in.Files)), in: in}
	for _, f := range in.Files {
		l.files[f.Name] = f
	}
	m := l.metadata()
	if l.files[chart.FileMetadata] == nil {
		return l.findings // not a chart: further findings would be noise
	}
	l.requirements(m)
	l.checkValues()
	l.checkListTypes()
	l.checkTemplates(m)
	l.crds()
	l.dependencies()
	l.libraries()
	return l.findings
}

// linter collects findings about one chart.
type linter struct {
	in       Input
	files    map[string]*chart.File
	findings []Finding
}

func (l *linter) add(s Severity, path string, line int, format string, args ...any) {
	if f := l.files[path]; f != nil {
		// YAML parsers report some errors after the last line.
		line = min(line, lineAt(string(f.Data), len(f.Data)))
	}
	l.findings = append(l.findings, Finding{s, path, line, fmt.Sprintf(format, args...)})
}

// filesIn returns the files below dir, sorted by name.
func (l *linter) filesIn(dir string) []*chart.File {
	var out []*chart.File
	for _, f := range l.in.Files {
		if strings.HasPrefix(f.Name, dir+"/") {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	return out
}
