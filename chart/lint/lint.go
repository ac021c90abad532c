// SPDX-License-Identifier: Apache-2.0

// Package lint finds what is wrong with a chart, or what could be better.
//
// In come a chart's files as they were read, which need not form a chart that
// loads, and the text that its templates rendered; out come findings, each with
// the file and, where it can be known, the line. The severities are those of
// Helm, so that a chart that passes there passes here and the reverse. The
// package reads no files, renders nothing and validates no schema: package action
// puts those steps around it.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// Severity says what a finding means for the chart.
type Severity int

// The severities, the mildest first.
const (
	Info    Severity = iota // could be better
	Warning                 // breaks with convention; fails a strict check
	Error                   // the chart cannot be installed, or not as it is meant
)

// String is the word that precedes a finding.
func (s Severity) String() string {
	switch s {
	case Error:
		return "ERROR"
	case Warning:
		return "WARNING"
	}
	return "INFO"
}

// Finding is one thing to know about a chart.
type Finding struct {
	Severity Severity
	// Path is the file from the chart's top, "" for the chart as a whole.
	Path string
	// Line counts from 1; 0 is where no single line is meant or known.
	Line int
	// Message may have several lines.
	Message string
}

// Position is the path and the line, as editors and terminals understand it.
func (f Finding) Position() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return f.Path
}

// String is the finding as Helm's users know it: "[ERROR] Chart.yaml:3: ...".
func (f Finding) String() string {
	return "[" + f.Severity.String() + "] " + f.Text()
}

// Text is the finding without its severity. Further lines of the message are
// indented.
func (f Finding) Text() string {
	text := strings.ReplaceAll(strings.TrimRight(f.Message, "\n"), "\n", "\n\t")
	if f.Path == "" {
		return text
	}
	return f.Position() + ": " + text
}

// Worst is the highest severity among findings, and -1 where there are none.
func Worst(findings []Finding) Severity {
	worst := Severity(-1)
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Sort puts findings in the order that people read a chart in: Chart.yaml,
// values, templates, dependencies, CRDs; within a file by line. It returns them
// without duplicates.
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

// Input is what there is of a chart, however broken.
type Input struct {
	// Files are all files of the chart, named from its top directory, those of
	// subcharts included.
	Files []*chart.File
	// Directories names top directories that exist although Files has nothing of them:
	// they are empty, or what is in them is ignored.
	Directories []string
	// Chart is what Files load to, nil where they do not load.
	Chart *chart.Chart
	// Kube is the Kubernetes version that the chart is checked for.
	Kube KubeVersion
	// ChartV3 accepts the experimental apiVersion v3.
	ChartV3 bool
}

// KubeVersion is the part of a Kubernetes version that APIs come and go with.
type KubeVersion struct{ Major, Minor int }

// Chart checks the files and the metadata of a chart. The findings are in no
// special order; see [Sort].
func Chart(in Input) []Finding {
	l := &linter{files: make(map[string]*chart.File, len(in.Files)), in: in}
	for _, f := range in.Files {
		l.files[f.Name] = f
	}
	m := l.metadata()
	if l.files[chart.FileMetadata] == nil {
		return l.findings // no chart, and nothing else worth saying about it
	}
	l.requirements(m)
	l.checkValues()
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
		// YAML readers notice some mistakes behind the last line only.
		line = min(line, lineAt(string(f.Data), len(f.Data)))
	}
	l.findings = append(l.findings, Finding{s, path, line, fmt.Sprintf(format, args...)})
}

// filesIn returns the files in a top directory, by name.
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
