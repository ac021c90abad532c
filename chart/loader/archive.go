// SPDX-License-Identifier: Apache-2.0

// Package loader reads charts from directories and .tgz archives, and writes them as
// archives.
//
//	c, err := loader.Load("./web") // or "web-1.2.0.tgz"
//	...
//	path, err := loader.Save(c, "dist", loader.Options{}) // dist/web-1.2.0.tgz
//
// [LoadArchive] reads an archive from an [io.Reader], [LoadFiles] builds a chart from files
// in memory, and a [Loader] does each with limits other than the defaults. Charts are
// untrusted input: reading them is bounded by [Limits], and a file name that leads out of
// the chart is an error.
//
// The package does not download charts, resolve dependencies or verify signatures.
package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/file"
)

// Limits bound the resources that reading a chart takes. A zero field means its default,
// which is the same as Helm's if Helm has such a limit.
type Limits struct {
	// Total limits the bytes of all files of a directory or an archive, and separately
	// the bytes of all files in the archives inside it. The default is 100 MiB.
	Total int64
	// File limits the bytes of a single file. The default is 5 MiB. An archive in
	// charts/ or library/ of a directory is limited by Total instead, and File applies
	// to the files in it.
	File int64
	// Entries limits the number of files and directories. The default is 100,000.
	Entries int64
	// Depth limits the levels of subcharts. The default is 64.
	Depth int
}

func (l Limits) withDefaults() Limits {
	if l.Total <= 0 {
		l.Total = 100 << 20
	}
	if l.File <= 0 {
		l.File = 5 << 20
	}
	if l.Entries <= 0 {
		l.Entries = 100_000
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	return l
}

// A LimitError is returned for a chart that exceeds one of the [Limits].
type LimitError struct {
	What  string // "the chart", or a file's name
	Limit int64
	Unit  string // "bytes", "files", "levels of subcharts"
}

func (e *LimitError) Error() string {
	if e.Unit == "bytes" && e.Limit%(1<<20) == 0 {
		return fmt.Sprintf("%s has more than %d MiB", e.What, e.Limit>>20)
	}
	return fmt.Sprintf("%s has more than %d %s", e.What, e.Limit, e.Unit)
}

// An EntryError is returned for an entry of an archive or a directory that cannot be part
// of a chart.
type EntryError struct {
	Entry   string
	Problem string
}

func (e *EntryError) Error() string { return fmt.Sprintf("%q %s", e.Entry, e.Problem) }

// A SubchartError is returned if a subchart cannot be loaded. Path is the subchart's
// path in its parent: "charts/db".
type SubchartError struct {
	Path string
	Err  error
}

func (e *SubchartError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *SubchartError) Unwrap() error { return e.Err }

var (
	// ErrNoMetadata is returned for a chart without Chart.yaml.
	ErrNoMetadata = errors.New("Chart.yaml file is missing") //nolint:staticcheck // begins with a file name
	// ErrNotArchive is returned for content that is not a gzip-compressed tar archive.
	ErrNotArchive = errors.New("the file does not appear to be a gzipped archive of a chart")
)

// Load calls [Loader.Load] of the zero Loader and discards the warnings.
func Load(path string) (*chart.Chart, error) {
	c, _, err := Loader{}.Load(path)
	return c, err
}

// LoadArchive calls [Loader.LoadArchive] of the zero Loader and discards the warnings.
func LoadArchive(name string, r io.Reader) (*chart.Chart, error) {
	c, _, err := Loader{}.LoadArchive(name, r)
	return c, err
}

// LoadFiles calls [Loader.LoadFiles] of the zero Loader and discards the warnings.
func LoadFiles(files []*chart.File) (*chart.Chart, error) {
	c, _, err := Loader{}.LoadFiles(files)
	return c, err
}

// Loader reads charts. The zero value has the default limits. A Loader is safe for
// concurrent use.
type Loader struct {
	Limits Limits
	// ChartV3 allows charts with the experimental apiVersion v3, which are read like
	// those with v2.
	ChartV3 bool
}

// Load reads the chart at path, a directory or an archive. In a directory, it applies
// .helmignore and follows symbolic links, each with a warning; a link that leads out of
// the chart is an error. The warnings are messages for the user.
//
// Errors, to be found with errors.Is and errors.As: [fs.ErrNotExist], [ErrNotArchive],
// [ErrNoMetadata], [*chart.InvalidError] for Chart.yaml and lock files, [*values.ParseError]
// for values.yaml, [*EntryError], [*LimitError], and [*SubchartError] around those of a
// subchart.
func (l Loader) Load(path string) (c *chart.Chart, warnings []string, err error) {
	files, warnings, err := l.Files(path)
	if err != nil {
		return nil, warnings, err
	}
	c, more, err := l.LoadFiles(files)
	warnings = append(warnings, more...)
	if err != nil {
		return nil, warnings, fmt.Errorf("load chart %s: %w", path, explainMissing(path, err))
	}
	return c, warnings, nil
}

// LoadArchive reads a chart from an archive. Errors are those of [Loader.Load] and of r, and
// begin with name.
func (l Loader) LoadArchive(name string, r io.Reader) (*chart.Chart, []string, error) {
	l.Limits = l.Limits.withDefaults()
	files, err := readArchive(r, l.Limits, &budget{total: l.Limits.Total}, new(contents))
	if err != nil {
		return nil, nil, fmt.Errorf("load chart %s: %w", name, err)
	}
	c, warnings, err := l.LoadFiles(files)
	if err != nil {
		return nil, warnings, fmt.Errorf("load chart %s: %w", name, err)
	}
	return c, warnings, nil
}

// Files reads the files of the chart at path, a directory or an archive, without
// parsing them, so it also reads a chart that is not valid. It does not unpack the
// archives in charts/. The warnings are those of [Loader.Load].
func (l Loader) Files(path string) (files []*chart.File, warnings []string, err error) {
	l.Limits = l.Limits.withDefaults()
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("load chart: %w", err)
	}
	if info.IsDir() {
		files, warnings, err = readDirectory(path, l.Limits)
	} else {
		files, err = readArchiveFile(path, l.Limits)
	}
	if err != nil {
		return nil, warnings, fmt.Errorf("load chart %s: %w", path, err)
	}
	return files, warnings, nil
}

func readArchiveFile(path string, limits Limits) ([]*chart.File, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readArchive(f, limits, &budget{total: limits.Total}, new(contents))
}

// trimBOM removes a UTF-8 byte order mark, with which YAML, JSON and templates
// do not parse.
func trimBOM(data []byte) []byte {
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
}
