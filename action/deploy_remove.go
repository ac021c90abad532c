// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// removeObjects deletes the objects that the release does not contain any more, in the reverse of the
// order in which the charts of earlier revisions had them applied: what depends on others goes first.
// It waits for the deletion of each batch but the last.
func (d *deployment) removeObjects(ctx context.Context) error {
	var steps []plan.Step
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete && !isDeletedFirst(s) || s.Action == plan.Keep {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	batchOf, objects, err := d.earlierBatches()
	if err != nil {
		return err
	}
	removals := map[int][]plan.Step{}
	for _, s := range steps {
		removals[batchOf[s.String()]] = append(removals[batchOf[s.String()]], s)
	}
	batches := slices.Sorted(maps.Keys(removals))
	for i, n := range slices.Backward(batches) {
		if err := d.config.Cluster.Execute(ctx, d.plan, removals[n]); err != nil {
			return err
		}
		if i == 0 {
			break
		}
		if err := d.awaitRemoval(ctx, removals[n], objects); err != nil {
			return err
		}
	}
	return nil
}

// earlierBatches returns the number of the batch in which earlier revisions applied each object, and
// the objects, both by their names. An object that is in none has 0.
func (d *deployment) earlierBatches() (batchOf map[string]int, objects map[string]*manifest.Object, err error) {
	batchOf, objects = map[string]int{}, map[string]*manifest.Object{}
	for _, rel := range d.history.applied {
		all, err := recordedObjects(rel)
		if err != nil {
			return nil, nil, err
		}
		batches, err := splitBatches(rel, all, nil)
		if err != nil { // the order in a record must not keep objects from being deleted
			d.config.warn(err.Error())
		}
		for i, batch := range batches {
			for _, o := range batch {
				batchOf[o.String()], objects[o.String()] = i, o
			}
		}
	}
	return batchOf, objects, nil
}

// awaitRemoval waits until the objects of the steps are deleted.
func (d *deployment) awaitRemoval(ctx context.Context, steps []plan.Step, objects map[string]*manifest.Object) error {
	var gone []*manifest.Object
	for _, s := range steps {
		if o := objects[s.String()]; o != nil && s.Action == plan.Delete {
			gone = append(gone, o)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	d.config.Progress.Send(progress.Event{Kind: progress.Step, Text: "waiting until the objects are deleted"})
	ctx, cancel := context.WithTimeout(ctx, timeoutOrDefault(d.wait.Timeout))
	defer cancel()
	return d.config.Cluster.WaitGone(ctx, gone, d.owner())
}
