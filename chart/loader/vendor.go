// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// Vendored is an entry of a chart's charts/ or library/ directory: a chart, or a file or
// directory that should be one.
type Vendored struct {
	// Library is set for an entry of library/.
	Library bool
	// File is the name of the entry, which is an archive if Archive is set and otherwise
	// a directory.
	File    string
	Archive bool
	// Name and Version are those of the chart's metadata.
	Name, Version string
	// Err is set if the entry is not a valid chart. Name is then empty.
	Err error
}

// Path returns the path in the chart: "charts/db-1.2.3.tgz".
func (v Vendored) Path() string { return path.Join(chartsDir(v.Library), v.File) }

// chartsDir returns the name of the directory for subcharts or for libraries.
func chartsDir(library bool) string {
	if library {
		return chart.DirLibrary
	}
	return chart.DirCharts
}

// A Directory is a chart whose dependencies can be updated: it has the charts in charts/
// and library/ and the lock file.
type Directory struct {
	Path string
	// Warnings are messages for the user.
	Warnings []string

	loader   Loader
	files    []*chart.File // without those of subcharts that cannot be loaded
	chart    *chart.Chart
	vendored []Vendored
	lock     []byte
	lockName string
	lockErr  error
}

// Chart returns the chart without the subcharts that cannot be loaded.
func (f *Directory) Chart() *chart.Chart { return f.chart }

// Vendored returns the entries of charts/ and library/, sorted by path. It leaves out files
// that are never charts: files whose names begin with _ or a dot, provenance files, and
// files in library/ that are not archives.
func (f *Directory) Vendored() []Vendored { return f.vendored }

// Lock returns the content of the lock file, or nil if there is no valid one; err is the
// reason if there is a file. name is the name of a new lock file.
func (f *Directory) Lock() (name string, text []byte, err error) {
	return f.lockName, f.lock, f.lockErr
}

// View reads the chart at path, a directory or an archive, for listing its dependencies.
// The Directory of an archive cannot be changed.
func (l Loader) View(path string) (*Directory, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return l.OpenDirectory(path)
	}
	c, warnings, err := l.Load(path)
	if err != nil {
		return nil, err
	}
	f := &Directory{Path: path, Warnings: warnings, loader: l, chart: c}
	for _, d := range c.Dependencies() {
		f.vendored = append(f.vendored,
			Vendored{Library: d.FromLibrary, File: d.Name(), Name: d.Name(), Version: d.Version()})
	}
	return f, nil
}

// OpenDirectory calls [Loader.OpenDirectory] of the zero Loader.
func OpenDirectory(path string) (*Directory, error) { return Loader{}.OpenDirectory(path) }

// OpenDirectory reads the chart's directory at path. Subcharts that cannot be loaded are
// not an error; see [Directory.Vendored]. A lock file that is a symbolic link is an error
// (CVE-2025-53547).
func (l Loader) OpenDirectory(path string) (*Directory, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	} else if !info.IsDir() {
		return nil, &NotDirectoryError{Path: path}
	}
	for _, name := range []string{chart.FileLock, chart.FileRequirementsLock} {
		if err := rejectSymlink(filepath.Join(path, name), name); err != nil {
			return nil, fmt.Errorf("load chart %s: %w", path, err)
		}
	}
	files, warnings, err := l.Files(path)
	if err != nil {
		return nil, err
	}
	f := &Directory{Path: path, loader: l, files: files, Warnings: warnings}
	f.dropInvalidLocks()
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("load chart %s: %w", path, explainMissing(path, err))
	}
	f.findVendored(files)
	f.findLock()
	return f, nil
}

// dropInvalidLocks removes lock files that cannot be parsed, for example because of a merge
// conflict, so that a new one can be written.
func (f *Directory) dropInvalidLocks() {
	for _, name := range []string{chart.FileRequirementsLock, chart.FileLock} {
		for _, file := range f.files {
			if file.Name != name {
				continue
			}
			if _, err := chart.ParseLock(name, file.Data); err != nil {
				f.files, f.lockErr = removePath(f.files, name), err
			}
		}
	}
}

func (f *Directory) findLock() {
	f.lockName = chart.FileLock
	other := chart.FileRequirementsLock
	if f.chart.Metadata.APIVersion == chart.APIVersionV1 {
		f.lockName, other = other, f.lockName
	}
	for _, name := range []string{f.lockName, other} {
		if file := f.chart.File(name); file != nil {
			f.lock, f.lockErr = file.Data, nil
			return
		}
	}
}

// A NotDirectoryError is returned for a chart that is not a directory. The dependencies of
// an archive cannot be updated.
type NotDirectoryError struct{ Path string }

func (e *NotDirectoryError) Error() string {
	return fmt.Sprintf("%s is not a directory: only unpacked charts can be updated", e.Path)
}

