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
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Test runs the tests of a release, which are its hooks with the event "test". It holds the
// release's lock, so that no other test or upgrade runs at the same time.
type Test struct{ *Config }

// A TestRequest is the request of a test run. Name is required.
type TestRequest struct {
	Name string
	// Filters select tests: "name=smoke" runs only the tests of that name, "!name=smoke"
	// all others. A filter may be a comma-separated list.
	Filters []string
	// Timeout limits each test; 0 means five minutes.
	Timeout time.Duration
	// GiveUpAfter is as in [WaitOptions].
	GiveUpAfter time.Duration
	// Logs collects the logs of the tests' pods.
	Logs bool
	// TakeOwnership lets tests replace objects that do not belong to the release.
	TakeOwnership bool
}

// Tested is the result of a test run.
type Tested struct {
	// Release is the record with the last runs of the tests. Its hooks include tests that
	// scripts have added, which are not recorded.
	Release *release.Release
	// Results are the results of the selected tests, in the order in which they run. The
	// phase of tests that did not run is unknown.
	Results []event.TestResult
	// Logs are the logs of the tests that ran, in order.
	Logs []status.Log
}

// testRun is one test run.
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

// Run runs the tests of the newest revision, whatever its status, sorted by weight and name,
// one after the other. It stops at the first failure and returns the results together with a
// [*HookError]. It records when and how each test ran.
//
// Other errors: [*ConfigError], [ErrNoName], [*storage.NotFoundError], [*UnknownTestError],
// [*OutsideError], [*HookConflictError], [*lock.LockedError] and [*lock.LostError].
func (t Test) Run(ctx context.Context, req TestRequest) (*Tested, error) {
	t.Config = t.forOperation()
	if err := t.require("test"); err != nil {
		return nil, err
	}
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	return resuming(ctx, t.Config, func(ctx context.Context) (*Tested, error) { return t.attempt(ctx, req) }, nil)
}

// attempt is Run, unless a transfer of the release's objects was interrupted.
func (t Test) attempt(ctx context.Context, req TestRequest) (*Tested, error) {
	ctx, held, err := t.acquireLock(ctx, req.Name, "test")
	if err != nil {
		return nil, err
	}
	defer held.Unlock()
	rel, err := t.Releases.Get(ctx, req.Name, 0)
	if err != nil {
		return nil, err
	}
	if rel.InTransfer() != nil {
		return nil, newUnfinished(rel, t.namespace())
	}
	w := &testRun{Config: t.Config, req: req, events: t.begin(), before: &event.PreTest{}, out: &Tested{Release: rel}}
	defer w.events.end()
	limits := WaitOptions{GiveUpAfter: req.GiveUpAfter}
	w.hooks = &hookRunner{Config: t.Config, timeout: timeoutOrDefault(req.Timeout), grace: limits.grace(),
		takeOwnership: req.TakeOwnership}
	if req.Logs {
		w.hooks.onFinished = w.readLogs
	}
	if err := w.selectTests(); err != nil {
		return nil, err
	}
	if len(w.tests) == 0 && len(req.Filters) > 0 {
		return w.out, nil // handlers do not add tests that the user has left out
	}
	if err := runSteps(ctx, w.prepare, w.events.handleStep(w.before, event.Permissions, w.checkTests)); err != nil {
		return nil, err
	}
	return w.out, w.run(ctx)
}

// checkTests returns an error if tests cannot run.
func (w *testRun) checkTests(ctx context.Context) error {
	return w.hooks.check(ctx, w.out.Release, w.tests, true, "update")
}

// prepare starts the scripts of the chart in the record and emits pre-test.
func (w *testRun) prepare(ctx context.Context) error {
	rel := w.out.Release
	op := newOperation("test", false,
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
	// Without scripts too: the event stops scripts of another release.
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
	return w.adoptObjects(pre.Objects, known)
}

// adoptObjects sets the tests to the objects that handlers of pre-test have left. Unchanged
// objects stay the hooks of the record.
func (w *testRun) adoptObjects(objects []*manifest.Object, known map[*manifest.Object]*release.Hook) error {
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

// run runs the tests, records the results, and emits them to scripts.
func (w *testRun) run(ctx context.Context) error {
	if len(w.tests) == 0 { // there is nothing to record
		return w.events.Emit(ctx, &event.PostTest{Payload: w.payload, Results: []event.TestResult{}})
	}
	for _, h := range w.tests {
		h.LastRun = release.Run{}
	}
	run := w.events.handleStep(w.before, event.AnnotationHooks, func(ctx context.Context) error {
		return w.hooks.run(ctx, w.out.Release, w.tests, release.Test)
	})
	err := orLockLost(ctx, run(ctx))
	if pending := (*wait.PendingError)(nil); errors.As(err, &pending) {
		err = &WaitError{Operation: "test", Release: w.out.Release.Name, Revision: w.out.Release.Revision, Err: err}
	}
	var rerr error
	if !isLockLost(ctx) { // without the lock, another client may write the record
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
		err = joinErrorsOnce(err, w.events.Emit(ctx, &event.FailedTest{Payload: w.payload, Results: w.out.Results}))
	}
	return joinErrorsOnce(err, w.events.Emit(ctx, &event.PostTest{Payload: w.payload, Results: w.out.Results}), rerr)
}

// joinErrorsOnce joins errors. It drops context.Canceled, except as the first error.
func joinErrorsOnce(first error, more ...error) error {
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

// readLogs collects the logs of a test that has finished.
func (w *testRun) readLogs(ctx context.Context, h *release.Hook, o *manifest.Object) {
	logs, err := w.Cluster.Logs(ctx, o, w.out.Release.Namespace)
	if err != nil {
		w.Progress.Send(progress.Event{Kind: progress.Warning, Object: h.Kind + "/" + h.Name,
			Text: fmt.Sprintf("its log cannot be read: %s", err)})
	}
	w.out.Logs = append(w.out.Logs, logs...)
}

// record writes the last runs to the current record, which another client may have changed
// while the tests ran.
func (w *testRun) record(ctx context.Context) error {
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	was := w.out.Release
	rel, err := w.Releases.Get(ctx, was.Name, was.Revision)
	if err == nil {
		w.copyRuns(rel)
		err = w.Releases.Update(ctx, rel)
	}
	if errors.Is(err, storage.ErrNotFound) {
		w.Progress.Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("release %s was deleted: the results of its tests are not recorded", was.Name)})
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

// copyRuns sets the last runs of rel's hooks to those of the tests.
func (w *testRun) copyRuns(rel *release.Release) {
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

// findHook returns the index of the hook of rel with the kind, name and path of h.
func findHook(rel *release.Release, h *release.Hook) (int, bool) {
	for i, have := range rel.Hooks {
		if have.Kind == h.Kind && have.Name == h.Name && have.Path == h.Path {
			return i, true
		}
	}
	return 0, false
}
