// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/manifest"
)

// Dir is the directory of a chart that has patches for its subcharts.
const Dir = "patches"

// scope is what the patches of a chart may change. nil is everything.
type scope struct {
	chart    string // whose patches they are
	subchart string // for which they are, or "" for all
	prefix   string // of the paths of templates
}

func (s *scope) has(o *manifest.Object) bool {
	return s == nil || strings.HasPrefix(o.Source, s.prefix)
}

// Annotation is the annotation of a chart whose value "ignore" says that its directory patches/ is
// something else.
const Annotation = "moonhelm.github.io/patches"

// Enabled reports whether the directory patches/ of a chart has patches: the chart has subcharts, and
// no [Annotation] that says otherwise.
func Enabled(c *chart.Chart) bool {
	return c.Metadata == nil || c.Metadata.Annotations[Annotation] != "ignore" &&
		(len(c.Dependencies()) > 0 || len(c.Metadata.Dependencies) > 0)
}

// OfCharts returns the patches in the directories patches/ of a chart and its subcharts, in the order
// in which they apply: those of subcharts first. A file in patches/ is for the objects of all
// subcharts, one in patches/NAME/ for those of the subchart NAME; it is left out if the subchart is
// disabled. A kustomization.yaml names the files of its directory; without one they are read in the
// order of their names, except those that others name by path. Charts for which [Enabled] is false have
// none. An error is a [*SyntaxError].
func OfCharts(root *chart.Chart) ([]*Patch, error) {
	var out []*Patch
	for _, sub := range root.Dependencies() {
		patches, err := OfCharts(sub)
		if err != nil {
			return nil, err
		}
		out = append(out, patches...)
	}
	if !Enabled(root) {
		return out, nil
	}
	own, err := ofChart(root)
	return append(out, own...), err
}

// ofChart returns the patches of one chart.
func ofChart(c *chart.Chart) ([]*Patch, error) {
	d := directory{chart: c, files: map[string]*chart.File{}, named: map[string]bool{}}
	dirs := map[string][]string{}
	for _, f := range c.Files {
		if !strings.HasPrefix(f.Name, Dir+"/") {
			continue
		}
		d.files[f.Name] = f
		if dir, base := path.Split(f.Name); isPatchFile(base) && strings.Count(dir, "/") <= 2 {
			dirs[dir] = append(dirs[dir], f.Name)
		}
	}
	var out []*Patch
	names := make([]string, 0, len(dirs))
	for dir := range dirs {
		names = append(names, dir)
	}
	slices.Sort(names) // patches/ first, whose files may name those of others
	for _, dir := range names {
		patches, err := d.read(dir, dirs[dir])
		if err != nil {
			return nil, err
		}
		out = append(out, patches...)
	}
	return out, nil
}

// isPatchFile reports whether a file may have patches, by its name.
func isPatchFile(base string) bool {
	switch path.Ext(base) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_")
	}
	return base == kustomizations[2]
}

// kustomizations are the names of a kustomization.
var kustomizations = [...]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// directory is the directory patches/ of a chart.
type directory struct {
	chart *chart.Chart
	files map[string]*chart.File
	named map[string]bool // by path, by other files
}

// read returns the patches of the files of patches/ or of patches/NAME/.
func (d *directory) read(dir string, names []string) ([]*Patch, error) {
	slices.Sort(names)
	for _, name := range kustomizations {
		if slices.Contains(names, dir+name) {
			names = []string{dir + name}
		}
	}
	files := make([]File, len(names))
	broken := make([]error, len(names))
	for i, name := range names {
		full := path.Join(d.chart.FullPath(), name)
		files[i], broken[i] = Read(full, d.files[name].Data, func(file string) ([]byte, error) {
			at := path.Join(dir, file)
			if d.files[at] == nil {
				return nil, fmt.Errorf("the chart has no file %s", at)
			}
			d.named[at] = true
			return d.files[at].Data, nil
		})
	}
	var out []*Patch
	var limits *scope
	for i, name := range names {
		if d.named[name] {
			continue
		}
		if limits == nil {
			var err error
			if limits, err = d.scope(dir); limits == nil {
				return nil, err
			}
		}
		if broken[i] != nil {
			return nil, broken[i]
		}
		patches, err := files[i].Patches()
		if err != nil {
			return nil, err
		}
		for _, p := range patches {
			p.scope = limits
		}
		out = append(out, patches...)
	}
	return out, nil
}

// scope returns what the patches of patches/ or patches/NAME/ may change. It is nil if the subchart
// NAME is disabled.
func (d *directory) scope(dir string) (*scope, error) {
	s := &scope{chart: d.chart.Name(), prefix: d.chart.FullPath() + "/" + chart.DirCharts + "/"}
	name := path.Base(dir)
	if dir == Dir+"/" {
		return s, nil
	}
	var known []string
	for _, sub := range d.chart.Dependencies() {
		if sub.Name() == name {
			s.subchart, s.prefix = name, s.prefix+name+"/"
			return s, nil
		}
		known = append(known, sub.Name())
	}
	for _, dep := range declared(d.chart) {
		if dep.Alias == name || dep.Name == name {
			return nil, nil
		}
		known = append(known, dep.Name)
	}
	return nil, &SyntaxError{File: d.chart.FullPath() + "/" + strings.TrimSuffix(dir, "/"),
		Similar: first(suggest.Nearest(known, name)),
		Text:    fmt.Sprintf("is named like no subchart of %s", d.chart.Name())}
}

// declared returns the dependencies that the files of a chart declare, including disabled ones, which its
// metadata does not have once values are resolved.
func declared(c *chart.Chart) []*chart.Dependency {
	if f := c.File(chart.FileMetadata); f != nil {
		if md, err := chart.ParseMetadata(f.Name, f.Data); err == nil && len(md.Dependencies) > 0 {
			return md.Dependencies
		}
	}
	if f := c.File(chart.FileRequirements); f != nil {
		if r, err := chart.ParseRequirements(f.Name, f.Data); err == nil {
			return r.Dependencies
		}
	}
	if c.Metadata == nil {
		return nil
	}
	return c.Metadata.Dependencies
}
