// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// verdict is the result of the readiness rules for an object.
type verdict struct {
	ready bool
	// failed is the reason if the object has failed permanently.
	failed string
	// shaky is the reason of a failure that counts only if it lasts.
	shaky string
	// missing describes the state that is waited for.
	missing string
	// again is the time after which to evaluate the rules again without a change, or 0.
	again time.Duration
}

// waiting is the state of one wait. The fields before mu are set before it begins.
type waiting struct {
	// pending contains the targets that are not ready, with their missing state.
	pending map[*api.Target]string
	report  progress.Func
	// readiness is the rule for the state of an object; ready is a simpler form.
	readiness func(*api.Target, map[string]any) verdict
	ready     func(*api.Target, map[string]any) (ok bool, missing string, err error)
	// existence is set if passive kinds are ready when they exist.
	existence bool
	// polls is set to poll instead of watching.
	polls bool
	// custom contains the readiness expressions of targets that have some.
	custom map[*api.Target]*expressions

	client    *Waiter
	grace     Grace
	namespace string // of the request
	begun     time.Time
	limits    map[*manifest.Object]Limit
	timeout   time.Duration
	hold      bool
	beside    []*api.Target // whose pods are watched, see [Request]
	// watch reports logs and events; it is nil if the request does not ask for them.
	watch *watcher
	// stop ends the wait. background runs a function in the background until the wait ends.
	stop       func()
	background func(func(context.Context))

	mu      sync.Mutex
	ended   bool
	total   int // the number of all targets
	took    time.Duration
	awaited map[*api.Target]*awaited
	owners  map[ownerKey]*awaited
	byName  map[involved]*awaited // also those that are ready
	watched map[string]bool       // namespaces whose pods are watched
	failed  *failure
	expired *awaited // the object whose own time was over
}

// awaited is an object that is not ready yet.
type awaited struct {
	*api.Target
	live map[string]any // nil if it does not exist
	seen bool
	pods map[string]*podTrouble // the pods with problems, by name
	sets map[string]replicaSet  // of a Deployment, by name
	// own are the problems of the object itself.
	own   []trouble
	timer *time.Timer
	// limit is the object's own timeout, and deadline its timer, or nil.
	limit    Limit
	deadline *time.Timer
	// known are the pods, by name, if the request has a Watch.
	known map[string]*knownPod
	// beside is set if the object is not awaited.
	beside bool
	// state and readyAfter are those of [Outcome].
	state      string
	readyAfter time.Duration
	// worst is the most severe problem, nil if there is none.
	worst *trouble
	// lastKind and shown are the kind and the text of the last event.
	lastKind progress.Kind
	lastText string
}

// failure is the failure that ended a wait.
type failure struct {
	error          *FailedError
	target         *api.Target
	pod, container string
}

type ownerKey struct{ kind, namespace, name string }

func (w *waiting) begin(targets []*api.Target) {
	w.total = len(targets)
	w.awaited, w.owners, w.watched = map[*api.Target]*awaited{}, map[ownerKey]*awaited{}, map[string]bool{}
	w.byName = map[involved]*awaited{}
	add := func(t *api.Target) *awaited {
		a := &awaited{Target: t, pods: map[string]*podTrouble{}, sets: map[string]replicaSet{}, known: map[string]*knownPod{}}
		w.byName[involved{t.Kind, t.Namespace, t.Name}] = a
		if t.HasPods() {
			w.owners[ownerKey{t.Kind, t.Namespace, t.Name}] = a
		}
		return a
	}
	for _, t := range w.beside {
		add(t).beside = true
	}
	for _, t := range targets {
		w.pending[t], w.awaited[t] = "does not exist yet", add(t)
	}
}

// end prevents further changes of w.
func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.took = true, time.Since(w.begun)
	for _, a := range w.awaited {
		a.stopTimers()
	}
	w.stop()
}

func (a *awaited) stopTimers() {
	for _, timer := range []*time.Timer{a.timer, a.deadline} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// observer returns a function that handles the state of an object in members.
func (w *waiting) observer(members []*api.Target) func(string, map[string]any) bool {
	byName := map[string]*api.Target{} // the targets that are not ready
	for _, t := range members {
		byName[t.Name] = t
	}
	return func(name string, o map[string]any) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if a := w.awaited[byName[name]]; a != nil {
			a.live, a.seen = o, a.seen || o != nil
			w.evaluate(a)
		}
		if t := byName[name]; t != nil && w.awaited[t] == nil {
			delete(byName, name)
		}
		return w.failed != nil || !w.hold && len(byName) == 0
	}
}

// markExisting marks a passive object as ready. It returns true.
func (w *waiting) markExisting(t *api.Target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.markReady(w.awaited[t])
	return true
}

