// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// watching is what the waits of one operation have in common: their timeouts, what they report, and
// what they have seen. A nil *watching has none of it.
type watching struct {
	options  WaitOptions
	now      func() time.Time
	begun    time.Time
	mu       sync.Mutex
	timeline Timeline
}

func (c *Config) newWatching(w WaitOptions) *watching {
	w.Watch = w.Watch.Session()
	return &watching{options: w, now: c.now, begun: c.now()}
}

// request returns the request of a wait with the limits of its objects, and the time after which it
// ends in any case. hook is set for the objects of a hook.
func (s *watching) request(r wait.Request, timeout time.Duration, hook bool) (wait.Request, time.Duration) {
	if s == nil {
		return r, timeout
	}
	r.Limits, r.Timeout = s.limits(r.Objects), timeout
	if len(r.Limits) > 0 {
		for _, l := range r.Limits {
			timeout = max(timeout, l.Timeout)
		}
		timeout += time.Second // the wait itself ends in time, and names the object
	}
	if s.options.Watch == nil {
		return r, timeout
	}
	watch, begun := *s.options.Watch, s.now()
	watch.Summary = func(sum wait.Summary) {
		s.add(sum, begun.Sub(s.begun), hook)
		if s.options.Watch.Summary != nil {
			s.options.Watch.Summary(sum)
		}
	}
	r.Watch = &watch
	return r, timeout
}

// limits returns the timeouts of those objects that have their own.
func (s *watching) limits(objects []*manifest.Object) map[*manifest.Object]wait.Limit {
	var out map[*manifest.Object]wait.Limit
	for _, o := range objects {
		l, _ := wait.LimitOf(o) // an invalid one is an error of the plan, and counts as none in an old record
		if d, name := namedTimeout(s.options.Timeouts, o); d > 0 {
			l = wait.Limit{Timeout: d, Origin: "the timeout for " + name}
		}
		if l.Timeout > 0 {
			if out == nil {
				out = map[*manifest.Object]wait.Limit{}
			}
			out[o] = l
		}
	}
	return out
}

// timeoutName is a name by which [WaitOptions.Timeouts] selects an object.
type timeoutName struct{ key, text string }

