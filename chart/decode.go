// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// ParseMetadata reads Chart.yaml. Unknown fields are dropped; a number or a
// boolean where a string belongs is taken as the YAML reader prints it (1.10
// becomes "1.1"), like Helm does; a missing apiVersion means v1. White space
// other than blanks becomes a blank and control characters disappear from
// everything that ends up on a terminal.
//
// name stands for the file in errors, which are of type [*InvalidError], joined
// where there are several. The rules of [Metadata.Validate] are not checked.
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

// Requirements is requirements.yaml: the dependencies of charts that predate
// apiVersion v2.
type Requirements struct {
	Dependencies []*Dependency `json:"dependencies,omitempty"`
	Libraries    []*Dependency `json:"libraries,omitempty"`
}

// ParseRequirements reads requirements.yaml by the rules of [ParseMetadata]. The
// design document of library charts writes "requirements:" for "dependencies:";
// where that key is missing, it counts.
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

// ParseLock reads Chart.lock or requirements.lock by the rules of
// [ParseMetadata]. An empty dependency in it is an error.
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

// Sanitize makes everything that ends up on a terminal printable, as
// [ParseMetadata] does.
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
		for _, iv := range d.ImportValues {
			if m, ok := iv.(map[string]any); ok {
				stringifyScalars(m)
			}
		}
	}
}

// stringifyScalars makes strings of the numbers and booleans that stand for
// paths in import-values' child-parent form ("child: 8080").
func stringifyScalars(m map[string]any) {
	for _, k := range []string{"child", "parent"} {
		switch v := m[k].(type) {
		case bool, float64, int64:
			m[k] = fmt.Sprint(v)
		}
	}
}

// printable keeps what can be shown: every kind of white space becomes a blank,
// what has no shape of its own (control characters, escapes) goes.
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
