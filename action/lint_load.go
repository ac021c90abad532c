// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// LoadForLint reads as much as possible of the chart at path, a directory or an archive, and
// returns the request to check it. Errors in the chart are in the request; LoadForLint returns
// an error only if there is nothing to check.
func LoadForLint(l loader.Loader, path string) (LintRequest, error) { return LoadEdited(l, path, nil) }

// LoadEdited is like LoadForLint for a chart some of whose files are being edited: edited has
// their content, by their paths in the chart's directory. The files need not exist.
func LoadEdited(l loader.Loader, path string, edited map[string][]byte) (LintRequest, error) {
	req := LintRequest{ChartV3: l.ChartV3}
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return req, &ChartNotFoundError{Ref: path}
		}
		return req, err
	}
	if req.Directories, err = topDirectories(path, info); err != nil {
		return req, err
	}
	req.Files, req.Warnings, err = l.Files(path)
	if err != nil {
		if !info.IsDir() {
			return req, err
		}
		req.Files = nil
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the path, which the command line contains
		}
		return withLoadError(req, err), nil
	}
	req.Files = replaced(req.Files, edited)
	c, warnings, err := l.LoadFiles(req.Files)
	req.Warnings = append(req.Warnings, warnings...)
	if err != nil {
		req = withLoadError(req, err)
		req.Repaired, req.Lost = loadRepaired(l, path, req.Files, err)
		if _, statErr := os.Stat(filepath.Join(path, chart.FileMetadata)); statErr == nil &&
			req.LoadPath == chart.FileMetadata {
			req.LoadPath, req.LoadErr = chart.FileIgnore, errors.New("leaves out "+chart.FileMetadata)
		}
		return req, nil
	}
	req.Chart = c
	return req, nil
}

// replaced returns files with the content of those that are being edited.
func replaced(files []*chart.File, edited map[string][]byte) []*chart.File {
	if len(edited) == 0 {
		return files
	}
	out := make([]*chart.File, 0, len(files)+len(edited))
	for _, f := range files {
		if _, ok := edited[f.Name]; !ok {
			out = append(out, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(edited)) {
		out = append(out, &chart.File{Name: name, Data: edited[name]})
	}
	return out
}

// withLoadError returns req with err, the error of loading the chart.
func withLoadError(req LintRequest, err error) LintRequest {
	req.LoadErr = err
	var sub *loader.SubchartError
	for errors.As(err, &sub) {
		req.LoadPath = strings.TrimPrefix(req.LoadPath+"/"+sub.Path, "/")
		err, req.LoadErr = sub.Err, sub.Err
	}
	if req.LoadPath == "" && errors.Is(err, loader.ErrNoMetadata) {
		req.LoadPath = chart.FileMetadata
	}
	return req
}

// topDirectories returns the names of the directories in a chart's directory.
func topDirectories(ref string, info fs.FileInfo) ([]string, error) {
	if !info.IsDir() {
		return nil, nil
	}
	entries, err := os.ReadDir(ref)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// SubchartPaths returns the paths of the charts in charts/ of the chart's directory at path:
// directories with a Chart.yaml, and archives. It does not look into archives.
func SubchartPaths(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, nil // LoadForLint returns the error
	}
	var found []string
	err := filepath.WalkDir(filepath.Join(path, chart.DirCharts), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
		case d.Name() == chart.FileMetadata:
			found = append(found, filepath.Dir(name))
		case strings.HasSuffix(d.Name(), ".tgz"), strings.HasSuffix(d.Name(), ".tar.gz"):
			found = append(found, name)
		}
		return nil
	})
	return found, err
}
