// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/progress"
)

// verdict is what the rules say of one object.
type verdict struct {
	ready bool
	// failed tells why the object has failed for good, "" where it has not.
	failed string
	// shaky is like failed, but counts only when it lasts.
	shaky string
	// missing tells what there is to wait for.
	missing string
	// again is when to look once more though nothing has changed; 0 is never.
	again time.Duration
}

// waiting is what one wait knows. The fields before mu are set by who waits.
type waiting struct {
	// pending are the targets that are not ready, with what they are missing.
	pending map[*api.Target]string
	report  progress.Func
	// judge says of a live object whether it is ready; ready is a simpler form.
	judge func(*api.Target, map[string]any) verdict
	ready func(*api.Target, map[string]any) (ok bool, missing string, err error)
	// existence is enough for passive kinds.
	existence bool
	// polls asks again and again instead of watching.
	polls bool
	// custom are the readiness expressions of targets that have some.
	custom map[*api.Target]*expressions

	client *Waiter
	grace  Grace
	// stop ends the wait; beside runs something until its end at the latest.
	stop   func()
	beside func(func(context.Context))

	mu      sync.Mutex
	over    bool
	awaited map[*api.Target]*awaited
	owners  map[ownerKey]*awaited
	watched map[string]bool // namespaces whose pods are looked at
	failed  *failure
}

// awaited is one object that is not ready yet.
type awaited struct {
	*api.Target
	live map[string]any // nil where it is not there
	seen bool
	pods map[string]*podTrouble // by name, those in trouble only
	sets map[string]replicaSet  // of a Deployment, as far as looked at
	// own are troubles of the object itself.
	own   []trouble
	timer *time.Timer
	// told and shown are the last report.
	told  progress.Kind
	shown string
}

// failure is what ended a wait.
type failure struct {
	error          *FailedError
	target         *api.Target
	pod, container string
}

type ownerKey struct{ kind, namespace, name string }

func (w *waiting) begin(c *Waiter, targets []*api.Target) {
	w.client, w.grace = c, c.grace.orDefault()
	w.awaited, w.owners, w.watched = map[*api.Target]*awaited{}, map[ownerKey]*awaited{}, map[string]bool{}
	for _, t := range targets {
		w.pending[t] = "does not exist yet"
		a := &awaited{Target: t, pods: map[string]*podTrouble{}, sets: map[string]replicaSet{}}
		w.awaited[t] = a
		if t.HasPods() {
			w.owners[ownerKey{t.Kind, t.Namespace, t.Name}] = a
		}
	}
}

// end forbids that anything changes w from now on.
func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, a := range w.awaited {
		if a.timer != nil {
			a.timer.Stop()
		}
	}
	w.stop()
}

// observer returns what is told of the members of one place.
func (w *waiting) observer(members []*api.Target) func(string, map[string]any) bool {
	byName := map[string]*api.Target{} // those not ready yet
	for _, t := range members {
		byName[t.Name] = t
	}
	return func(name string, o map[string]any) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if a := w.awaited[byName[name]]; a != nil {
			a.live, a.seen = o, a.seen || o != nil
			w.look(a)
		}
		if t := byName[name]; t != nil && w.awaited[t] == nil {
			delete(byName, name)
		}
		return w.failed != nil || len(byName) == 0
	}
}

// exists notes that a passive object is there.
func (w *waiting) exists(t *api.Target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle(w.awaited[t])
	return true
}

// look decides what is known of a; w.mu is held.
func (w *waiting) look(a *awaited) {
	if w.over || w.failed != nil || w.awaited[a.Target] != a {
		return
	}
	if a.live == nil {
		w.absent(a)
		return
	}
	v := w.rule(a)
	switch {
	case v.ready:
		w.settle(a)
		return
	case v.failed != "":
		w.fail(a, v.failed, trouble{})
		return
	}
	now := time.Now()
	a.note(now, w.grace, v)
	worst, next := a.worst(now, w.verify)
	if v.again > 0 && (next == 0 || v.again < next) {
		next = v.again
	}
	a.again(next, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.look(a)
	})
	switch {
	case worst == nil:
		w.tell(a, progress.Waiting, v.missing)
	case worst.certain(now) && !w.decided(a):
		w.fail(a, worst.text, *worst)
		return
	default:
		w.tell(a, progress.Failing, worst.text)
	}
	w.pending[a.Target] = v.missing
	if worst != nil && worst.text != v.missing {
		w.pending[a.Target] = strings.TrimPrefix(v.missing+"; "+worst.text, "; ")
	}
	w.followPods(a.Target)
}

