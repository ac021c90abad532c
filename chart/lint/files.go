// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// checkValues checks values.yaml and that there is one schema at most.
func (l *linter) checkValues() {
	const name = chart.FileValues
	f := l.files[name]
	switch {
	case f != nil:
		if _, err := values.Parse(name, f.Data); err != nil {
			var bad *values.ParseError
			if errors.As(err, &bad) {
				l.add(Error, name, bad.Line, "unable to parse YAML: %s", bad.Problem)
			} else {
				l.add(Error, name, 0, "unable to parse YAML: %s", err)
			}
		}
	case l.firstBelow(name) != "":
		l.add(Error, name, 0, "is a directory, must be a file")
	default:
		l.add(Info, name, 0, "file does not exist")
	}
	if l.files[chart.FileSchema] != nil && l.files[chart.FileSchemaYAML] != nil {
		l.add(Error, chart.FileSchemaYAML, 0, "the chart has %s too, keep one of them; as long as both are there, %s counts",
			chart.FileSchema, chart.FileSchemaYAML)
	}
}

// templates checks the files of templates/ as they are there.
func (l *linter) templates(m *chart.Metadata) {
	const dir = chart.DirTemplates
	files := l.below(dir)
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
		l.releaseTime(f)
		if m != nil && strings.EqualFold(m.Type, chart.TypeLibrary) {
			l.library(f, "")
		}
	}
}

// releaseTime finds uses of a value that Helm 3 removed.
func (l *linter) releaseTime(f *chart.File) {
	const gone = ".Release.Time"
	text := string(f.Data)
	for at := 0; ; {
		i := strings.Index(text[at:], gone)
		if i < 0 {
			return
		}
		at += i + len(gone)
		open, shut := strings.LastIndex(text[:at], "{{"), strings.LastIndex(text[:at], "}}")
		if open > shut && !strings.HasPrefix(strings.TrimLeft(text[open+2:], "- "), "/*") {
			l.add(Info, f.Name, lineAt(text, at-len(gone)), "%s is gone since Helm 3; use now, or a value of the user's", gone)
		}
	}
}

// lineAt is the line of a byte of text, from 1.
func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }
