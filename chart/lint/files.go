// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// checkValues checks values.yaml, and that the chart has at most one schema.
func (l *linter) checkValues() {
	const name = chart.FileValues
	f := l.files[name]
	switch {
	case f != nil:
		if _, err := values.Parse(name, f.Data); err != nil {
			var bad *values.ParseError
			if errors.As(err, &bad) {
				l.add(Error, name, bad.Line, "unable to parse YAML: %s%s", bad.Problem, excerpt(f, bad.Line))
			} else {
				l.add(Error, name, 0, "unable to parse YAML: %s", err)
			}
		}
		for _, k := range duplicates(yaml.Root(f.Data), 0) {
			l.add(Info, name, k.line, "key %q is set twice in the same map; the last one counts", k.key)
		}
	case l.firstUnder(name) != "":
		l.add(Error, name, 0, "is a directory, must be a file")
	default:
		l.add(Info, name, 0, "file does not exist")
	}
	if l.files[chart.FileSchema] != nil && l.files[chart.FileSchemaYAML] != nil {
		l.add(Error, chart.FileSchemaYAML, 0, "the chart has %s too: remove one of them (%s takes precedence)",
			chart.FileSchema, chart.FileSchemaYAML)
	}
}

// excerpt returns the lines of a file around a line, after a newline, or "" if the line is 0.
func excerpt(f *chart.File, line int) string {
	if f == nil || line == 0 {
		return ""
	}
	return "\n" + yaml.Excerpt(string(f.Data), line)
}

// checkTemplates checks the files of templates/ before they are rendered: their names, and
// uses of removed features.
func (l *linter) checkTemplates(m *chart.Metadata) {
	const dir = chart.DirTemplates
	files := l.filesIn(dir)
	switch {
	case l.files[dir] != nil:
		l.add(Error, dir, 0, "is a file, must be a directory")
	case len(files) == 0 && !slices.Contains(l.in.Directories, dir):
		l.add(Warning, dir+"/", 0, "directory does not exist")
	}
	for _, f := range files {
		switch ext := path.Ext(f.Name); ext {
		case ".yaml", ".yml", ".tpl", ".txt":
		default:
			l.add(Error, f.Name, 0, "file extension '%s' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt", ext)
		}
		l.checkReleaseTime(f)
		if m != nil && strings.EqualFold(m.Type, chart.TypeLibrary) {
			l.library(f, "")
		}
	}
}

// checkReleaseTime reports template expressions with a value that Helm 3 removed.
func (l *linter) checkReleaseTime(f *chart.File) {
	const removed = ".Release.Time"
	text := string(f.Data)
	for offset := 0; ; offset += len(removed) {
		i := strings.Index(text[offset:], removed)
		if i < 0 {
			return
		}
		offset += i
		start, end := strings.LastIndex(text[:offset], "{{"), strings.LastIndex(text[:offset], "}}")
		if start > end && !isTemplateComment(text[start+len("{{"):]) {
			l.add(Info, f.Name, lineAt(text, offset), "%s was removed in Helm 3; use the function now, or a value", removed)
		}
	}
}

// isTemplateComment reports whether the text of an action, after its braces, is a comment.
func isTemplateComment(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, "- "), "/*")
}

// lineAt returns the 1-based line of the byte at offset.
func lineAt(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
