// SPDX-License-Identifier: Apache-2.0

// Package chart defines a chart: its metadata, its files, its dependencies and the tree
// that it forms with its subcharts.
//
//	c, err := loader.Load("./web") // package chart/loader
//	...
//	c.Walk(func(c *chart.Chart) { fmt.Println(c.FullPath(), c.Version()) })
//
// Package chart/loader reads charts, package chart/values resolves their values, and
// package engine renders them.
package chart

import (
	"path"
	"slices"
	"strings"
)

// API versions of Chart.yaml.
const (
	APIVersionV1 = "v1"
	APIVersionV2 = "v2"
	APIVersionV3 = "v3" // experimental; read like v2
)

// Names of the files and directories that have a meaning in a chart.
const (
	FileMetadata         = "Chart.yaml"
	FileLock             = "Chart.lock"
	FileValues           = "values.yaml"
	FileSchema           = "values.schema.json"
	FileSchemaYAML       = "values.schema.yaml"
	FileRequirements     = "requirements.yaml"
	FileRequirementsLock = "requirements.lock"
	FileIgnore           = ".helmignore"
	FileNotes            = "NOTES.txt"

	DirTemplates = "templates"
	DirCharts    = "charts"
	DirCRDs      = "crds"
	DirLibrary   = "library"
	DirExt       = "ext"
)

// File is one file of a chart. Name is its path from the chart's top directory,
// with forward slashes on every platform.
type File struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Chart is one chart and, through [Chart.Dependencies], the tree below it. A chart that
// package chart/loader returned is never modified, so it is safe for concurrent use.
type Chart struct {
	// Metadata is the parsed Chart.yaml; never nil in a loaded chart.
	Metadata *Metadata
	// Lock is the parsed Chart.lock or requirements.lock, or nil if there is none.
	Lock *Lock
	// Templates are the files below templates/, in the order they were read.
	Templates []*File
	// Values are the parsed defaults of values.yaml; never nil in a loaded chart.
	Values map[string]any
	// Schema is the content of values.schema.json, or nil if there is none.
	Schema []byte
	// SchemaYAML is the content of values.schema.yaml, or nil if there is none. The
	// file is also in Files, because Helm has it there.
	SchemaYAML []byte
	// Files are all other files: README, LICENSE, crds/, ext/ and so on.
	Files []*File
	// Raw are all files of this chart as they were read. It has no files of subcharts.
	Raw []*File

	// FromLibrary is set for a chart in its parent's library/ directory. Such a
	// chart is a library, whatever its type.
	FromLibrary bool
	// Unaliased is the chart's name in its Chart.yaml if an alias replaced it in
	// Metadata, otherwise "".
	Unaliased string

	parent       *Chart
	dependencies []*Chart
}

// Name returns the chart's name, or "" if c has no metadata.
func (c *Chart) Name() string {
	if c.Metadata == nil {
		return ""
	}
	return c.Metadata.Name
}

// Version returns the chart's version, or "" if c has no metadata.
func (c *Chart) Version() string {
	if c.Metadata == nil {
		return ""
	}
	return c.Metadata.Version
}

// AppVersion returns the version of the application that the chart installs.
func (c *Chart) AppVersion() string {
	if c.Metadata == nil {
		return ""
	}
	return c.Metadata.AppVersion
}

// IsLibrary reports whether the chart is a library, whose templates provide definitions
// and render no objects: its type is library, or it or a chart above it is in library/.
func (c *Chart) IsLibrary() bool {
	if c.Metadata != nil && strings.EqualFold(c.Metadata.Type, TypeLibrary) {
		return true
	}
	for ; c != nil; c = c.parent {
		if c.FromLibrary {
			return true
		}
	}
	return false
}

// IsRoot reports whether the chart has no parent.
func (c *Chart) IsRoot() bool { return c.parent == nil }

// Parent returns the chart that contains c, or nil if c is a root.
func (c *Chart) Parent() *Chart { return c.parent }

// Root returns the topmost chart of c's tree.
func (c *Chart) Root() *Chart {
	for c.parent != nil {
		c = c.parent
	}
	return c
}

// Dependencies returns the charts directly below c. The caller must not modify the
// slice; see [Chart.SetDependencies].
func (c *Chart) Dependencies() []*Chart { return c.dependencies }

// Subcharts returns the dependencies in charts/. It leaves out charts in library/,
// which have no values and no objects whatever their type, but not charts of type
// library in charts/.
func (c *Chart) Subcharts() []*Chart {
	for i, d := range c.dependencies {
		if d.FromLibrary {
			out := append([]*Chart(nil), c.dependencies[:i]...)
			for _, d := range c.dependencies[i+1:] {
				if !d.FromLibrary {
					out = append(out, d)
				}
			}
			return out
		}
	}
	return c.dependencies
}

// SetDependencies replaces the charts below c and makes c their parent.
func (c *Chart) SetDependencies(charts ...*Chart) {
	c.dependencies = charts
	for _, d := range charts {
		d.parent = c
	}
}

// FullPath returns the path with which the names of the chart's templates begin:
// "parent/charts/child" for a subchart, "parent/library/child" for a chart in
// library/, and the name for a root.
func (c *Chart) FullPath() string {
	if c.parent == nil {
		return c.Name()
	}
	dir := DirCharts
	if c.FromLibrary {
		dir = DirLibrary
	}
	return c.parent.FullPath() + "/" + dir + "/" + c.Name()
}

// ChartPath returns the chart's dotted path in its tree: "parent.child".
func (c *Chart) ChartPath() string {
	if c.parent == nil {
		return c.Name()
	}
	return c.parent.ChartPath() + "." + c.Name()
}

// Walk calls fn for c and every chart below it, parents first.
func (c *Chart) Walk(fn func(*Chart)) {
	fn(c)
	for _, d := range c.dependencies {
		d.Walk(fn)
	}
}

// File returns the file in [Chart.Raw] with that name, or nil if there is none.
func (c *Chart) File(name string) *File {
	for _, f := range c.Raw {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// CRD is one file of crds/, with the chart it comes from.
type CRD struct {
	// Name is the file's path in its chart, e.g. "crds/cron.yaml".
	Name string
	// Source is the file's path from the root chart, as in "# Source:" comments.
	Source string
	Data   []byte
	Chart  *Chart
}

// CRDs returns the files in crds/ of c and of all charts below it: parents first, each
// chart's files sorted by name. As in Helm, charts in library/ are left out and charts
// of type library in charts/ are not.
func (c *Chart) CRDs() []CRD {
	var out []CRD
	for _, f := range c.Files {
		if strings.HasPrefix(f.Name, DirCRDs+"/") && isManifestName(f.Name) {
			out = append(out, CRD{Name: f.Name, Source: path.Join(c.FullPath(), f.Name), Data: f.Data, Chart: c})
		}
	}
	slices.SortStableFunc(out, func(a, b CRD) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range c.Subcharts() {
		out = append(out, d.CRDs()...)
	}
	return out
}

func isManifestName(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// Shallow returns a shallow copy of c without parent and dependencies. Resolving
// dependencies changes such copies, so that loaded charts stay unmodified.
func (c *Chart) Shallow() *Chart {
	d := *c
	d.parent, d.dependencies = nil, nil
	return &d
}

// CopyTree returns a copy of c and its dependencies without a parent. The copies share what
// charts contain: files, metadata and values must be replaced, not changed.
func (c *Chart) CopyTree() *Chart {
	d := c.Shallow()
	for _, sub := range c.dependencies {
		sub = sub.CopyTree()
		sub.parent = d
		d.dependencies = append(d.dependencies, sub)
	}
	return d
}
