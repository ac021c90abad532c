// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/progress"
)

// Watch has a wait report more than the state of its objects: the warning events of those that are
// not ready, as [progress.Occurred], and, on request, logs. It costs requests: a watch of the pods
// and of the events of each namespace, and a request for the log of each container.
type Watch struct {
	// Logs reports the logs of pods that are new or failing, as [progress.Log], until their object
	// is ready. They are limited in lines, bytes and rate.
	Logs bool
	// Keep, if not empty, reports only the lines of logs that match one of its expressions; Drop
	// omits those that match one.
	Keep, Drop []*regexp.Regexp
	// Summary, if it is not nil, is called once at the end of the wait.
	Summary func(Summary)

	session *session // nil: that of one wait
}

// Session returns a copy of o for several waits, of which the later ones do not repeat what the
// earlier ones have reported. It returns nil if o is nil.
func (o *Watch) Session() *Watch {
	if o == nil {
		return nil
	}
	out := *o
	out.session = newSession()
	return &out
}

// session is what the waits of an operation have reported.
type session struct {
	mu    sync.Mutex
	said  map[string]bool
	read  map[streamKey]time.Time // the times of the last lines of logs
	lines int                     // of all logs
	// events are guarded by the mutexes of the waits, one after the other.
	events happenings
}

func newSession() *session {
	return &session{said: map[string]bool{}, read: map[streamKey]time.Time{}, events: newHappenings()}
}

// last returns the time of the last line of a log that was reported, and whether there is one.
func (s *session) last(key streamKey) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.read[key]
	return at, ok
}

func (s *session) setLast(key streamKey, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[key] = at
}

// count counts a line of a log, and reports whether it is within the limit of all.
func (s *session) count() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	return s.lines <= maxAllLines
}

func (s *session) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines >= maxAllLines
}

// ErrHoldOver is the cause with which the context of a wait with [Request.Hold] is cancelled, so that
// the wait still reports the rest of the logs.
var ErrHoldOver = errors.New("the wait is over")

// shows reports whether a line of a log is to be reported.
func (o *Watch) shows(line string) bool {
	matches := func(x *regexp.Regexp) bool { return x.MatchString(line) }
	return (len(o.Keep) == 0 || slices.ContainsFunc(o.Keep, matches)) && !slices.ContainsFunc(o.Drop, matches)
}

// Limits of what a wait keeps of pods, and of the time for the rest of their logs after its end.
const (
	maxKnownPods = 2000
	drainIdle    = 200 * time.Millisecond
	drainTime    = 2 * time.Second
	readyTime    = time.Second
	// newBefore is how long before the begin of a wait a new pod may have been created: between the
	// write of its workload and the wait.
	newBefore = 2 * time.Second
)

// watcher is the state of a [Watch] during one wait.
type watcher struct {
	Watch
	client *Waiter
	report progress.Func
	// base is the context of the streams, which outlive the wait's to end with their last lines.
	base    context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup
	queries map[string]url.Values // of the pods that are watched, by namespace
	pods    int                   // the number of known pods

	mu      sync.Mutex
	streams map[streamKey]*stream // also those that have ended
	active  int
	closed  bool
}

// newWatcher returns the watcher of a wait that begins, or nil if r has no Watch.
func newWatcher(ctx context.Context, c *Waiter, r Request) *watcher {
	if r.Watch == nil {
		return nil
	}
	o := &watcher{Watch: *r.Watch, client: c.withoutRetry(), report: c.api.Progress(),
		streams: map[streamKey]*stream{}, queries: map[string]url.Values{}}
	if o.session == nil {
		o.session = newSession()
	}
	o.base, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return o
}

// sayOnce sends a warning, unless the session has sent it before.
func (o *watcher) sayOnce(text string) {
	o.session.mu.Lock()
	was := o.session.said[text]
	o.session.said[text] = true
	o.session.mu.Unlock()
	if !was {
		o.report.Send(progress.Event{Kind: progress.Warning, Text: text})
	}
}

// knownPod is a pod of an object of a wait.
type knownPod struct {
	*api.Pod
	set string // the ReplicaSet, for a pod of a Deployment
	// isNew is set if the pod was not ready when it was first seen, or was created for the wait.
	isNew bool
}

func newKnownPod(p *api.Pod, set string, begun time.Time) *knownPod {
	k := &knownPod{Pod: p, set: set, isNew: !isReadyPod(p)}
	if created, err := time.Parse(time.RFC3339, p.Metadata.Created); err == nil && created.After(begun.Add(-newBefore)) {
		k.isNew = true
	}
	return k
}

func isReadyPod(p *api.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return true
		}
	}
	return p.Status.Phase == "Succeeded"
}

// isFailing reports whether something is wrong with the pod of an object.
func (k *knownPod) isFailing(a *awaited, g Grace) bool {
	return k.Status.Phase == "Failed" || len(troublesOf(k.Pod, g, a.Kind == "Job")) > 0
}

