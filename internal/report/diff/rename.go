// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"github.com/moonhelm/moonhelm/plan"
)

// mergeRenamed merges pairs of a deleted and a created object of the same kind with sufficiently
// few differing lines, for each created object the most similar deleted one.
func (o Options) mergeRenamed(d Diff, objects []Object) []Object {
	const many = 1000 // comparisons: more would keep the user waiting
	compared := 0
	taken := map[int]int{} // deleted object by created object
	gone := map[int]bool{}
	for i, fresh := range objects {
		if fresh.Action != plan.Create {
			continue
		}
		best, nearest := -1, 0.0
		for j, old := range objects {
			kin := old.Action == plan.Delete && old.Kind == fresh.Kind && apiGroup(old.Ref) == apiGroup(fresh.Ref)
			if !kin || gone[j] || compared >= many {
				continue
			}
			compared++
			if far := o.distance(d, old, fresh); far <= o.Renames && (best < 0 || far < nearest) {
				best, nearest = j, far
			}
		}
		if best >= 0 {
			taken[i], gone[best] = best, true
		}
	}
	out := make([]Object, 0, len(objects))
	for i, object := range objects {
		if j, ok := taken[i]; ok {
			out = append(out, mergeRename(objects[j], object))
		} else if !gone[i] {
			out = append(out, object)
		}
	}
	return out
}

// mergeRename returns the object with its old name and its new content.
func mergeRename(old, fresh Object) Object {
	name := fresh.Ref
	out := fresh
	out.Ref, out.Renamed, out.Action = old.Ref, &name, plan.Update
	out.Before, out.RenderedBefore = old.Before, old.RenderedBefore
	out.Drifted, out.Drift = old.Drifted, old.Drift
	return out
}

// distance returns the fraction of lines of two objects that differ, from 0 to 1.
func (o Options) distance(d Diff, old, fresh Object) float64 {
	before, after := o.lines(d, mergeRename(old, fresh))
	all, differ := 0, 0
	for _, h := range d.names.hunks(before, after, len(before)+len(after)) {
		for _, l := range h.lines {
			all++
			if l.sign != ' ' {
				differ++
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(differ) / float64(all)
}
