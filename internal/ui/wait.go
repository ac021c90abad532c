// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// state is the state of an awaited object.
type state int

const (
	awaited state = iota
	failing
	ready // or deleted, or in another awaited state
)

// awaitedObject is an object of a wait.
type awaitedObject struct {
	name  string
	state state
	text  string    // what is missing, the error, or the final state; "" means ready
	since time.Time // time of the last change of state or text
	// noticed reports whether it had to be waited for.
	noticed bool
}

// wait is the current wait, from the first event of an awaited object to [progress.Settled]. The
// zero value is empty.
type wait struct {
	start   time.Time
	objects []*awaitedObject // in the order of their first events
	byName  map[string]*awaitedObject
	noticed bool // whether any object had to be waited for
	total   int  // number of all objects, or 0 if it is not known
}

// update handles an event, and reports whether anything shown has changed.
func (w *wait) update(e progress.Event, now time.Time) bool {
	var to state
	switch e.Kind {
	case progress.Waiting:
		to = awaited
	case progress.Failing:
		to = failing
	case progress.Ready:
		to = ready
	default:
		return false
	}
	if w.byName == nil {
		w.byName, w.start = map[string]*awaitedObject{}, now
	}
	w.total = max(w.total, int(min(e.Total, math.MaxInt32)))
	o := w.byName[e.Object]
	switch {
	case o == nil:
		o = &awaitedObject{name: e.Object}
		w.byName[e.Object] = o
		w.objects = append(w.objects, o)
	case o.state == to && o.text == e.Text:
		return false
	}
	o.state, o.text, o.since = to, e.Text, now
	if to != ready {
		o.noticed, w.noticed = true, true
	}
	return o.noticed
}

// all returns the number of objects.
func (w *wait) all() int { return max(w.total, len(w.objects)) }

// done returns the number of objects that are ready.
func (w *wait) done() (n int) {
	for _, o := range w.objects {
		if o.state == ready {
			n++
		}
	}
	return n
}

// verb returns the final state of the objects: their text if all have the same, else "ready".
func (w *wait) verb() string {
	verb := ""
	for _, o := range w.objects {
		switch {
		case strings.HasPrefix(o.text, "to be deleted"):
			return "deleted"
		case o.state != ready:
		case o.text == "" || verb != "" && verb != o.text:
			return "ready"
		default:
			verb = o.text
		}
	}
	if verb == "" {
		return "ready"
	}
	return term.SafeLine(verb)
}

// summary describes a finished wait in one line.
func (w *wait) summary(now time.Time) string {
	took := elapsed(now.Sub(w.start))
	switch n, all := w.done(), w.all(); {
	case n < all && all == 1:
		return fmt.Sprintf("%s not %s after %s", term.SafeLine(w.objects[0].name), w.verb(), took)
	case n < all:
		return fmt.Sprintf("%d of %s %s after %s", n, plural.Count(all, "object"), w.verb(), took)
	case all == 1:
		return fmt.Sprintf("%s %s in %s", term.SafeLine(w.objects[0].name), w.verb(), took)
	default:
		return fmt.Sprintf("%s %s in %s", plural.Count(all, "object"), w.verb(), took)
	}
}

// elapsed formats a time in whole seconds.
func elapsed(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