// trouble returns the pod in the form in which [waiting.isLatest] wants it.
func (k *knownPod) trouble() *podTrouble {
	return &podTrouble{uid: k.Metadata.UID, maker: k.Controller().UID, set: k.set, labels: k.Metadata.Labels}
}

// startWatching starts what the request's Watch asks for; w.mu must be held.
func (w *waiting) startWatching(targets []*api.Target) {
	if w.watch == nil {
		return
	}
	namespaces := map[string]bool{}
	for _, t := range append(slices.Clip(w.beside), targets...) {
		w.followPods(t)
		if t.Namespace != "" {
			namespaces[t.Namespace] = true
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
		w.followEvents(ns)
	}
}

// seePod stores the state of a pod of a; w.mu must be held.
func (w *waiting) seePod(a *awaited, p *api.Pod, set string) {
	if w.watch == nil || !api.PlainName(p.Metadata.Name) {
		return
	}
	name := p.Metadata.Name
	switch k := a.known[name]; {
	case k != nil && k.Metadata.UID == p.Metadata.UID:
		k.Pod = p
	case k == nil && w.watch.pods >= maxKnownPods:
		return
	default:
		if k == nil {
			w.watch.pods++
		}
		a.known[name] = newKnownPod(p, set, w.begun)
	}
	w.watchPods(a)
}

// watchPods starts to follow the logs of the pods of a that are new or failing; w.mu must be held.
func (w *waiting) watchPods(a *awaited) {
	if w.watch == nil {
		return
	}
	if a.IsPod() && a.live != nil {
		if p, err := podOf(a.live); err == nil && a.known[a.Name] == nil {
			a.known[a.Name] = newKnownPod(p, "", w.begun)
		} else if err == nil {
			a.known[a.Name].Pod = p
		}
	}
	w.claimEvents()
	if !w.watch.Logs || !w.ended && w.awaited[a.Target] != a && !a.beside {
		return
	}
	for _, k := range a.known {
		if k.Metadata.Deletion != "" || !k.isNew && !k.isFailing(a, w.grace) || !w.isCurrent(a, k) {
			continue
		}
		for _, s := range k.Containers() {
			w.watch.follow(a.Target, k, s, a.Namespace != w.namespace)
		}
	}
}

// isCurrent reports whether k is a pod of the latest revision of a. It may start a request, see
// [waiting.isLatest].
func (w *waiting) isCurrent(a *awaited, k *knownPod) bool {
	return a.IsPod() || a.beside || a.live != nil && w.isLatest(a, k.trouble())
}

// failedToWatch says once what cannot be watched, if err is the reason that it cannot.
func (o *watcher) failedToWatch(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		o.sayOnce(fmt.Sprintf("%s: %s", what, shortLine(err.Error())))
	}
}

// finish reads the rest of the logs after the end of a wait, for a short time, unless ctx was
// cancelled, and calls Watch.Summary.
func (w *waiting) finish(ctx context.Context, targets []*api.Target) {
	o := w.watch
	if o == nil {
		return
	}
	defer o.cancel()
	why := context.Cause(ctx)
	if why == nil || errors.Is(why, context.DeadlineExceeded) || errors.Is(why, ErrHoldOver) {
		w.seeLast()
		o.drain()
	}
	o.cancel()
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.group.Wait()
	o.session.events.finish(o.report)
	if o.Summary != nil {
		o.Summary(w.summary(targets))
	}
}

// seeLast lists the pods once more: those of a short wait may not have been seen yet.
func (w *waiting) seeLast() {
	if !w.watch.Logs {
		return
	}
	ctx, cancel := context.WithTimeout(w.watch.base, drainTime)
	defer cancel()
	for ns, query := range w.watch.queries {
		// Logs that cannot be shown because of an error here were not worth a wait.
		_, _, _ = w.watch.client.list(ctx, api.PodCollection(ns), query, map[string]bool{},
			func(name string, raw json.RawMessage) bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.updatePod(ns, name, raw)
				return false
			})
	}
	for _, a := range w.owners {
		w.resolveSets(ctx, a)
	}
}

// resolveSets finds out which ReplicaSets of the pods of a are the latest, as far as that is not
// known, and follows the pods' logs.
func (w *waiting) resolveSets(ctx context.Context, a *awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	revision := api.String(a.live, "metadata", "annotations", revisionNote)
	for _, k := range a.known {
		if r := a.sets[k.set]; !api.PlainName(k.set) || r.known && r.revision == revision {
			continue
		}
		newest := w.watch.client.isLatestSet(ctx, a.setPath(k.set), api.String(a.live, "metadata", "uid"), revision)
		a.sets[k.set] = replicaSet{revision: revision, known: true, newest: newest}
	}
	w.watchPods(a)
}