// absent deals with an object that is not there: what is deleted while it is
// awaited may come back, except where it was to finish.
func (w *waiting) absent(a *awaited) {
	if !a.seen {
		return // it says so in pending from the start
	}
	w.pending[a.Target] = "does not exist any more"
	if !w.existence && (a.HasPods() || a.IsPod()) {
		w.fail(a, "it was deleted before it was done", trouble{})
		return
	}
	w.tell(a, progress.Failing, "does not exist any more")
}

// rule asks the one who knows.
func (w *waiting) rule(a *awaited) verdict {
	usual := func() verdict {
		if w.judge != nil {
			return w.judge(a.Target, a.live)
		}
		ok, missing, err := w.ready(a.Target, a.live)
		v := verdict{ready: ok, missing: missing}
		if failed := (*FailedError)(nil); errors.As(err, &failed) {
			v.failed = failed.Reason
		} else if err != nil {
			v.failed = err.Error()
		}
		return v
	}
	if x := w.custom[a.Target]; x != nil {
		return x.judge(a.live, usual)
	}
	return usual()
}

// decided reports whether the object's own expressions say when it has failed, so
// that no one else does.
func (w *waiting) decided(a *awaited) bool {
	x := w.custom[a.Target]
	return x != nil && len(x.success) > 0 && len(x.failure) > 0
}

func (w *waiting) settle(a *awaited) {
	if a == nil || w.over {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	delete(w.awaited, a.Target)
	delete(w.pending, a.Target)
	e := progress.Event{Kind: progress.Ready, Object: a.Short()}
	if a.IsPod() && api.String(a.live, "status", "phase") == "Succeeded" || a.Is("batch", "Job") &&
		api.String(a.live, "status", "completionTime") != "" {
		e.Text = "complete"
	}
	w.report.Send(e)
	if len(w.awaited) == 0 {
		w.stop() // time, and not the server, may have decided it
	}
}

func (w *waiting) fail(a *awaited, why string, t trouble) {
	w.failed = &failure{
		error:  &FailedError{Object: a.String(), Reason: why},
		target: a.Target, pod: t.pod, container: t.container,
	}
	if a.IsPod() {
		w.failed.pod = a.Name
	}
	w.tell(a, progress.Failing, why)
	w.stop()
}

// tell reports what has changed.
func (w *waiting) tell(a *awaited, kind progress.Kind, text string) {
	if a.told == kind && a.shown == text {
		return
	}
	a.told, a.shown = kind, text
	w.report.Send(progress.Event{Kind: kind, Object: a.Short(), Text: text})
}

// others are the objects in trouble beside the failed one.
func (w *waiting) others() []string {
	var out []string
	for t, a := range w.awaited {
		if t != w.failed.target && a.told == progress.Failing {
			out = append(out, t.String()+": "+a.shown)
		}
	}
	slices.Sort(out)
	return out
}

// timedOut is the error of a wait that ended before its time.
func (w *waiting) timedOut(why error, details []string) error {
	e := &PendingError{Err: why, Details: details}
	for t, missing := range w.pending {
		if missing == "" {
			missing = "not ready"
		}
		e.Pending = append(e.Pending, t.String()+" ("+missing+")")
	}
	slices.Sort(e.Pending)
	return e
}

// again calls fn after d, unless something else calls it before.
func (a *awaited) again(d time.Duration, fn func()) {
	switch {
	case d <= 0 && a.timer != nil:
		a.timer.Stop()
	case d > 0 && a.timer == nil:
		a.timer = time.AfterFunc(d, fn)
	case d > 0:
		a.timer.Reset(d)
	}
}

// followPods begins to look at the pods of the namespace that t is in, once.
// Without the permission to see them, conditions tell what they can.
func (w *waiting) followPods(t *api.Target) {
	if !t.HasPods() || w.watched[t.Namespace] {
		return
	}
	w.watched[t.Namespace] = true
	var makers []*api.Target
	for other := range w.awaited {
		if other.HasPods() && other.Namespace == t.Namespace {
			makers = append(makers, other)
		}
	}
	place, query := api.PodPlace(t.Namespace), podQuery(makers)
	see := func(name string, raw json.RawMessage) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pod(t.Namespace, name, raw)
		return w.over
	}
	w.beside(func(ctx context.Context) {
		if !w.polls {
			_ = w.client.follow(ctx, place, query, see)
			return
		}
		_ = w.client.poll(ctx, func(known map[string]bool) (bool, error) {
			_, done, err := w.client.list(ctx, place, query, known, see)
			return done, err
		})
	})
}
