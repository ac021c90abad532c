// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// ParseMetadata parses Chart.yaml. It ignores unknown fields. As in Helm, a number or
// a boolean in place of a string becomes the string that the YAML decoder prints for it
// (1.10 becomes "1.1"), and a missing apiVersion means v1. ParseMetadata calls
// [Metadata.Sanitize] but does not check the rules of [Metadata.Validate].
//
// Errors are of type [*InvalidError], joined if there are several, and have name as
// their file.
func ParseMetadata(name string, data []byte) (*Metadata, error) {
	m := new(Metadata)
	if err := decode(name, data, m); err != nil {
		return nil, err
	}
	if m.APIVersion == "" {
		m.APIVersion = APIVersionV1
	}
	m.Sanitize()
	return m, nil
}

// Requirements is the content of requirements.yaml, which has the dependencies of charts
// with apiVersion v1.
type Requirements struct {
	Dependencies []*Dependency `json:"dependencies,omitempty"`
	Libraries    []*Dependency `json:"libraries,omitempty"`
}

// ParseRequirements parses requirements.yaml by the rules of [ParseMetadata]. If the key
// "dependencies" is missing, it reads "requirements", the key that Helm's design document
// for library charts has.
func ParseRequirements(name string, data []byte) (*Requirements, error) {
	var read struct {
		Dependencies []*Dependency `json:"dependencies"`
		Libraries    []*Dependency `json:"libraries"`
		Other        []*Dependency `json:"requirements"`
	}
	if err := decode(name, data, &read); err != nil {
		return nil, err
	}
	r := &Requirements{Dependencies: read.Dependencies, Libraries: read.Libraries}
	if r.Dependencies == nil {
		r.Dependencies = read.Other
	}
	sanitizeDependencies(r.Dependencies)
	sanitizeDependencies(r.Libraries)
	return r, nil
}

// ParseLock parses Chart.lock or requirements.lock by the rules of [ParseMetadata].
// An empty dependency is an error.
func ParseLock(name string, data []byte) (*Lock, error) {
	l := new(Lock)
	if err := decode(name, data, l); err != nil {
		return nil, err
	}
	for i, d := range l.Dependencies {
		if d == nil {
			err := &InvalidError{File: name, Field: fmt.Sprintf("dependencies[%d]", i),
				Problem: "is empty, must have a name and a version"}
			return nil, Locate(name, data, err)
		}
	}
	sanitizeDependencies(l.Dependencies)
	return l, nil
}

func decode(name string, data []byte, into any) error {
	err := yaml.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	if found := diagnose(name, data, into); found != nil {
		return found
	}
	return syntaxError(name, err)
}

// Sanitize makes the fields that commands print safe for a terminal: it replaces every
// kind of white space by a blank and removes control characters.
func (m *Metadata) Sanitize() {
	for _, s := range []*string{&m.Name, &m.Description, &m.Home, &m.Icon, &m.Condition, &m.Tags, &m.AppVersion,
		&m.KubeVersion} {
		*s = printable(*s)
	}
	for i, s := range m.Sources {
		m.Sources[i] = printable(s)
	}
	for i, s := range m.Keywords {
		m.Keywords[i] = printable(s)
	}
	for _, mt := range m.Maintainers {
		if mt != nil {
			mt.Name, mt.Email, mt.URL = printable(mt.Name), printable(mt.Email), printable(mt.URL)
		}
	}
	sanitizeDependencies(m.Dependencies)
	sanitizeDependencies(m.Libraries)
}

func sanitizeDependencies(deps []*Dependency) {
	for _, d := range deps {
		if d == nil {
			continue
		}
		d.Name, d.Version, d.Repository, d.Condition = printable(d.Name), printable(d.Version), printable(d.Repository),
			printable(d.Condition)
		for i, t := range d.Tags {
			d.Tags[i] = printable(t)
		}
		for _, iv := range slices.Concat(d.ImportValues, d.ExportValues) {
			if m, ok := iv.(map[string]any); ok {
				stringifyScalars(m)
			}
		}
	}
}

// stringifyScalars replaces numbers and booleans given as paths in an entry of import-values or
// export-values ("child: 8080") by strings.
func stringifyScalars(m map[string]any) {
	for _, k := range []string{"child", "parent"} {
		switch v := m[k].(type) {
		case bool, float64, int64:
			m[k] = fmt.Sprint(v)
		}
	}
}

// printable returns s with every white space character replaced by a blank and without
// other unprintable characters, such as the escape character.
func printable(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, s)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