func rejectSymlink(path, name string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // reading or writing the file returns other errors
	}
	return &EntryError{Entry: name, Problem: "is a symbolic link; a lock file must be a regular file"}
}

// load loads the chart. It removes every subchart that cannot be loaded, with a warning.
func (f *Directory) load() error {
	for {
		c, warnings, err := f.loader.LoadFiles(f.files)
		var broken *SubchartError
		if err == nil || !errors.As(err, &broken) {
			f.chart, f.Warnings = c, append(f.Warnings, warnings...)
			return err
		}
		left := removePath(f.files, broken.Path)
		if len(left) == len(f.files) {
			return err
		}
		f.files = left
		f.Warnings = append(f.Warnings,
			fmt.Sprintf("%s is left out: %s", broken.Path, strings.ReplaceAll(broken.Err.Error(), "\n", "; ")))
	}
}

// removePath returns files without the file at the given path and those below it.
func removePath(files []*chart.File, path string) []*chart.File {
	var out []*chart.File
	for _, f := range files {
		if f.Name != path && !strings.HasPrefix(f.Name, path+"/") {
			out = append(out, f)
		}
	}
	return out
}

// findVendored adds the entries of charts/ and library/ to f.vendored.
func (f *Directory) findVendored(files []*chart.File) {
	seen := map[string]bool{}
	for _, file := range files {
		dir, rest, _ := strings.Cut(file.Name, "/")
		if dir != chart.DirCharts && dir != chart.DirLibrary || rest == "" {
			continue
		}
		name, below, isDir := strings.Cut(rest, "/")
		switch {
		case seen[dir+"/"+name], name[0] == '_', name[0] == '.':
		case isDir:
			if dir == chart.DirLibrary && below != chart.FileMetadata {
				continue // files of the chart, unless a Chart.yaml follows
			}
			seen[dir+"/"+name] = true
			f.vendored = append(f.vendored, unpackedChart(files, dir, name))
		case path.Ext(name) == ".prov", dir == chart.DirLibrary && path.Ext(name) != ".tgz":
		default:
			f.vendored = append(f.vendored, packedChart(file, dir, name))
		}
	}
}

func unpackedChart(files []*chart.File, dir, name string) Vendored {
	v := Vendored{Library: dir == chart.DirLibrary, File: name, Err: ErrNoMetadata}
	for _, file := range files {
		if file.Name == path.Join(dir, name, chart.FileMetadata) {
			v.parseMetadata(file.Data)
		}
	}
	return v
}

func packedChart(file *chart.File, dir, name string) Vendored {
	v := Vendored{Library: dir == chart.DirLibrary, File: name, Archive: true}
	m, err := ReadMetadata(bytes.NewReader(file.Data))
	if err != nil {
		v.Err = err
		return v
	}
	v.Name, v.Version = m.Name, m.Version
	return v
}

func (v *Vendored) parseMetadata(text []byte) {
	m, err := chart.ParseMetadata(chart.FileMetadata, text)
	if err == nil {
		err = m.Validate()
	}
	if v.Err = err; err == nil {
		v.Name, v.Version = m.Name, m.Version
	}
}

// ReadMetadata reads and validates the Chart.yaml of an archive. It applies the default
// limits to the whole archive.
func ReadMetadata(r io.Reader) (*chart.Metadata, error) {
	limits := Limits{}.withDefaults()
	files, err := readArchive(r, limits, &budget{total: limits.Total}, new(contents))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if file.Name == chart.FileMetadata {
			m, err := chart.ParseMetadata(file.Name, file.Data)
			if err != nil {
				return nil, err
			}
			return m, m.Validate()
		}
	}
	return nil, ErrNoMetadata
}

// A NewArchive is an archive to write to charts/, or to library/ if Library is set.
type NewArchive struct {
	Library bool
	File    string
	// Open returns a reader of the archive. It is called more than once.
	Open func() (io.ReadCloser, error)
}

// Path returns the path in the chart: "charts/db-1.2.3.tgz".
func (n NewArchive) Path() string { return path.Join(chartsDir(n.Library), n.File) }

// Read reads the archive. It returns a [*LimitError] if the archive is larger than the
// default [Limits.Total].
func (n NewArchive) Read() ([]byte, error) {
	r, err := n.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	limit := Limits{}.withDefaults().Total
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &LimitError{What: n.File, Limit: limit, Unit: "bytes"}
	}
	return data, err
}

// Preview loads the chart as it would be after [Directory.Replace] with put and drop. It
// writes no files.
func (f *Directory) Preview(put []NewArchive, drop []Vendored) (*chart.Chart, error) {
	files := f.files
	for _, d := range drop {
		files = removePath(files, d.Path())
	}
	for _, n := range put {
		data, err := n.Read()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", n.File, err)
		}
		path := n.Path()
		files = append(removePath(files, path), &chart.File{Name: path, Data: data})
	}
	c, _, err := f.loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", f.Path, err)
	}
	return c, nil
}