// evaluate evaluates the state of a; w.mu must be held.
func (w *waiting) evaluate(a *awaited) {
	w.watchPods(a)
	if w.ended || w.failed != nil || w.awaited[a.Target] != a {
		return
	}
	if a.live == nil {
		w.handleAbsent(a)
		return
	}
	v := w.rule(a)
	switch {
	case v.ready:
		w.markReady(a)
		return
	case v.failed != "":
		w.fail(a, v.failed, trouble{})
		return
	}
	now := time.Now()
	a.updateOwn(now, w.grace, v)
	worst, next := a.findWorst(now, w.isLatest)
	a.worst = worst
	if worst != nil && worst.root != nil {
		a.worst = worst.root
	}
	if v.again > 0 && (next == 0 || v.again < next) {
		next = v.again
	}
	a.schedule(next, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.evaluate(a)
	})
	switch {
	case worst == nil:
		w.sendState(a, progress.Waiting, v.missing)
	case worst.isPermanent(now) && !w.hasOwnFailure(a):
		why := worst.text
		if root := worst.root; root != nil {
			why = brief(why) + ": " + root.text
			worst.pod, worst.container = root.pod, root.container
		}
		w.fail(a, why, *worst)
		return
	default:
		w.sendState(a, progress.Failing, worst.text)
	}
	w.pending[a.Target] = v.missing
	w.followPods(a.Target)
}

// handleAbsent handles an object that does not exist. If it was deleted during the wait it may be
// created again, unless the wait is for it to finish.
func (w *waiting) handleAbsent(a *awaited) {
	if !a.seen {
		return // pending says so from the beginning
	}
	w.pending[a.Target], a.worst = "no longer exists", nil
	if !w.existence && (a.HasPods() || a.IsPod()) {
		w.fail(a, "it was deleted before it finished", trouble{})
		return
	}
	w.sendState(a, progress.Failing, "no longer exists")
}

// rule evaluates the object's own expressions or the rules for its kind.
func (w *waiting) rule(a *awaited) verdict {
	usual := func() verdict {
		if w.readiness != nil {
			return withReadyPods(a.Target, a.live, w.readiness(a.Target, a.live))
		}
		ok, missing, err := w.ready(a.Target, a.live)
		v := verdict{ready: ok, missing: missing}
		if failed, ok := errors.AsType[*FailedError](err); ok {
			v.failed = failed.Reason
		} else if err != nil {
			v.failed = err.Error()
		}
		return v
	}
	if x := w.custom[a.Target]; x != nil {
		return x.evaluate(a.live, usual)
	}
	return usual()
}

// withReadyPods adds to the verdict that old pods of a Deployment have to go how many of all pods are
// ready: mostly the old ones stay because the new ones are not.
func withReadyPods(t *api.Target, o map[string]any, v verdict) verdict {
	ready, all := api.Int(o, "status", "readyReplicas"), api.Int(o, "status", "replicas")
	if t.Is("apps", "Deployment") && ready < all && v.missing == noOldPods(all-api.Replicas(o)).missing {
		v.missing = fmt.Sprintf("%d of %d pods ready, %s", ready, all, v.missing)
	}
	return v
}

// hasOwnFailure reports whether the object's own expressions define its failure, so that the other
// rules must not.
func (w *waiting) hasOwnFailure(a *awaited) bool {
	x := w.custom[a.Target]
	return x != nil && len(x.success) > 0 && len(x.failure) > 0
}

func (w *waiting) markReady(a *awaited) {
	if a == nil || w.ended {
		return
	}
	if w.hold && a.lastKind == progress.Ready {
		return
	}
	a.stopTimers()
	a.lastKind, a.lastText, a.worst = progress.Ready, "", nil
	delete(w.pending, a.Target)
	if !w.hold {
		delete(w.awaited, a.Target)
	}
	e := progress.Event{Kind: progress.Ready, Object: a.Short(), Total: int64(w.total)}
	if a.IsPod() && api.String(a.live, "status", "phase") == "Succeeded" || a.Is("batch", "Job") &&
		api.String(a.live, "status", "completionTime") != "" {
		e.Text = "complete"
	}
	a.state, a.readyAfter = cmp.Or(e.Text, "ready"), time.Since(w.begun)
	if w.watch != nil {
		w.watch.release(a.Target)
	}
	w.report.Send(e)
	if len(w.awaited) == 0 {
		w.stop() // no further event needs to arrive
	}
}

func (w *waiting) fail(a *awaited, why string, t trouble) {
	if w.hold {
		w.pending[a.Target] = why
		w.sendState(a, progress.Failing, why)
		return
	}
	w.failed = &failure{
		error:  &FailedError{Object: a.String(), Reason: why, After: time.Since(w.begun)},
		target: a.Target, pod: t.pod, container: t.container,
	}
	if t.rule != "" && t.grace > 0 {
		w.failed.error.Rule, w.failed.error.Grace = t.rule, t.grace
	}
	if a.IsPod() {
		w.failed.pod = a.Name
	}
	w.sendState(a, progress.Failing, why)
	w.stop()
}

