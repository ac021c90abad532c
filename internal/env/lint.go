// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// LintRequest reads the chart at ref, a folder or an archive, as far as it can
// be read. What is wrong with the chart stands in the request; the error tells
// that there is nothing to check.
func (e *Env) LintRequest(ref string) (action.LintRequest, error) {
	req := action.LintRequest{ChartV3: e.Settings.ChartV3}
	info, err := os.Stat(ref)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return req, &ChartNotFoundError{Ref: ref}
		}
		return req, err
	}
	if req.Directories, err = topFolders(ref, info); err != nil {
		return req, err
	}
	l := e.Loader()
	req.Files, req.Warnings, err = l.Files(ref)
	if err != nil {
		if !info.IsDir() {
			return req, err
		}
		req.Files = nil
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the path, which the user has just typed
		}
		return failed(req, err), nil
	}
	c, warnings, err := l.LoadFiles(req.Files)
	req.Warnings = append(req.Warnings, warnings...)
	if err != nil {
		req = failed(req, err)
		if _, statErr := os.Stat(filepath.Join(ref, chart.FileMetadata)); statErr == nil && req.LoadPath == chart.FileMetadata {
			req.LoadPath, req.LoadErr = chart.FileIgnore, errors.New("leaves out "+chart.FileMetadata)
		}
		return req, nil
	}
	req.Chart = c
	return req, nil
}

// failed says in req why the chart does not load.
func failed(req action.LintRequest, err error) action.LintRequest {
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

// topFolders are the folders in a chart's folder.
func topFolders(ref string, info fs.FileInfo) ([]string, error) {
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

// Subcharts are the paths of the charts below the chart's folder at ref:
// folders with a Chart.yaml, and archives. An archive's own are not looked for.
func (e *Env) Subcharts(ref string) ([]string, error) {
	if info, err := os.Stat(ref); err != nil || !info.IsDir() {
		return nil, nil // what is not there is reported when it is checked
	}
	var found []string
	err := filepath.WalkDir(filepath.Join(ref, chart.DirCharts), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
		case d.Name() == chart.FileMetadata:
			found = append(found, filepath.Dir(path))
		case strings.HasSuffix(d.Name(), ".tgz"), strings.HasSuffix(d.Name(), ".tar.gz"):
			found = append(found, path)
		}
		return nil
	})
	return found, err
}