// timeoutNames returns the names of an object, the narrowest first.
func timeoutNames(o *manifest.Object) []timeoutName {
	out := []timeoutName{{o.String(), o.String()}}
	if group := plan.GroupOf(o); group != "" {
		out = append(out, timeoutName{group, fmt.Sprintf("resource group %q", group)})
	}
	for path := plan.ChartOf(o); path != ""; {
		out = append(out, timeoutName{path, fmt.Sprintf("subchart %q", path)})
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return out
}

// namedTimeout returns the timeout of an object by the narrowest of its names, and that name, or 0.
func namedTimeout(timeouts map[string]time.Duration, o *manifest.Object) (d time.Duration, name string) {
	if len(timeouts) == 0 {
		return 0, ""
	}
	for _, name := range timeoutNames(o) {
		if d := timeouts[name.key]; d > 0 {
			return d, name.text
		}
	}
	return 0, ""
}

// checkTimeouts returns a [*TimeoutNameError] if a timeout is for a name that no object has.
func checkTimeouts(timeouts map[string]time.Duration, objects []*manifest.Object) error {
	if len(timeouts) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, o := range objects {
		for _, name := range timeoutNames(o) {
			known[name.key] = true
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(timeouts)) {
		if !known[name] {
			errs = append(errs, &TimeoutNameError{Name: name, Known: slices.Sorted(maps.Keys(known))})
		}
	}
	return errors.Join(errs...)
}

// A TimeoutNameError is returned if a timeout of [WaitOptions.Timeouts] is for a name that no object
// has.
type TimeoutNameError struct {
	Name  string
	Known []string // the names of resource groups, subcharts and objects
}

func (e *TimeoutNameError) Error() string {
	return fmt.Sprintf("no resource group, subchart or object of the release is named %q, which has a timeout of its own",
		e.Name)
}

// Hint suggests a name that exists.
func (e *TimeoutNameError) Hint() string {
	if near := suggest.Nearest(e.Known, e.Name); len(near) > 0 {
		return fmt.Sprintf("did you mean %q?", near[0])
	}
	return "helm dag shows the groups and objects of a chart; an object is named KIND/NAME"
}

// add adds what a wait has seen that began after the given time of the operation.
func (s *watching) add(sum wait.Summary, after time.Duration, hook bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range sum.Objects {
		s.timeline.add(TimelineEntry{Outcome: o, Hook: hook, At: after + o.After})
	}
	s.timeline.Took = after + sum.Took
}

// send reports what the waits of an operation have seen.
func (s *watching) send(report progress.Func, what string) {
	if s == nil || s.options.Watch == nil || len(s.timeline.Entries) == 0 {
		return
	}
	report.Send(progress.Event{Kind: progress.Summary, Text: strings.Join(s.timeline.Lines(what), "\n")})
}

// A Timeline is what the waits of an operation have seen: what was ready when.
type Timeline struct {
	// Entries are the objects in the order in which they became ready, then the others.
	Entries []TimelineEntry
	// Took is the time from the begin of the operation to the end of its last wait.
	Took time.Duration
}

// A TimelineEntry is an object of a [Timeline].
type TimelineEntry struct {
	wait.Outcome
	// At is when the object was ready, from the begin of the operation.
	At time.Duration
	// Hook is set for the object of a hook.
	Hook bool
}

// add adds an entry. An object that several waits were for counts when it was first ready.
func (t *Timeline) add(e TimelineEntry) {
	i := slices.IndexFunc(t.Entries, func(x TimelineEntry) bool {
		return x.Kind == e.Kind && x.Name == e.Name && x.Namespace == e.Namespace && x.Hook == e.Hook
	})
	switch {
	case i < 0:
		t.Entries = append(t.Entries, e)
	case t.Entries[i].State == "" || e.State == "":
		t.Entries[i] = e
	}
	slices.SortStableFunc(t.Entries, func(x, y TimelineEntry) int {
		if (x.State == "") != (y.State == "") {
			return strings.Compare(y.State, x.State)
		}
		return cmp.Compare(x.At, y.At)
	})
}

// ready returns the number of objects that are ready.
func (t *Timeline) ready() (n int) {
	for _, e := range t.Entries {
		if e.State != "" {
			n++
		}
	}
	return n
}

const (
	// quick is the time of a wait within which objects are ready that a text does not list.
	quick = time.Second
	// maxEntries is the number of objects that a text lists of those that are ready, and of the others.
	maxEntries = 25
)

// Lines returns the timeline as text that can be pasted: a line about all objects of what, then one
// for each that took more than a second, and for each that is not ready.
func (t *Timeline) Lines(what string) []string {
	n, all := t.ready(), len(t.Entries)
	lines := []string{fmt.Sprintf("%s: %d of %s ready after %s", what, n, plural.Count(all, "object"), shortTime(t.Took))}
	switch {
	case n == 0 && all == 1:
		lines[0] = fmt.Sprintf("%s: not ready after %s", what, shortTime(t.Took))
	case n == all:
		lines[0] = fmt.Sprintf("%s: %s ready in %s", what, plural.Count(all, "object"), shortTime(t.Took))
	}
	slow := slices.DeleteFunc(slices.Clone(t.Entries[:n]), func(e TimelineEntry) bool { return e.After < quick })
	slow = slow[max(len(slow)-maxEntries, 0):]
	wide := 0
	for _, e := range slow {
		wide = max(wide, len(e.label()))
	}
	for _, e := range slow {
		line := fmt.Sprintf("  %-*s  %6s", wide, e.label(), shortTime(e.At))
		if more := e.Start(); more != "" {
			line += "  " + more
		}
		lines = append(lines, line)
	}
	if others := n - len(slow); others > 0 && len(slow) > 0 {
		lines = append(lines, fmt.Sprintf("  %s sooner", plural.Count(others, "object")))
	}
	for i, e := range t.Entries[n:] {
		if i == maxEntries {
			return append(lines, fmt.Sprintf("  not ready: %d more", all-n-i))
		}
		lines = append(lines, "  not ready: "+e.label()+": "+oneLine(e.Missing))
	}
	return lines
}

// label returns the object, and whether it is of a hook.
func (e *TimelineEntry) label() string {
	if e.Hook {
		return "hook " + e.Object()
	}
	return e.Object()
}

// shortTime rounds a time to seconds, and one below ten seconds to tenths.
func shortTime(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// batchName names a batch of objects, with its resource groups and subcharts: "batch 1 of 3
// (resource group database)".
func batchName(n, all int, objects []*manifest.Object) string {
	var names []string
	for _, o := range objects {
		name := "" // the chart itself
		if group := plan.GroupOf(o); group != "" {
			name = "resource group " + group
		} else if path := plan.ChartOf(o); path != "" {
			name = "subchart " + path
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := fmt.Sprintf("batch %d of %d", n, all)
	if rest := len(names) - maxBatchNames; rest > 0 {
		names = append(names[:maxBatchNames], fmt.Sprintf("%d more", rest))
	}
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	return text
}

// maxBatchNames is the number of groups of a batch that are named.
const maxBatchNames = 3

// hookTimeout returns the longest timeout of the objects of a hook that have their own, or timeout.
func (s *watching) hookTimeout(h *release.Hook, all []*hookItem, timeout time.Duration) time.Duration {
	if s == nil || h == nil {
		return timeout
	}
	own := time.Duration(0)
	for _, l := range s.limits(hookObjectsOf(all)) {
		own = max(own, l.Timeout)
	}
	return cmp.Or(own, timeout)
}

func hookObjectsOf(all []*hookItem) []*manifest.Object {
	objects := make([]*manifest.Object, len(all))
	for i, item := range all {
		objects[i] = item.Object
	}
	return objects
}
