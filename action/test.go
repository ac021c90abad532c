// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Test runs the tests of a release: its hooks that name the event "test". Its locker
// keeps two tests of a release, and an upgrade and a test, from meeting.
type Test struct{ *Config }

// TestRequest says what to test. Name is needed.
type TestRequest struct {
	Name string
	// Filters choose tests: "name=smoke" runs those that are named so,
	// "!name=smoke" all but those. One text may hold several, with commas.
	Filters []string
	// Timeout bounds each test; 0 is five minutes.
	Timeout time.Duration
	// Logs collects what the tests' pods have written.
	Logs bool
	// TakeOwnership lets tests replace objects that are not the release's.
	TakeOwnership bool
}

// Tested is what tests came to.
type Tested struct {
	// Release is the record with the tests' last runs. Tests that scripts have
	// added are among its hooks, although the record does not keep them.
	Release *release.Release
	// Results are the tests that were chosen, in the order in which they run;
	// those that were not reached are unknown.
	Results []event.TestResult
	// Logs are those of the tests that ran, in their order.
	Logs []status.Log
}

// testRun is the work on one release.
type testRun struct {
	*Config
	req     TestRequest
	events  lifecycle
	hooks   *hookRunner
	payload event.Payload
	before  *event.PreTest
	tests   []*release.Hook
	out     *Tested
}

// Run runs the tests of the newest revision, whatever its status, by weight,
// then name, one after the other. The first that fails ends it with a
// [*HookError], which comes together with what was done. The record says
// afterwards when and how each test ran.
func (t Test) Run(ctx context.Context, req TestRequest) (*Tested, error) {
	t.Config = t.forOperation()
	if err := t.require("test"); err != nil {
		return nil, err
	}
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	ctx, held, err := t.acquireLock(ctx, req.Name, "test")
	if err != nil {
		return nil, err
	}
	defer held.Unlock()
	rel, err := t.Releases.Get(ctx, req.Name, 0)
	if err != nil {
		return nil, err
	}
	w := &testRun{Config: t.Config, req: req, events: t.begin(), before: &event.PreTest{}, out: &Tested{Release: rel}}
	defer w.events.end()
	w.hooks = &hookRunner{Config: t.Config, timeout: orDefault(req.Timeout), takeOwnership: req.TakeOwnership}
	if req.Logs {
		w.hooks.ended = w.readLogs
	}
	if err := w.choose(); err != nil {
		return nil, err
	}
	if len(w.tests) == 0 {
		return w.out, nil
	}
	if err := inOrder(ctx, w.prepare, w.events.respond(w.before, event.Permissions, w.checkTests)); err != nil {
		return nil, err
	}
	return w.out, w.run(ctx)
}

// checkTests refuses tests that could not run.
func (w *testRun) checkTests(ctx context.Context) error {
	return w.hooks.check(ctx, w.out.Release, w.tests, true, "update")
}

// prepare starts the scripts of the chart in the record and emits pre-test.
func (w *testRun) prepare(ctx context.Context) error {
	rel := w.out.Release
	op := operation("test", false,
		engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision,
			Service: releaseService}, nil, lookupIn(ctx, w.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return err
	}
	w.payload = event.Payload{Operation: op, Chart: scripts, Release: rel}
	if scripts != nil {
		if w.payload.Values, err = ComputedValues(rel); err != nil {
			return fmt.Errorf("read the values of release %s: %w", rel.Name, err)
		}
	}
	// Also where there are none: a source that ran another release's ends them.
	if err := emitResolved(ctx, w.events.Bus,
		&event.ChartResolved{Payload: event.Payload{Operation: op, Chart: scripts}}); err != nil {
		return err
	}
	known := map[*manifest.Object]*release.Hook{}
	pre := w.before
	pre.Payload = w.payload
	for _, h := range w.tests {
		objs, err := manifest.Parse(h.Path, h.Manifest)
		if err != nil {
			return fmt.Errorf("read test %s of release %s: %w", h.Name, rel.Name, err)
		}
		if len(objs) != 1 {
			return fmt.Errorf("read test %s of release %s: its manifest holds %d objects, want one", h.Name, rel.Name, len(objs))
		}
		known[objs[0]] = h
		pre.Objects = append(pre.Objects, objs[0])
	}
	if err := w.events.Emit(ctx, pre); err != nil {
		return err
	}
	return w.adopt(pre.Objects, known)
}

