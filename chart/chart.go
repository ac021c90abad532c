// SPDX-License-Identifier: Apache-2.0

// Package chart holds the nouns of a chart: its metadata, its files, its dependencies, and
// the tree that subcharts form.
//
//	c, err := loader.Load("./web") // package chart/loader
//	...
//	c.Walk(func(c *chart.Chart) { fmt.Println(c.FullPath(), c.Version()) })
//
// The package does no input or output, resolves no values and renders nothing.
package chart

import (
	"path"
	"sort"
	"strings"
)

// API versions of Chart.yaml.
const (
	APIVersionV1 = "v1"
	APIVersionV2 = "v2"
	APIVersionV3 = "v3" // experimental, and read as v2 is
)

// Names of the files that mean something to a chart.
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

// Chart is one chart and, through [Chart.Dependencies], the tree below it.
// Package chart/loader makes it, and from then on it is not changed. A Chart is safe for
// concurrent reading.
type Chart struct {
	// Metadata is Chart.yaml; never nil in a loaded chart.
	Metadata *Metadata
	// Lock is Chart.lock or requirements.lock, nil where there is none.
	Lock *Lock
	// Templates are the files below templates/, in the order they were read.
	Templates []*File
	// Values are the parsed defaults of values.yaml; never nil in a loaded chart.
	Values map[string]any
	// Schema is values.schema.json, nil where there is none.
	Schema []byte
	// SchemaYAML is values.schema.yaml, nil where there is none. It is in
	// Files too, where Helm's users find it.
	SchemaYAML []byte
	// Files are all files that are none of the above: README, LICENSE, crds/,
	// ext/ and whatever else the author put in.
	Files []*File
	// Raw are all files of this chart as they were read, without its subcharts'.
	Raw []*File

	// FromLibrary is set for a chart in its parent's library/ directory:
	// it is a library whatever its type says.
	FromLibrary bool
	// Unaliased is the name that Chart.yaml gives the chart, where it is in
	// its tree under an alias; "" where it has none.
	Unaliased string

	parent       *Chart
	dependencies []*Chart
}

// Name is the chart's name, "" where the metadata is missing.
func (c *Chart) Name() string {
	if c.Metadata == nil {
		return ""
	}
	return c.Metadata.Name
}

// Version is the chart's version.
func (c *Chart) Version() string {
	if c.Metadata == nil {
		return ""
	}
	return c.Metadata.Version
}

// AppVersion is the version of the software that the chart carries.
func (c *Chart) AppVersion() string {
	if c.Metadata == nil {
		return ""
	}
	return c.Metadata.AppVersion
}

// IsLibrary reports whether the chart is a library, of whose templates only definitions
// count: its type is library, or it is in library/ or anywhere below a chart that is.
func (c *Chart) IsLibrary() bool {
	if c.Metadata != nil && strings.EqualFold(c.Metadata.Type, TypeLibrary) {
		return true
	}
	for at := c; at != nil; at = at.parent {
		if at.FromLibrary {
			return true
		}
	}
	return false
}

// IsRoot reports whether the chart has no parent.
func (c *Chart) IsRoot() bool { return c.parent == nil }

// Parent is the chart that holds this one, nil for a root.
func (c *Chart) Parent() *Chart { return c.parent }

// Root is the topmost chart of the tree.
func (c *Chart) Root() *Chart {
	for c.parent != nil {
		c = c.parent
	}
	return c
}

// Dependencies are the charts directly below this one. The slice must not be
// changed; see [Chart.SetDependencies].
func (c *Chart) Dependencies() []*Chart { return c.dependencies }

// Subcharts are the dependencies that are more than definitions: those of
// charts/. Charts of library/ have no values and no objects, whatever their
// type; a chart of type library in charts/ is a subchart like any other.
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

// FullPath is the chart's place in its tree as templates' names begin with it:
// "parent/charts/child" for a subchart, "parent/library/child" for one of
// library/, the plain name for a root.
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

// ChartPath is the chart's place as values see it: "parent.child".
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

// File returns the raw file of that name, nil where the chart has none.
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
	// Name is the file's path from the chart's top, e.g. "crds/cron.yaml".
	Name string
	// Source is the path from the root chart, as "# Source:" comments show it.
	Source string
	Data   []byte
}

// CRDs are the files of crds/ of c and of all charts below it, c's own first,
// each chart's by name. Those of charts in library/ do not count; those of a
// chart of type library in charts/ do, as in Helm.
func (c *Chart) CRDs() []CRD {
	var out []CRD
	for _, f := range c.Files {
		if strings.HasPrefix(f.Name, DirCRDs+"/") && isManifestName(f.Name) {
			out = append(out, CRD{Name: f.Name, Source: path.Join(c.FullPath(), f.Name), Data: f.Data})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
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

// Shallow returns a copy of c that shares its files, values and metadata
// structs but not the slices and the place in the tree: it has no parent and
// no dependencies. Who resolves dependencies works on such copies, so that a
// loaded chart is never changed.
func (c *Chart) Shallow() *Chart {
	d := *c
	d.parent, d.dependencies = nil, nil
	return &d
}
