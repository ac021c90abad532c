// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"errors"
	"io/fs"
	"os"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/progress"
)

// Vendored returns the chart at path, a directory or an archive, with the dependencies in its
// charts/.
func (f *Factory) Vendored(path string) (*loader.Directory, error) {
	return f.openDirectory(path, f.Loader().View)
}

func (f *Factory) openDirectory(path string, open func(string) (*loader.Directory, error)) (*loader.Directory, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &action.ChartNotFoundError{Ref: path}
	}
	dir, err := open(path)
	if err != nil {
		return nil, err
	}
	for _, w := range dir.Warnings {
		f.Report().Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return dir, nil
}