// adopt makes tests of the objects that handlers of pre-test have left. What
// they have not touched are the record's own.
func (w *testRun) adopt(objects []*manifest.Object, known map[*manifest.Object]*release.Hook) error {
	w.tests = nil
	for _, o := range objects {
		if h := known[o]; h != nil {
			w.tests = append(w.tests, h)
			continue
		}
		if o.Empty {
			continue
		}
		hooks, _ := release.SplitHooks([]*manifest.Object{o})
		if len(hooks) != 1 || !hooks[0].On(release.Test) {
			return fmt.Errorf("pre-test left %s, which is not a test: it needs the annotation %s: %s", o, release.HookAnnotation,
				release.Test)
		}
		w.tests = append(w.tests, hooks[0])
	}
	release.SortHooks(w.tests)
	w.payload.Objects = objects
	return nil
}

// run runs the tests and tells scripts and the record how it went.
func (w *testRun) run(ctx context.Context) error {
	for _, h := range w.tests {
		h.LastRun = release.Run{}
	}
	run := w.events.respond(w.before, event.AnnotationHooks, func(ctx context.Context) error {
		return w.hooks.run(ctx, w.out.Release, w.tests, release.Test)
	})
	err := orLockLost(ctx, run(ctx))
	var rerr error
	if !lost(ctx) { // else the record is another client's to write
		rerr = w.record(ctx)
	}
	for _, h := range w.tests {
		phase := h.LastRun.Phase
		if phase == "" {
			phase = release.PhaseUnknown
		}
		w.out.Results = append(w.out.Results, event.TestResult{Name: h.Name, Kind: h.Kind, Phase: phase})
	}
	if err != nil {
		err = joinTold(err, w.events.Emit(ctx, &event.FailedTest{Payload: w.payload, Results: w.out.Results}))
	}
	return joinTold(err, w.events.Emit(ctx, &event.PostTest{Payload: w.payload, Results: w.out.Results}), rerr)
}

// joinTold is errors.Join without those that say again that the user interrupted.
func joinTold(first error, more ...error) error {
	for _, err := range more {
		switch {
		case first == nil:
			first = err
		case err != nil && !errors.Is(err, context.Canceled):
			first = fmt.Errorf("%w; %w", first, err)
		}
	}
	return first
}

// readLogs keeps the logs of a test that has ended.
func (w *testRun) readLogs(ctx context.Context, h *release.Hook, o *manifest.Object) {
	logs, err := w.Cluster.Logs(ctx, o, w.out.Release.Namespace)
	if err != nil {
		w.Progress.Send(progress.Event{Kind: progress.Warning, Object: h.Kind + "/" + h.Name,
			Text: fmt.Sprintf("its log cannot be read: %s", err)})
	}
	w.out.Logs = append(w.out.Logs, logs...)
}

// record notes the last runs in the record as it is now: another client may have
// changed it while the tests ran.
func (w *testRun) record(ctx context.Context) error {
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	was := w.out.Release
	rel, err := w.Releases.Get(ctx, was.Name, was.Revision)
	if err == nil {
		w.note(rel)
		err = w.Releases.Update(ctx, rel)
	}
	if errors.Is(err, storage.ErrNotFound) {
		w.Progress.Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("release %s is gone: nothing records how its tests went", was.Name)})
		rel, err = was, nil
	}
	if err != nil {
		return fmt.Errorf("record the tests of release %s: %w", was.Name, err)
	}
	shown := rel.Clone()
	for _, h := range w.tests {
		if _, ok := findHook(rel, h); !ok {
			shown.Hooks = append(shown.Hooks, h)
		}
	}
	w.out.Release, w.payload.Release = shown, shown
	return nil
}

// note gives the hooks of rel the last runs of the tests that have run.
func (w *testRun) note(rel *release.Release) {
	hooks := make([]*release.Hook, len(rel.Hooks))
	copy(hooks, rel.Hooks)
	rel.Hooks = hooks
	for _, h := range w.tests {
		if i, ok := findHook(rel, h); ok && !h.LastRun.StartedAt.IsZero() {
			ran := *rel.Hooks[i]
			ran.LastRun = h.LastRun
			rel.Hooks[i] = &ran
		}
	}
}

// findHook is where rel has the hook h.
func findHook(rel *release.Release, h *release.Hook) (int, bool) {
	for i, have := range rel.Hooks {
		if have.Kind == h.Kind && have.Name == h.Name && have.Path == h.Path {
			return i, true
		}
	}
	return 0, false
}
