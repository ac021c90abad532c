// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Entry is one version of a chart. Its Name is the key in the index, regardless of the name in
// the entry.
type Entry struct {
	chart.Metadata `json:",inline"`

	// URLs are the URLs of the archive, which may be relative to the repository's.
	URLs    []string  `json:"urls"`
	Created time.Time `json:"created"`
	Removed bool      `json:"removed,omitempty"`
	// Digest is the archive's SHA-256 as in the index.
	Digest string `json:"digest,omitempty"`

	Legacy `json:",inline"`
}

// Legacy are fields of old entries. They have no meaning and are kept when indexes are
// merged.
type Legacy struct {
	Checksum      string `json:"checksum,omitempty"`
	Engine        string `json:"engine,omitempty"`
	TillerVersion string `json:"tillerVersion,omitempty"`
	URL           string `json:"url,omitempty"`
}

// decoder decodes the values of a tape. It keeps the first error.
type decoder struct {
	tape
	field, problem string
}

func (d *decoder) bad(field, format string, args ...any) {
	if d.problem == "" {
		d.field, d.problem = field, fmt.Sprintf(format, args...)
	}
}

// each calls do for each key of the table at index i, with the index of its value, unless the
// value is null.
func (d *decoder) each(i int, field string, do func(key string, v int)) {
	if d.null(i) {
		return
	}
	if d.tape[i].kind != table {
		d.bad(field, "is %s, must be a table", d.tape[i].kind)
		return
	}
	for k := i + 1; k < d.tape[i].end; k = d.tape[k+1].end {
		if !d.null(k + 1) {
			do(d.tape[k].text, k+1)
		}
	}
}

// items calls do for each value of the list at index i.
func (d *decoder) items(i int, field string, do func(v int)) {
	if d.null(i) {
		return
	}
	if d.tape[i].kind != list {
		d.bad(field, "is %s, must be a list", d.tape[i].kind)
		return
	}
	for v := i + 1; v < d.tape[i].end; v = d.tape[v].end {
		do(v)
	}
}

func (d *decoder) text(i int, field string) string {
	if d.null(i) {
		return ""
	}
	if d.tape[i].kind != scalar {
		d.bad(field, "is %s, must be text", d.tape[i].kind)
	}
	return d.tape[i].text
}

func (d *decoder) texts(i int, field string) []string {
	var out []string
	d.items(i, field, func(v int) {
		if out == nil {
			out = make([]string, 0, 4)
		}
		out = append(out, d.text(v, field))
	})
	return out
}

func (d *decoder) flag(i int, field string) bool {
	if d.tape[i].kind == scalar && d.tape[i].plain {
		if v, known := yaml.Word(d.tape[i].text); known {
			return v == true
		}
	}
	d.bad(field, "must be true or false")
	return false
}