// sendState sends an event if the state of a has changed.
func (w *waiting) sendState(a *awaited, kind progress.Kind, text string) {
	if a.lastKind == kind && a.lastText == text {
		return
	}
	a.lastKind, a.lastText = kind, text
	w.report.Send(progress.Event{Kind: kind, Object: a.Short(), Text: text, Total: int64(w.total)})
}

// failure returns the error of a wait for targets that gave up. details are those of the failed
// object, others those of other targets, as far as they are known.
func (w *waiting) failure(targets []*api.Target, details []string, others map[*api.Target][]string) error {
	e := w.failed.error
	e.Details = append(e.Details, withoutRepeated(details, e.Reason)...)
	targets = api.Filter(targets, func(t *api.Target) bool { return t != w.failed.target })
	e.Others = problemsOf(w.findings(targets, others), w.namespace)
	return e
}

// unfinished returns the error of a wait for targets that ended before all were ready.
func (w *waiting) unfinished(targets []*api.Target, why error, details map[*api.Target][]string) error {
	problems := problemsOf(w.findings(targets, details), w.namespace)
	e := &PendingError{Problems: problems, Total: w.total, After: w.took, Err: why}
	if w.expired != nil && w.expired.limit.Origin != "" {
		e.Expired, e.Limit = w.expired.Short(), w.expired.limit
	}
	return e
}

// findings returns what is known about those of targets that are not ready. details are as far as
// they are known.
func (w *waiting) findings(targets []*api.Target, details map[*api.Target][]string) []finding {
	var out []finding
	for _, t := range targets {
		missing, pending := w.pending[t]
		if !pending {
			continue
		}
		f := finding{target: t, missing: missing, details: details[t]}
		if a := w.awaited[t]; a != nil {
			f.trouble = a.worst
			if a.isOver(w.took) {
				f.over = a.limit
			}
			f.details = append(heldBy(a.live), f.details...)
		}
		out = append(out, f)
	}
	return out
}

// heldBy returns the line about what keeps an object that is being deleted, or nil.
func heldBy(live map[string]any) []string {
	if api.String(live, "metadata", "deletionTimestamp") == "" {
		return nil
	}
	finalizers, _ := api.Field(live, "metadata", "finalizers").([]any)
	var names []string
	for _, f := range finalizers {
		names = append(names, fmt.Sprint(f))
	}
	if len(names) == 0 {
		return nil
	}
	return []string{waitsForFinalizers(names)}
}

// waitsForFinalizers returns the cause of an object that is not deleted.
func waitsForFinalizers(names []string) string {
	return "it waits for its finalizers: " + strings.Join(names, ", ")
}

// schedule schedules a call of fn after d, in place of an earlier one.
func (a *awaited) schedule(d time.Duration, fn func()) {
	switch {
	case d <= 0 && a.timer != nil:
		a.timer.Stop()
	case d > 0 && a.timer == nil:
		a.timer = time.AfterFunc(d, fn)
	case d > 0:
		a.timer.Reset(d)
	}
}

// followPods starts to watch the pods in the namespace of t, once. Without the permission to do
// so, only the conditions of workloads are used.
func (w *waiting) followPods(t *api.Target) {
	beside := slices.Contains(w.beside, t)
	if !t.HasPods() && !beside || w.watched[t.Namespace] {
		return
	}
	w.watched[t.Namespace] = true
	var makers []*api.Target
	for _, other := range w.beside {
		if other.Namespace == t.Namespace {
			makers = append(makers, other) // a Pod has no template, so that all pods are watched
		}
	}
	for other := range w.awaited {
		if other.HasPods() && other.Namespace == t.Namespace {
			makers = append(makers, other)
		}
	}
	place, query := api.PodCollection(t.Namespace), podQuery(makers)
	if w.watch != nil {
		w.watch.queries[t.Namespace] = query
	}
	see := func(name string, raw json.RawMessage) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.updatePod(t.Namespace, name, raw)
		return w.ended
	}
	w.background(func(ctx context.Context) {
		err := w.followOrPoll(ctx, place, query, see)
		if w.watch != nil {
			w.watch.failedToWatch(ctx, "pods are not watched, so their logs are not shown", err)
		}
	})
}

// followOrPoll watches a collection, or lists it again and again if the wait polls.
func (w *waiting) followOrPoll(ctx context.Context, place api.Collection, query url.Values, see observer) error {
	if !w.polls {
		return w.client.follow(ctx, place, query, see)
	}
	return w.client.poll(ctx, func(known map[string]bool) (bool, error) {
		_, done, err := w.client.list(ctx, place, query, known, see)
		return done, err
	})
}
