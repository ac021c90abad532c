// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// TimeoutAnnotation is the annotation of an object with its own timeout, such as "10m": it replaces
// the timeout of the operation for this object, whether it is longer or shorter.
const TimeoutAnnotation = "moonhelm.github.io/timeout"

// maxTimeout is the maximum of [TimeoutAnnotation].
const maxTimeout = 24 * time.Hour

// A Limit is the timeout of one object.
type Limit struct {
	Timeout time.Duration
	// Origin is where it comes from, if that is not the timeout of the operation: "the annotation
	// moonhelm.github.io/timeout".
	Origin string
}

// A TimeoutError is returned for an invalid [TimeoutAnnotation].
type TimeoutError struct {
	Object string // "Job/migrate"
	Source string // the template
	Value  string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s (%s), annotation %s: invalid timeout %q", e.Object, e.Source, TimeoutAnnotation, e.Value)
}

// Hint says which values are valid, and suggests one.
func (e *TimeoutError) Hint() string {
	want := fmt.Sprintf("want a duration between 1s and %gh, such as 90s, 10m or 1h30m", maxTimeout.Hours())
	if near := e.Similar(); near != "" {
		return fmt.Sprintf("did you mean %s? %s", near, want)
	}
	return want
}

// Similar returns a valid timeout that the value may mean, or "": "600" and "10 min" mean 600s and 10m.
func (e *TimeoutError) Similar() string {
	text := strings.ToLower(strings.Join(strings.Fields(e.Value), ""))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		text += "s"
	}
	for _, unit := range [][2]string{{"hours", "h"}, {"hour", "h"}, {"hrs", "h"}, {"hr", "h"}, {"minutes", "m"},
		{"minute", "m"}, {"mins", "m"}, {"min", "m"}, {"seconds", "s"}, {"second", "s"}, {"secs", "s"}, {"sec", "s"}} {
		text = strings.ReplaceAll(text, unit[0], unit[1])
	}
	if _, ok := parseTimeout(text); ok {
		return text
	}
	return ""
}

func parseTimeout(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= time.Second && d <= maxTimeout
}

// LimitOf returns the timeout of an object by its annotation, or the zero value if it has none. An
// invalid annotation is a [*TimeoutError].
func LimitOf(o *manifest.Object) (Limit, error) {
	text, ok := o.Annotations[TimeoutAnnotation]
	if !ok {
		return Limit{}, nil
	}
	d, ok := parseTimeout(text)
	if !ok {
		return Limit{}, &TimeoutError{Object: o.String(), Source: o.Source, Value: text}
	}
	return Limit{Timeout: d, Origin: "its annotation " + TimeoutAnnotation}, nil
}

// CheckTimeouts joins a [*TimeoutError] for each object with an invalid annotation.
func CheckTimeouts(objects []*manifest.Object) error {
	var errs []error
	for _, o := range objects {
		_, err := LimitOf(o)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// setLimits starts the timers of targets that have a limit of their own; w.mu must be held. A target
// without one is limited by timeout, if that is not 0 and others have more time.
func (w *waiting) setLimits(targets []*api.Target, limits map[*manifest.Object]Limit, timeout time.Duration) {
	if len(limits) == 0 {
		return
	}
	for _, t := range targets {
		l := limits[t.From]
		l.Timeout = cmp.Or(l.Timeout, timeout)
		a := w.awaited[t]
		a.limit = l
		if l.Timeout > 0 {
			a.deadline = time.AfterFunc(l.Timeout-time.Since(w.begun), func() { w.expire(a) })
		}
	}
}

// expire ends the wait, because the time of a is over.
func (w *waiting) expire(a *awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.failed != nil || w.expired != nil || w.awaited[a.Target] != a {
		return
	}
	w.expired = a
	w.stop()
}

// isOver reports whether the time of a, which has a limit of its own, is over when the wait ends.
func (a *awaited) isOver(took time.Duration) bool {
	return a.limit.Origin != "" && took+10*time.Millisecond >= a.limit.Timeout
}
