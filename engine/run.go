// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"runtime"
)

// runJobs runs all jobs. The outputs and the first error are the same as if the jobs ran one
// after the other.
func (e *engine) runJobs(ctx context.Context, jobs []job) error {
	e.spent.begin()
	if e.writes {
		copyInto(jobs, e.jobs(true))
	}
	if e.stepLimit == 0 {
		e.stepLimit = maxSteps + int64(len(jobs))*stepsPerFile
	}
	err := e.runOnce(ctx, jobs)
	if !errors.Is(err, errNeedsCopy) && !errors.Is(err, errInterfered) {
		return err
	}
	// A text passed to tpl modifies the values, or a template modified shared data: start
	// again with a copy, one job after the other.
	copyInto(jobs, e.jobs(true))
	e.spent.reset()
	return e.inOrder(ctx, all(jobs))
}

// copyInto replaces the data of jobs with those of fresh.
func copyInto(jobs, fresh []job) {
	for i := range jobs {
		jobs[i].scope, jobs[i].warnings = fresh[i].scope, nil
	}
}

func (e *engine) runOnce(ctx context.Context, jobs []job) error {
	groups, last, ok := apart(jobs)
	if !ok || len(e.customs) > 0 || e.in.Trace {
		return e.inOrder(ctx, all(jobs))
	}
	if err := e.together(ctx, groups); err != nil {
		return err
	}
	return e.inOrder(ctx, last)
}

func all(jobs []job) []*job {
	out := make([]*job, len(jobs))
	for i := range jobs {
		out[i] = &jobs[i]
	}
	return out
}

func (e *engine) inOrder(ctx context.Context, jobs []*job) error {
	x := e.executor(ctx)
	if e.in.Trace {
		x.tracer = newTracer(jobs)
	}
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if j.partial() {
			continue
		}
		if err := x.run(j); err != nil {
			return err
		}
	}
	return nil
}

// group has the jobs of one direct subchart of the root and of all charts below it. Groups
// share no data except .Release, of which each gets a copy.
type group struct {
	jobs    []*job
	release map[string]any
	failed  *job
	err     error
}

// apart divides jobs into groups that cannot see each other's writes, and the root's own jobs.
// ok is false unless all of the root's jobs come last.
func apart(jobs []job) (groups []*group, last []*job, ok bool) {
	if len(jobs) < 16 || runtime.GOMAXPROCS(0) < 2 {
		return nil, nil, false
	}
	byChart := map[*scope]*group{}
	rootBegan := false
	for i := range jobs {
		j := &jobs[i]
		top := j.scope.top()
		if top == nil {
			last = append(last, j)
			rootBegan = rootBegan || !j.partial()
			continue
		}
		if rootBegan && !j.partial() {
			return nil, nil, false
		}
		g := byChart[top]
		if g == nil {
			g = &group{}
			byChart[top] = g
			groups = append(groups, g)
		}
		g.jobs = append(g.jobs, j)
	}
	return groups, last, len(groups) > 1
}

// together runs the groups, as many at a time as there are processors.
func (e *engine) together(ctx context.Context, groups []*group) error {
	shared := groups[0].jobs[0].scope.dot["Release"].(map[string]any)
	inParallel(len(groups), len(groups), func(next func() (int, bool)) {
		for i, ok := next(); ok; i, ok = next() {
			groups[i].run(ctx, e, maps.Clone(shared))
		}
	})
	var first *group
	for _, g := range groups {
		switch {
		case errors.Is(g.err, errNeedsCopy), !sameEntries(g.release, shared):
			return errInterfered
		case g.err != nil && (first == nil || before(g.failed, first.failed)):
			first = g
		}
		for _, j := range g.jobs {
			j.scope.dot["Release"] = shared
		}
	}
	if first != nil {
		return first.err
	}
	return nil
}

func (g *group) run(ctx context.Context, e *engine, release map[string]any) {
	g.release = release
	for _, j := range g.jobs {
		j.scope.dot["Release"] = release
	}
	x := e.executor(ctx)
	for _, j := range g.jobs {
		if g.failed, g.err = j, ctx.Err(); g.err != nil {
			return
		}
		if j.partial() {
			continue
		}
		if g.err = x.run(j); g.err != nil {
			return
		}
	}
	g.failed = nil
}

// sameEntries compares two maps of plain values.
func sameEntries(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if list, ok := v.([]any); ok { // .Release.History, whose items nothing changes in place
			other, _ := b[k].([]any)
			if len(list) != len(other) || len(list) > 0 && &list[0] != &other[0] {
				return false
			}
			continue
		}
		if t := reflect.TypeOf(v); t != nil && !t.Comparable() || v != b[k] {
			return false
		}
	}
	return true
}
