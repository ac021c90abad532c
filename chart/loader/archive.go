// SPDX-License-Identifier: Apache-2.0

// Package loader reads charts from directories and .tgz archives, and writes them as
// archives.
//
//	c, err := loader.Load("./web") // or "web-1.2.0.tgz"
//	...
//	path, err := loader.Save(c, "dist", loader.Options{}) // dist/web-1.2.0.tgz
//
// [LoadArchive] reads a stream, [LoadFiles] files in memory. A [Loader] has other limits
// than the default ones. What is read may be hostile: every reader is bounded by [Limits],
// and a name that leads out of the chart is an error. The package fetches nothing, resolves
// no dependencies and verifies no signatures.
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

// Limits bound what a chart may cost its reader. A zero field means the
// default, which is Helm's where Helm has one.
type Limits struct {
	// Total is how many bytes the files of one directory or archive may have
	// together, and again those of all archives found inside it. 100 MiB.
	Total int64
	// File is how many bytes one file may have. 5 MiB. An archive in a directory's
	// charts/ or library/ may have Total: its own files are bounded again.
	File int64
	// Entries is how many files and directories may be visited. 100,000.
	Entries int64
	// Depth is how deep subcharts may stand inside subcharts. 64.
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

// An EntryError is returned for an entry of an archive, or a file of a directory, that
// cannot be part of a chart.
type EntryError struct {
	Entry   string
	Problem string
}

func (e *EntryError) Error() string { return fmt.Sprintf("%q %s", e.Entry, e.Problem) }

// A SubchartError is returned for a chart of which a subchart is broken. Path is the
// subchart's, "charts/db".
type SubchartError struct {
	Path string
	Err  error
}

func (e *SubchartError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *SubchartError) Unwrap() error { return e.Err }

var (
	// ErrNoMetadata is returned for a chart without Chart.yaml.
	ErrNoMetadata = errors.New("Chart.yaml file is missing") //nolint:staticcheck // the file is called so
	// ErrNotArchive is returned for content that is not gzip-compressed tar archive.
	ErrNotArchive = errors.New("the file does not appear to be a gzipped archive of a chart")
)

// Load reads the chart at path, a directory or an archive, with the default
// limits. Warnings are dropped; see [Loader.Load].
func Load(path string) (*chart.Chart, error) {
	c, _, err := Loader{}.Load(path)
	return c, err
}

// LoadArchive reads a chart from an archive's bytes with the default limits.
// name stands for it in errors.
func LoadArchive(name string, r io.Reader) (*chart.Chart, error) {
	c, _, err := Loader{}.LoadArchive(name, r)
	return c, err
}

// LoadFiles builds a chart from its files, named from its top directory, those of
// subcharts included. The chart takes the files over; they must not be changed
// afterwards.
func LoadFiles(files []*chart.File) (*chart.Chart, error) {
	c, _, err := Loader{}.LoadFiles(files)
	return c, err
}

// Loader reads charts. The zero value has the default limits. It holds no state
// and may be used concurrently.
type Loader struct {
	Limits Limits
	// ChartV3 accepts charts of the experimental apiVersion v3, which are read as
	// those of v2 are.
	ChartV3 bool
}

// Load reads the chart at path, a directory or an archive. In a directory .helmignore
// applies, and symbolic links are followed inside the chart, each with a
// warning; one that leads out is an error. The warnings are sentences for the
// user.
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

// LoadArchive reads a chart from an archive's bytes.
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
// making a chart of them: what a linter needs of a chart that is broken.
// Archives below charts/ are not unpacked.
func (l Loader) Files(path string) (files []*chart.File, warnings []string, err error) {
	l.Limits = l.Limits.withDefaults()
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("load chart: %w", err)
	}
	if info.IsDir() {
		files, warnings, err = readFolder(path, l.Limits)
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

// trimBOM removes the mark that some editors put before UTF-8 text, which
// YAML, JSON and templates do without.
func trimBOM(data []byte) []byte {
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
}
