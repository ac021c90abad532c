// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/progress"
)

// Limits of the events of a wait.
const (
	maxHappenings = 256 // different ones
	maxSources    = 200 // events of one, such as those of many pods
	maxHeldEvents = 64  // of pods that are not known yet
	repeatEvent   = 10 * time.Second
)

// happening is what events of one object and its pods report in the same words.
type happening struct {
	counts map[string]int // by UID of the event
	total  int
	shown  int // total when it was last reported
	at     time.Time
}

// happenings are the events of the objects of a wait.
type happenings struct {
	byKey map[string]*happening
	held  []eventItem
	left  int // different ones that are too many
}

func newHappenings() happenings { return happenings{byKey: map[string]*happening{}} }

// finish reports what was left out.
func (h *happenings) finish(report progress.Func) {
	h.held = nil
	if h.left > 0 {
		report.Send(progress.Event{Kind: progress.Occurred,
			Text: fmt.Sprintf("%s left out: more than %d different ones", plural.Count(h.left, "event"), maxHappenings)})
		h.left = 0
	}
}

// followEvents starts to watch the warning events in a namespace.
func (w *waiting) followEvents(namespace string) {
	place := api.Collection{Namespace: namespace,
		Resource: &kube.Resource{Kind: "Event", Plural: "events", Namespaced: true, APIVersion: "v1"}}
	// Old events that do not fit the limit are seen when they occur again.
	query := url.Values{"fieldSelector": {"type=Warning"}, "limit": {fmt.Sprint(api.ListPage)}}
	w.background(func(ctx context.Context) {
		err := w.watch.client.follow(ctx, place, query, func(_ string, raw json.RawMessage) bool {
			var e eventItem
			if raw == nil || json.Unmarshal(raw, &e) != nil {
				return false
			}
			e.Involved.Namespace = namespace
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seeEvent(e)
			return w.ended
		})
		w.watch.failedToWatch(ctx, "events are not shown", err)
	})
}

// seeEvent reports an event of an object that is awaited, or of one of its pods; w.mu must be held.
func (w *waiting) seeEvent(e eventItem) {
	h := &w.watch.session.events
	if w.isOldEvent(e) {
		return
	}
	a, known := w.subjectOf(e)
	switch {
	case !known && len(h.held) < maxHeldEvents:
		h.held = append(h.held, e)
	case !known:
		h.held = append(h.held[1:], e)
	case a != nil && (a.beside || w.awaited[a.Target] == a):
		h.add(a, e, w.watch.report)
	}
}

// claimEvents reports the events whose pods are known by now; w.mu must be held.
func (w *waiting) claimEvents() {
	held := w.watch.session.events.held
	if len(held) == 0 {
		return
	}
	w.watch.session.events.held = nil
	for _, e := range held {
		w.seeEvent(e)
	}
}

// isOldEvent reports whether an event has occurred before the wait, which is about another state.
func (w *waiting) isOldEvent(e eventItem) bool {
	at, err := time.Parse(time.RFC3339Nano, e.at())
	return err == nil && at.Before(w.begun.Add(-newBefore))
}

// subjectOf returns the awaited object that an event is about, or nil if it is about another object.
// known is false if that may be known later.
func (w *waiting) subjectOf(e eventItem) (a *awaited, known bool) {
	at := e.Involved
	if a := w.byName[at]; a != nil {
		return a, true
	}
	switch at.Kind {
	case "Pod":
		return w.ownerOfPod(at)
	case "ReplicaSet":
		name, _, _ := cutLast(at.Name, "-")
		return w.owners[ownerKey{"Deployment", at.Namespace, name}], true
	}
	return nil, true
}

// ownerOfPod returns the object whose current pod an event is about.
func (w *waiting) ownerOfPod(at involved) (a *awaited, known bool) {
	for _, a := range w.owners {
		k := a.known[at.Name]
		if k == nil || a.Namespace != at.Namespace {
			continue
		}
		if k.Metadata.Deletion != "" {
			return nil, true
		}
		return a, w.isCurrent(a, k)
	}
	return nil, false
}

// cutLast is [strings.Cut] at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// numbers are what differs in an event each time that it occurs.
var numbers = lazy.Regexp(`[0-9]+`)

// add counts an event, and reports it if it is new, or has occurred twice as often as when it was
// last reported.
func (h *happenings) add(a *awaited, e eventItem, report progress.Func) {
	message := truncate.Line(e.Message, maxCause, "…")
	key := a.String() + "\x00" + e.Reason + "\x00" + numbers().ReplaceAllLiteralString(withoutPods(message, a.Name), "0")
	o := h.byKey[key]
	if o == nil {
		if len(h.byKey) >= maxHappenings {
			h.left++
			return
		}
		o = &happening{counts: map[string]int{}}
		h.byKey[key] = o
	}
	before, seen := o.counts[e.Metadata.UID]
	if n := e.count(); n > before && (seen || len(o.counts) < maxSources) {
		o.counts[e.Metadata.UID] = n
		o.total += n - before
	}
	now := time.Now()
	if o.total < 2*o.shown || o.total == 0 || o.shown > 0 && now.Sub(o.at) < repeatEvent {
		return
	}
	o.shown, o.at = o.total, now
	text := truncate.Line(e.Reason, maxCause, "…") + ": " + message
	if o.total > 1 {
		text += fmt.Sprintf(" (%d times)", o.total)
	}
	report.Send(progress.Event{Kind: progress.Occurred, Object: e.Involved.short(), Text: text})
}
