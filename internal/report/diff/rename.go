// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"github.com/moonhelm/moonhelm/plan"
)

// renamed takes an object that goes and one of its kind that comes for one, where few
// enough of their lines differ: the nearest ones first come together.
func (o Options) renamed(d Diff, objects []Object) []Object {
	const many = 1000 // pairs: comparing all of them would take longer than a person waits
	compared := 0
	taken := map[int]int{} // the one that goes, by the one that comes
	gone := map[int]bool{}
	for i, fresh := range objects {
		if fresh.Action != plan.Create {
			continue
		}
		best, nearest := -1, 0.0
		for j, old := range objects {
			kin := old.Action == plan.Delete && old.Kind == fresh.Kind && api(old.Ref) == api(fresh.Ref)
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
			out = append(out, merged(objects[j], object))
		} else if !gone[i] {
			out = append(out, object)
		}
	}
	return out
}

// merged is an object under the name that it had, with what it becomes.
func merged(old, fresh Object) Object {
	name := fresh.Ref
	out := fresh
	out.Ref, out.Renamed, out.Action = old.Ref, &name, plan.Update
	out.Before, out.Was = old.Before, old.Was
	out.Drifted, out.Drift = old.Drifted, old.Drift
	return out
}

// distance is the part of the lines of two objects that differs: 0 for none, 1 for all.
func (o Options) distance(d Diff, old, fresh Object) float64 {
	before, after := o.lines(d, merged(old, fresh))
	all, differ := 0, 0
	for _, h := range hunks(before, after, len(before)+len(after)) {
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