// when decodes a time. An invalid time is ignored.
func (d *decoder) when(i int) time.Time {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, d.tape[i].text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// entry decodes and checks the entry at index i.
func (d *decoder) entry(i int, e *Entry) {
	if d.tape[i].kind != table {
		if d.null(i) {
			d.bad("", "is empty")
		} else {
			d.bad("", "is %s, must be a table", d.tape[i].kind)
		}
		return
	}
	d.each(i, "", func(key string, v int) {
		switch key {
		case "urls":
			e.URLs = d.texts(v, key)
		case "created":
			e.Created = d.when(v)
		case "removed":
			e.Removed = d.flag(v, key)
		case "digest":
			e.Digest = d.text(v, key)
		case "checksum":
			e.Checksum = d.text(v, key)
		case "engine":
			e.Engine = d.text(v, key)
		case "tillerVersion":
			e.TillerVersion = d.text(v, key)
		case "url":
			e.URL = d.text(v, key)
		default:
			d.metadata(key, v, &e.Metadata)
		}
	})
	if e.APIVersion == "" {
		e.APIVersion = chart.APIVersionV1
	}
	e.Sanitize()
	d.check(&e.Metadata)
}

func (d *decoder) metadata(key string, v int, m *chart.Metadata) {
	switch key {
	case "name":
		m.Name = d.text(v, key)
	case "home":
		m.Home = d.text(v, key)
	case "sources":
		m.Sources = d.texts(v, key)
	case "version":
		m.Version = d.text(v, key)
	case "description":
		m.Description = d.text(v, key)
	case "keywords":
		m.Keywords = d.texts(v, key)
	case "maintainers":
		d.items(v, key, func(v int) { m.Maintainers = append(m.Maintainers, d.maintainer(v, key)) })
	case "icon":
		m.Icon = d.text(v, key)
	case "apiVersion":
		m.APIVersion = d.text(v, key)
	case "condition":
		m.Condition = d.text(v, key)
	case "tags":
		m.Tags = d.text(v, key)
	case "appVersion":
		m.AppVersion = d.text(v, key)
	case "deprecated":
		m.Deprecated = d.flag(v, key)
	case "annotations":
		d.each(v, key, func(name string, v int) {
			if m.Annotations == nil {
				m.Annotations = make(map[string]string, 4)
			}
			m.Annotations[name] = d.text(v, key)
		})
	case "kubeVersion":
		m.KubeVersion = d.text(v, key)
	case "dependencies":
		d.items(v, key, func(v int) { m.Dependencies = append(m.Dependencies, d.dependency(v, key)) })
	case "libraries":
		d.items(v, key, func(v int) { m.Libraries = append(m.Libraries, d.dependency(v, key)) })
	case "type":
		m.Type = d.text(v, key)
	}
}

func (d *decoder) maintainer(i int, field string) *chart.Maintainer {
	if d.null(i) {
		d.bad(field, "have an empty one")
		return nil
	}
	m := new(chart.Maintainer)
	d.each(i, field, func(key string, v int) {
		switch key {
		case "name":
			m.Name = d.text(v, field)
		case "email":
			m.Email = d.text(v, field)
		case "url":
			m.URL = d.text(v, field)
		}
	})
	return m
}

func (d *decoder) dependency(i int, field string) *chart.Dependency {
	if d.null(i) {
		d.bad(field, "have an empty one")
		return nil
	}
	out := new(chart.Dependency)
	d.each(i, field, func(key string, v int) {
		switch key {
		case "name":
			out.Name = d.text(v, field)
		case "version":
			out.Version = d.text(v, field)
		case "repository":
			out.Repository = d.text(v, field)
		case "condition":
			out.Condition = d.text(v, field)
		case "tags":
			out.Tags = d.texts(v, field)
		case "enabled":
			out.Enabled = d.flag(v, field)
		case "import-values":
			d.items(v, field, func(v int) { out.ImportValues = append(out.ImportValues, d.anything(v)) })
		case "alias":
			out.Alias = d.text(v, field)
		case "depends-on":
			out.DependsOn = d.texts(v, field)
		case "export-values":
			d.items(v, field, func(v int) { out.ExportValues = append(out.ExportValues, d.anything(v)) })
		}
	})
	return out
}

// anything returns the value at index i, with scalars as strings.
func (d *decoder) anything(i int) any {
	switch {
	case d.null(i):
		return nil
	case d.tape[i].kind == table:
		m := map[string]any{}
		d.each(i, "", func(key string, v int) { m[key] = d.anything(v) })
		return m
	case d.tape[i].kind == list:
		out := []any{}
		d.items(i, "", func(v int) { out = append(out, d.anything(v)) })
		return out
	}
	return d.tape[i].text
}

// check checks an entry with Helm's rules for entries of an index.
func (d *decoder) check(m *chart.Metadata) {
	if err := chart.ValidateName(m.Name); err != nil {
		d.bad("name", "%s", err)
	}
	switch {
	case m.Version == "":
		d.bad("version", "is required")
	case !isRelease(m.Version):
		if err := chart.ValidateVersion(m.Version); err != nil {
			d.bad("version", "%s", err)
		}
	}
	switch m.Type {
	case "", chart.TypeApplication, chart.TypeLibrary:
	default:
		d.bad("type", "is %q, must be application or library", m.Type)
	}
	for _, dep := range m.Dependencies {
		if dep != nil &&
			strings.IndexFunc(dep.Alias, func(r rune) bool {
				return r >= 0x80 || r != '-' && !yaml.IsWordByte(byte(r))
			}) >= 0 {
			d.bad("dependencies", "have the alias %q, which may contain only letters, digits, '-' and '_'", dep.Alias)
		}
	}
}
