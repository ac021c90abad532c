// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/unused"
	"github.com/moonhelm/moonhelm/chart/values"
)

// source is the name of diagnostics' source.
const source = "helm"

// finding is a diagnostic of a line of a file in the tree.
type finding struct {
	file string
	line int // 1-based, or 0
	Diagnostic
}

func findingOf(f lint.Finding) finding {
	severity := SeverityInformation
	switch f.Severity {
	case lint.Error:
		severity = SeverityError
	case lint.Warning:
		severity = SeverityWarning
	case lint.Info:
	}
	d := Diagnostic{Severity: severity, Source: source, Message: f.Message}
	return finding{file: f.Path, line: f.Line, Diagnostic: d}
}

// unusedDefaults returns the keys of the tree's values.yaml that nothing reads.
func (t *tree) unusedDefaults(ctx context.Context) []finding {
	if t.chart == nil || t.texts[chart.FileValues] == nil {
		return nil
	}
	return t.unused(ctx, chart.FileValues, t.chart.Values, unused.Options{Defaults: true}, SeverityHint)
}

// unused returns the keys of a values file that nothing reads.
func (t *tree) unused(ctx context.Context, file string, vals map[string]any, o unused.Options,
	severity DiagnosticSeverity) []finding {
	keys, err := unused.Find(ctx, t.chart, vals, o)
	if err != nil {
		return nil // an error of a template is a finding of lint
	}
	lineOf := values.Lines([]byte(t.texts[file].data))
	var out []finding
	for _, k := range keys {
		k.Origin = values.Origin{}
		out = append(out, finding{file: file, line: lineOf(k.Path...), Diagnostic: Diagnostic{
			Severity: severity, Source: source, Message: k.String(), Tags: []int{tagUnnecessary},
		}})
	}
	return out
}

// isValuesFile reports whether a file has values for a chart, by its name.
func isValuesFile(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.Contains(base, "values") && (strings.HasSuffix(base, ".yaml") || strings.HasSuffix(base, ".yml"))
}

// userValues returns the findings of the open files of values for the chart, such as values-prod.yaml.
func (t *tree) userValues(ctx context.Context, open []string) []finding {
	var out []finding
	for _, name := range open {
		if isValues(name) || !isValuesFile(name) || isTemplate(name) || t.chart == nil || t.texts[name] == nil {
			continue
		}
		out = append(out, t.checkValues(ctx, name)...)
	}
	return out
}

// isValues reports whether a file is the values.yaml or the schema of a chart.
func isValues(name string) bool {
	return slices.Contains([]string{chart.FileValues, chart.FileSchemaYAML}, path.Base(name))
}

func (t *tree) checkValues(ctx context.Context, name string) []finding {
	text := []byte(t.texts[name].data)
	vals, err := values.Parse(name, text)
	if err != nil {
		line := 0
		var parse *values.ParseError
		if errors.As(err, &parse) {
			line, err = parse.Line, errors.New(parse.Problem)
		}
		return []finding{{file: name, line: line, Diagnostic: Diagnostic{
			Severity: SeverityError, Source: source, Message: err.Error(),
		}}}
	}
	out := t.unused(ctx, name, vals, unused.Options{}, SeverityWarning)
	res, err := values.Resolve(t.chart, vals)
	if err != nil {
		return out
	}
	var bad *schema.Error
	if !errors.As(schema.Validate(res.Chart, values.Rounded(res.Values)), &bad) {
		return out
	}
	lineOf := values.Lines(text)
	for _, v := range bad.Violations {
		keys := violationPath(t.chart, v)
		line := lineOf(keys...)
		for len(keys) > 0 && line == 0 {
			keys = keys[:len(keys)-1]
			line = lineOf(keys...)
		}
		out = append(out, finding{file: name, line: line, Diagnostic: Diagnostic{
			Severity: SeverityError, Source: source, Message: v.String(),
		}})
	}
	return out
}

// violationPath returns the path of a violation in the root's values, up to the first list.
func violationPath(root *chart.Chart, v schema.Violation) []string {
	path, _, _ := strings.Cut(v.Path, "[")
	keys := strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
	if v.Chart != root.Name() {
		keys = append([]string{v.Chart}, keys...)
	}
	return keys
}

// diagnostics returns the findings by the paths of their files.
func (t *tree) diagnostics(findings []finding) map[string][]Diagnostic {
	out := map[string][]Diagnostic{}
	for _, f := range findings {
		file, line := f.file, f.line
		if t.texts[file] == nil {
			file, line = t.existing(file), 0
		}
		if of := t.texts[file]; of != nil {
			f.Range = of.lineRange(line - 1)
		}
		name := filepath.Join(t.dir, filepath.FromSlash(file))
		out[name] = append(out[name], f.Diagnostic)
	}
	return out
}

// existing returns a file for a finding about one that does not exist, or about a directory.
func (t *tree) existing(file string) string {
	_, dir := t.chartOf(file + "/x")
	return path.Join(dir, chart.FileMetadata)
}
