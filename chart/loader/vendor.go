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

// Vendored is a chart that another has in charts/ or, with Library, in library/; or
// what is there in the place of one.
type Vendored struct {
	Library bool
	// File is the name there of a directory or, with Archive, of an archive.
	File    string
	Archive bool
	// Name and Version are the chart's own.
	Name, Version string
	// Err says why it is not a chart that can be read; then Name is "".
	Err error
}

// Path is the place in the chart: "charts/db-1.2.3.tgz".
func (v Vendored) Path() string { return path.Join(chartsDir(v.Library), v.File) }

// chartsDir is the directory of charts, or of libraries.
func chartsDir(library bool) string {
	if library {
		return chart.DirLibrary
	}
	return chart.DirCharts
}

// A Directory is a chart's directory with its dependencies: those that the chart lists,
// the charts in charts/ and library/, and the lock.
type Directory struct {
	Path string
	// Warnings are sentences for the user.
	Warnings []string

	loader   Loader
	files    []*chart.File // without archives and directories of vendored that are broken
	chart    *chart.Chart
	vendored []Vendored
	lock     []byte
	lockName string
	lockErr  error
}

// Chart is what can be loaded: subcharts that are broken are left out.
func (f *Directory) Chart() *chart.Chart { return f.chart }

// Vendored returns what is in charts/ and library/, by path. Files that
// are never charts are left out: files whose names begin with _ or a dot, provenance files, and
// files of library/ that are not archives.
func (f *Directory) Vendored() []Vendored { return f.vendored }

// Lock returns the text of the lock file, nil where there is none that can be read; then
// err may say why. name is what the file is to be called.
func (f *Directory) Lock() (name string, text []byte, err error) {
	return f.lockName, f.lock, f.lockErr
}

// View is the chart at path, a directory or an archive, to be looked at: of an archive,
// nothing can be replaced.
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

// OpenDirectory reads the chart's directory at path with a [Loader] of the zero value.
func OpenDirectory(path string) (*Directory, error) { return Loader{}.OpenDirectory(path) }

// OpenDirectory reads the chart's directory at path, however broken the charts in it.
// A lock file that is a symbolic link is refused (CVE-2025-53547).
func (l Loader) OpenDirectory(path string) (*Directory, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	} else if !info.IsDir() {
		return nil, &NotDirectoryError{Path: path}
	}
	for _, name := range []string{chart.FileLock, chart.FileRequirementsLock} {
		if err := noLink(filepath.Join(path, name), name); err != nil {
			return nil, fmt.Errorf("load chart %s: %w", path, err)
		}
	}
	files, warnings, err := l.Files(path)
	if err != nil {
		return nil, err
	}
	f := &Directory{Path: path, loader: l, files: files, Warnings: warnings}
	f.leaveOutBadLocks()
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("load chart %s: %w", path, explainMissing(path, err))
	}
	f.look(files)
	f.findLock()
	return f, nil
}

// leaveOutBadLocks leaves out lock files that cannot be read (conflicts of a
// merge are usual in them), so that a new one can be made.
func (f *Directory) leaveOutBadLocks() {
	for _, name := range []string{chart.FileRequirementsLock, chart.FileLock} {
		for _, file := range f.files {
			if file.Name != name {
				continue
			}
			if _, err := chart.ParseLock(name, file.Data); err != nil {
				f.files, f.lockErr = without(f.files, name), err
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

// A NotDirectoryError is returned for a chart that is not a directory: the dependencies of
// an archive cannot be updated.
type NotDirectoryError struct{ Path string }

func (e *NotDirectoryError) Error() string {
	return fmt.Sprintf("%s is not a directory: only unpacked charts can be updated", e.Path)
}

func noLink(path, name string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // what else is wrong is seen when it is read or written
	}
	return &EntryError{Entry: name, Problem: "is a symbolic link; a lock file must be a file of its own"}
}

// load loads the chart, leaving out one subchart after the other that is broken.
func (f *Directory) load() error {
	for {
		c, warnings, err := f.loader.LoadFiles(f.files)
		var broken *SubchartError
		if err == nil || !errors.As(err, &broken) {
			f.chart, f.Warnings = c, append(f.Warnings, warnings...)
			return err
		}
		left := without(f.files, broken.Path)
		if len(left) == len(f.files) {
			return err
		}
		f.files = left
		f.Warnings = append(f.Warnings,
			fmt.Sprintf("%s is left out: %s", broken.Path, strings.ReplaceAll(broken.Err.Error(), "\n", "; ")))
	}
}

// without are the files that are not at that path, nor below it.
func without(files []*chart.File, at string) []*chart.File {
	var out []*chart.File
	for _, f := range files {
		if f.Name != at && !strings.HasPrefix(f.Name, at+"/") {
			out = append(out, f)
		}
	}
	return out
}

// look finds what files have in charts/ and library/.
func (f *Directory) look(files []*chart.File) {
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
				continue // files of the user's, unless there is a Chart.yaml to come
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
			v.read(file.Data)
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

func (v *Vendored) read(text []byte) {
	m, err := chart.ParseMetadata(chart.FileMetadata, text)
	if err == nil {
		err = m.Validate()
	}
	if v.Err = err; err == nil {
		v.Name, v.Version = m.Name, m.Version
	}
}

// ReadMetadata reads the Chart.yaml of an archive, which is within the default
// limits as a whole, and holds it against the rules.
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

// A NewArchive is an archive to write to charts/ or, with Library, to library/.
type NewArchive struct {
	Library bool
	File    string
	// Open reads its bytes. It is called more than once.
	Open func() (io.ReadCloser, error)
}

// Path is the place in the chart: "charts/db-1.2.3.tgz".
func (n NewArchive) Path() string { return path.Join(chartsDir(n.Library), n.File) }

// Read reads the archive, within the limits of a chart.
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

// Preview is the chart as it will load with put in it and without drop. Nothing
// is written.
func (f *Directory) Preview(put []NewArchive, drop []Vendored) (*chart.Chart, error) {
	files := f.files
	for _, d := range drop {
		files = without(files, d.Path())
	}
	for _, n := range put {
		data, err := n.Read()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", n.File, err)
		}
		at := n.Path()
		files = append(without(files, at), &chart.File{Name: at, Data: data})
	}
	c, _, err := f.loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", f.Path, err)
	}
	return c, nil
}
