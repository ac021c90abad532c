// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// LoadFiles builds a chart from its files, including those of its subcharts. Names are
// relative to the chart's directory. The chart keeps the files, so the caller must not
// modify them. The warnings are messages for the user. Errors are those of [Loader.Load].
func (l Loader) LoadFiles(files []*chart.File) (*chart.Chart, []string, error) {
	l.Limits = l.Limits.withDefaults()
	t := &tree{loader: l, limits: l.Limits, nested: &budget{total: l.Limits.Total}, pool: newPool()}
	for _, f := range files {
		if problem := pathProblem(f.Name); problem != "" {
			return nil, nil, &EntryError{Entry: f.Name, Problem: problem}
		}
	}
	c, err := t.build(files, "", 0)
	slices.Sort(t.warnings)
	return c, t.warnings, err
}

// tree is the state of loading a chart and its subcharts.
type tree struct {
	loader Loader
	limits Limits
	nested *budget  // for all archives in charts/ and library/
	shared contents // of these archives
	pool   *pool

	mu       sync.Mutex
	warnings []string
}

func (t *tree) warn(path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warnings = append(t.warnings, text)
}

// build builds a chart from files, whose names are relative to the chart's directory. at
// is the chart's path below the root, or "" for the root.
func (t *tree) build(files []*chart.File, path string, depth int) (*chart.Chart, error) {
	if depth > t.limits.Depth {
		return nil, &LimitError{What: "the chart", Limit: int64(t.limits.Depth), Unit: "levels of subcharts"}
	}
	parts := split(files)
	c := &chart.Chart{Raw: parts.own}
	if err := t.metadata(c, path); err != nil {
		return nil, err
	}
	for _, f := range parts.own {
		addFile(c, f)
	}
	subs := t.subcharts(c, parts)
	charts := make([]*chart.Chart, len(subs))
	errs := make([]error, len(subs)+1)
	t.pool.each(len(subs)+1, func(i int) {
		if i == len(subs) {
			c.Values, errs[i] = parseDefaultValues(c)
			return
		}
		charts[i], errs[i] = t.subchart(subs[i], path, depth)
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	c.SetDependencies(charts...)
	return c, nil
}

// metadata parses Chart.yaml, requirements.yaml and the lock file.
func (t *tree) metadata(c *chart.Chart, path string) error {
	text := c.File(chart.FileMetadata)
	if text == nil {
		return ErrNoMetadata
	}
	m, err := chart.ParseMetadata(chart.FileMetadata, text.Data)
	if err != nil {
		return err
	}
	c.Metadata = m
	depsFile, libsFile := text, text
	if f := c.File(chart.FileRequirements); f != nil {
		r, err := chart.ParseRequirements(f.Name, f.Data)
		if err != nil {
			return err
		}
		if r.Dependencies != nil {
			m.Dependencies, depsFile = r.Dependencies, f
		}
		if r.Libraries != nil {
			m.Libraries, libsFile = r.Libraries, f
		}
		if m.APIVersion != chart.APIVersionV1 {
			t.warn(path, "dependencies are handled in %s since apiVersion v2; move them there from %s",
				chart.FileMetadata, f.Name)
		}
	}
	if err = m.CheckV3(t.loader.ChartV3); err == nil {
		err = m.Validate()
	}
	if err != nil {
		return locate(err, text, depsFile, libsFile)
	}
	for _, name := range []string{chart.FileLock, chart.FileRequirementsLock} {
		f := c.File(name)
		if f == nil {
			continue
		}
		if c.Lock, err = chart.ParseLock(name, f.Data); err != nil {
			return err
		}
		if name == chart.FileRequirementsLock && m.APIVersion != chart.APIVersionV1 {
			t.warn(path, "dependencies are locked in %s since apiVersion v2; move the lock there from %s",
				chart.FileLock, name)
		}
	}
	return nil
}

// locate sets the file and line of errors from Validate. deps and libs are the files that
// have the dependencies and the libraries: Chart.yaml or requirements.yaml.
func locate(err error, metadata, deps, libs *chart.File) error {
	err = locateIn(err, "dependencies[", metadata, deps)
	err = locateIn(err, "libraries[", metadata, libs)
	return chart.Locate(metadata.Name, metadata.Data, err)
}

// addFile adds a file of the chart itself to the field for it.
func addFile(c *chart.Chart, f *chart.File) {
	switch f.Name {
	case chart.FileMetadata, chart.FileLock, chart.FileValues:
		return
	case chart.FileSchema:
		c.Schema = f.Data
		return
	case chart.FileRequirements, chart.FileRequirementsLock:
		// As in Helm, only charts with apiVersion v1 have them in Files.
		if c.Metadata.APIVersion != chart.APIVersionV1 {
			return
		}
	case chart.FileSchemaYAML:
		c.SchemaYAML = f.Data
	}
	if strings.HasPrefix(f.Name, chart.DirTemplates+"/") {
		c.Templates = append(c.Templates, f)
		return
	}
	c.Files = append(c.Files, f)
}

func parseDefaultValues(c *chart.Chart) (map[string]any, error) {
	f := c.File(chart.FileValues)
	if f == nil {
		return map[string]any{}, nil
	}
	vals, err := values.Parse(f.Name, f.Data)
	if err != nil {
		return nil, fmt.Errorf("cannot load %s: %w", f.Name, err) // Helm's message
	}
	if vals == nil {
		vals = map[string]any{}
	}
	return vals, nil
}

// fileGroups are the files of a chart's directory by the chart that they are part of.
type fileGroups struct {
	own     []*chart.File
	charts  map[string]*group // below charts/, by file or directory
	library map[string]*group // below library/
}

// group is an entry of charts/ or library/: an archive, or the files of a directory, whose
// names are relative to that directory.
type group struct {
	dir, name string // "charts", "db" or "db-1.2.3.tgz"
	files     []*chart.File
	archive   *chart.File // set instead of files if the entry is a file
}

func (g *group) location() string { return g.dir + "/" + g.name }

func split(files []*chart.File) fileGroups {
	p := fileGroups{charts: map[string]*group{}, library: map[string]*group{}}
	for _, f := range files {
		switch {
		case strings.HasPrefix(f.Name, chart.DirCharts+"/"):
			collect(p.charts, chart.DirCharts, f)
		case strings.HasPrefix(f.Name, chart.DirLibrary+"/"):
			collect(p.library, chart.DirLibrary, f)
		default:
			p.own = append(p.own, f)
		}
	}
	return p
}

func collect(groups map[string]*group, dir string, f *chart.File) {
	name, rest, isDir := strings.Cut(f.Name[len(dir)+1:], "/")
	g := groups[name]
	if g == nil {
		g = &group{dir: dir, name: name}
		groups[name] = g
	}
	if isDir {
		g.files = append(g.files, &chart.File{Name: rest, Data: f.Data})
	} else {
		g.archive = f
	}
}

// subcharts returns the groups that are charts, sorted. It adds the groups in library/
// that are not charts to the files of c, because a chart without library charts may have a
// directory of that name.
func (t *tree) subcharts(c *chart.Chart, p fileGroups) []*group {
	var out []*group
	for name, g := range p.charts {
		if name == "" || name[0] == '_' || name[0] == '.' || g.archive != nil && path.Ext(name) == ".prov" {
			continue
		}
		out = append(out, g)
	}
	for name, g := range p.library {
		if isLibrary(c, name, g) {
			out = append(out, g)
			continue
		}
		keep := g.files
		if g.archive != nil {
			keep = append(keep, g.archive)
		}
		for _, f := range keep {
			if g.archive != f {
				f = &chart.File{Name: g.location() + "/" + f.Name, Data: f.Data}
			}
			c.Raw = append(c.Raw, f)
			c.Files = append(c.Files, f)
		}
	}
	slices.SortFunc(out, func(a, b *group) int { return strings.Compare(a.location(), b.location()) })
	if len(p.library) > 0 {
		slices.SortStableFunc(c.Files, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
		slices.SortStableFunc(c.Raw, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

func isLibrary(c *chart.Chart, name string, g *group) bool {
	if name == "" || name[0] == '_' || name[0] == '.' {
		return false
	}
	if g.archive != nil {
		return path.Ext(name) == ".tgz" && len(c.Metadata.Libraries) > 0
	}
	for _, f := range g.files {
		if f.Name == chart.FileMetadata {
			return true
		}
	}
	return false
}

// subchart loads a chart in charts/ or library/.
func (t *tree) subchart(g *group, chartPath string, depth int) (*chart.Chart, error) {
	files, err := g.files, error(nil)
	if g.archive != nil {
		if path.Ext(g.name) != ".tgz" {
			err = fmt.Errorf("is neither a chart's directory nor a .tgz archive; move it out of %s/, or let its name begin "+
				"with _ to have it ignored", g.dir)
		} else {
			files, err = readArchive(bytes.NewReader(g.archive.Data), t.limits, t.nested, &t.shared)
		}
	}
	var c *chart.Chart
	if err == nil {
		c, err = t.build(files, path.Join(chartPath, g.location()), depth+1)
	}
	if err != nil {
		return nil, &SubchartError{Path: g.location(), Err: err}
	}
	c.FromLibrary = g.dir == chart.DirLibrary
	return c, nil
}

// locateIn sets the file and line of the errors about list to those in the file in, unless
// that is metadata.
func locateIn(err error, list string, metadata, in *chart.File) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || in == metadata {
		return err
	}
	errs := joined.Unwrap()
	for i, e := range errs {
		var bad *chart.InvalidError
		if errors.As(e, &bad) && strings.HasPrefix(bad.Field, list) {
			errs[i] = chart.Locate(in.Name, in.Data, bad)
		}
	}
	return errors.Join(errs...)
}
