// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/progress"
)

// Vendor is the chart at path, a folder or an archive, to be looked at.
func (e *Env) Vendor(path string) (action.Vendor, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return e.vendor(path)
	}
	c, err := e.loaded(e.Loader().Load(path))
	if err != nil {
		return nil, err
	}
	f := &loader.Folder{Path: path, Chart: c}
	for _, d := range c.Dependencies() {
		dir := chart.DirCharts
		if d.FromLibrary {
			dir = chart.DirLibrary
		}
		f.Vendored = append(f.Vendored, loader.Vendored{Dir: dir, File: d.Name(), Name: d.Name(), Version: d.Version()})
	}
	return vendor{f}, nil
}

func (e *Env) vendor(path string) (action.Vendor, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &ChartNotFoundError{Ref: path}
	}
	f, err := e.Loader().OpenFolder(path)
	if err != nil {
		return nil, err
	}
	for _, w := range f.Warnings {
		e.Report().Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return vendor{f}, nil
}

// vendor implements action.Vendor.
type vendor struct{ folder *loader.Folder }

// Chart implements action.Vendor.
func (v vendor) Chart() *chart.Chart { return v.folder.Chart }

// Held implements action.Vendor.
func (v vendor) Held() []action.Held {
	out := make([]action.Held, len(v.folder.Vendored))
	for i, c := range v.folder.Vendored {
		out[i] = action.Held{Library: c.Dir == chart.DirLibrary, File: c.File, Archive: c.Archive, Name: c.Name, Version: c.Version, Err: c.Err}
	}
	return out
}

// Lock implements action.Vendor.
func (v vendor) Lock() (string, []byte, error) {
	return v.folder.LockName, v.folder.Lock, v.folder.LockErr
}

// Preview implements action.Vendor.
func (v vendor) Preview(put []action.Delivery, drop []action.Held) (*chart.Chart, error) {
	return v.folder.Preview(arrivals(put), departures(drop))
}

// Replace implements action.Vendor.
func (v vendor) Replace(ctx context.Context, put []action.Delivery, drop []action.Held, lock []byte) error {
	return v.folder.Replace(ctx, loader.Replacement{Put: arrivals(put), Drop: departures(drop), LockName: v.folder.LockName, Lock: lock})
}

func arrivals(put []action.Delivery) []loader.New {
	out := make([]loader.New, len(put))
	for i, d := range put {
		out[i] = loader.New{Dir: chartsDir(d.Library), File: d.File, Open: d.Open}
	}
	return out
}

func departures(drop []action.Held) []loader.Vendored {
	out := make([]loader.Vendored, len(drop))
	for i, h := range drop {
		out[i] = loader.Vendored{Dir: chartsDir(h.Library), File: h.File, Archive: h.Archive}
	}
	return out
}

func chartsDir(library bool) string {
	if library {
		return chart.DirLibrary
	}
	return chart.DirCharts
}
