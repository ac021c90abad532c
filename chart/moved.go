// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"path"
	"strings"
)

// Moved is one entry of "moved" in Chart.yaml: what objects of earlier versions of the chart are
// called in this version. It has one of three forms:
//
//   - Kind with From.Name and To.Name (or From.Namespace and To.Namespace): an object with another
//     name. Names and namespaces may be templates.
//   - From.Chart and To.Chart: the objects of one subchart are those of another.
//   - From.Directory and To.Directory: definitions that have moved from templates/ to crds/, or back.
//
// Helm ignores the field.
type Moved struct {
	// APIVersion limits the entry to kinds of its group. Kind is required for names.
	APIVersion string     `json:"apiVersion,omitempty"`
	Kind       string     `json:"kind,omitempty"`
	From       MovedPlace `json:"from"`
	To         MovedPlace `json:"to"`
	// Recreate says what becomes of an object whose name differs: with true it is created under
	// the new name and the old one is deleted, with false it keeps its old name.
	Recreate *bool `json:"recreate,omitempty"`
	// Order is the order in which an object is recreated: [MoveCreateFirst], [MoveDeleteFirst], or
	// "" for the first unless the two objects exclude each other.
	Order string `json:"order,omitempty"`
}

// MovedPlace is one side of [Moved].
type MovedPlace struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Chart is the path of a subchart, of names or aliases: "backend/db"; "." is the chart itself.
	Chart string `json:"chart,omitempty"`
	// Directory is "templates" or "crds".
	Directory string `json:"directory,omitempty"`
}

// The values of [Moved.Order].
const (
	MoveCreateFirst = "create-first"
	MoveDeleteFirst = "delete-first"
)

// IsName reports whether the entry is about a single object.
func (m *Moved) IsName() bool {
	return m.From.Name+m.To.Name+m.From.Namespace+m.To.Namespace != "" && m.From.Directory+m.To.Directory == ""
}

// HasMoved reports whether c or a chart below it has entries of "moved".
func (c *Chart) HasMoved() bool {
	found := false
	c.Walk(func(c *Chart) { found = found || c.Metadata != nil && len(c.Metadata.Moved) > 0 })
	return found
}

// maxMoved is the maximum number of entries of "moved".
const maxMoved = 1000

// validateMoved checks the entries of "moved", as far as they are not templates.
func (m *Metadata) validateMoved(addError func(field, format string, args ...any)) {
	if len(m.Moved) > maxMoved {
		addError("moved", "has %d entries, may have at most %d", len(m.Moved), maxMoved)
		return
	}
	for i, e := range m.Moved {
		at := fmt.Sprintf("moved[%d]", i)
		add := func(field, format string, args ...any) {
			addError(strings.TrimSuffix(at+"."+field, "."), format, args...)
		}
		if e == nil {
			add("", "is empty, must have from and to")
			continue
		}
		e.validate(add)
	}
}

func (m *Moved) validate(add func(field, format string, args ...any)) {
	names, charts, dirs := m.IsName(), m.From.Chart+m.To.Chart != "", m.From.Directory+m.To.Directory != ""
	switch {
	case !names && !charts && !dirs:
		add("", "must have name, chart or directory in from and to")
		return
	case names && charts, charts && dirs:
		add("", "must have one of name, chart and directory: write an entry for each")
		return
	case dirs:
		m.validateDirectories(add)
	case charts:
		m.validateCharts(add)
	default:
		m.validateNames(add)
	}
	switch {
	case m.Order == "":
	case m.Order != MoveCreateFirst && m.Order != MoveDeleteFirst:
		add("order", "is %q, must be %s or %s", m.Order, MoveCreateFirst, MoveDeleteFirst)
	case m.Recreate == nil || !*m.Recreate:
		add("order", "needs recreate: true")
	}
}

// side is one side of an entry, with the name of its field.
type side struct {
	field string
	MovedPlace
}

func (m *Moved) sides() []side { return []side{{"from", m.From}, {"to", m.To}} }

func (m *Moved) validateNames(add func(field, format string, args ...any)) {
	if m.Kind == "" {
		add("kind", "is required, the kind of the object")
	}
	for _, side := range m.sides() {
		if side.Name == "" {
			add(side.field+".name", "is required, the name of the object")
		}
	}
	if m.From == m.To {
		add("to", "is the same as from")
	}
	if m.Recreate == nil {
		add("recreate", "is required: true creates the object under its new name and deletes the old one, "+
			"false keeps the old name")
	}
}

func (m *Moved) validateCharts(add func(field, format string, args ...any)) {
	for _, side := range m.sides() {
		if name := side.Chart; name == "" || name != path.Clean(name) || path.IsAbs(name) || strings.HasPrefix(name, "..") {
			add(side.field+".chart", `is %q, must be the path of a subchart, such as backend/db, or "." for the chart itself`,
				name)
		}
	}
	if m.From.Chart == m.To.Chart {
		add("to.chart", "is the same as from.chart")
	}
}

func (m *Moved) validateDirectories(add func(field, format string, args ...any)) {
	if m.Kind != "" && m.Kind != "CustomResourceDefinition" {
		add("kind", "is %q, must be CustomResourceDefinition: crds/ has nothing else", m.Kind)
	}
	for _, side := range m.sides() {
		if dir := side.Directory; dir != DirTemplates && dir != DirCRDs {
			add(side.field+".directory", "is %q, must be %s or %s", dir, DirTemplates, DirCRDs)
		}
	}
	if m.From.Directory == m.To.Directory {
		add("to.directory", "is the same as from.directory")
	}
	if m.To.Name != "" && m.To.Name != m.From.Name || m.From.Namespace+m.To.Namespace != "" {
		add("to", "has another name or a namespace: the name of a definition follows from its group and plural")
	}
	if m.Recreate != nil {
		add("recreate", "has no meaning for directories: a definition is never recreated")
	}
}
