// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"context"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

// Create creates a new chart.
type Create struct {
	Loader loader.Loader
	Events *event.Bus // nil runs no handlers
}

// Run emits the events of a new chart that consists of files, and returns the files to
// write. The scripts that run are the new chart's, from its starter.
func (c Create) Run(ctx context.Context, files []*chart.File) ([]*chart.File, error) {
	if c.Events == nil {
		return files, nil
	}
	made, _, err := c.Loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	op := newOperation("create", false, engine.Release{}, engine.DefaultCapabilities(), nil)
	res, err := values.Resolve(made, nil)
	if err != nil {
		return nil, err
	}
	tree := made.CopyTree()
	was, err := loader.Flatten(tree)
	if err != nil {
		return nil, err
	}
	adopt, err := stageFiles(tree, res.Chart)
	if err != nil {
		return nil, err
	}
	payload := event.Payload{Operation: op, Chart: res.Chart, Values: res.Values}
	if err := emitResolved(ctx, c.Events, &event.ChartResolved{Payload: payload}); err != nil {
		return nil, err
	}
	if err := c.Events.Emit(ctx, &event.PreCreate{Payload: event.Payload{Operation: op}}); err != nil {
		return nil, err
	}
	last := &event.PostCreate{Payload: payload}
	if err := c.Events.Emit(ctx, last); err != nil {
		return nil, err
	}
	if err := adopt(); err != nil {
		return nil, err
	}
	if err := rewriteValues(tree, res.Values, last.Values); err != nil {
		return nil, err
	}
	written, err := loader.Flatten(tree)
	if err != nil {
		return nil, err
	}
	return applyChanges(files, was, written), nil
}

// applyChanges returns files with the differences between was and changed applied. Files that
// are not part of the chart stay unchanged.
func applyChanges(files, was, changed []*chart.File) []*chart.File {
	byName := make(map[string]*chart.File, len(changed))
	for _, f := range changed {
		byName[f.Name] = f
	}
	touched := map[string]*chart.File{} // nil for a deleted file
	for _, f := range was {
		if n := byName[f.Name]; n == nil || !bytes.Equal(n.Data, f.Data) {
			touched[f.Name] = n
		}
		delete(byName, f.Name)
	}
	var out []*chart.File
	for _, f := range files {
		if n, ok := touched[f.Name]; !ok {
			out = append(out, f)
		} else if n != nil {
			out = append(out, n)
		}
	}
	for _, f := range changed {
		if byName[f.Name] != nil {
			out = append(out, f)
		}
	}
	return out
}
