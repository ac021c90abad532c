// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unused"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/progress"
)

// ValueCheck configures what becomes of keys of a request's values that nothing in the chart
// reads. The zero value warns of them. Keys that a chart has a default for are not among them, nor
// are values that an upgrade reuses.
type ValueCheck struct {
	// StrictValues returns an [*unused.Error] instead of the warning.
	StrictValues bool
	// IgnoreUnused disables the check.
	IgnoreUnused bool
	// LocateValue returns what sets the value at a path, for messages. It may be nil.
	LocateValue func(path ...string) values.Origin
}

// UnusedValues returns the keys of req.Values that nothing in the tree of req.Chart reads, those
// that charts have a default for included. Errors are those of [unused.Find] and [Template.Values].
func (t Template) UnusedValues(ctx context.Context, req TemplateRequest) ([]unused.Key, error) {
	r, err := t.rendering(ctx, req)
	if err != nil {
		return nil, err
	}
	defer r.events.end()
	pre, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	return req.find(ctx, req.Chart, req.Values, unused.Options{Defaults: true, Thorough: true, Functions: pre.Functions})
}

func (v ValueCheck) find(ctx context.Context, c *chart.Chart, user map[string]any,
	o unused.Options) ([]unused.Key, error) {
	keys, err := unused.Find(ctx, c, user, o)
	if err == nil && v.LocateValue != nil {
		for i := range keys {
			keys[i].Origin = v.LocateValue(keys[i].Path...)
		}
	}
	return keys, err
}

// valueCheck is a check of the user's values.
type valueCheck struct {
	ValueCheck
	chart *chart.Chart // as it was loaded
	user  map[string]any
	cache *engine.Cache // of the rendering, or nil
}

// run reports the keys that nothing reads. It ignores errors of the charts, which rendering
// reports.
func (v valueCheck) run(ctx context.Context, pre *event.PreRender, report progress.Func) error {
	keys, err := v.keys(ctx, pre, v.StrictValues)
	switch {
	case errors.Is(err, engine.ErrUsageLimit):
		if v.StrictValues {
			report.Send(progress.Event{Kind: progress.Warning, Text: unchecked(err)})
		}
	case err != nil:
		return err
	case len(keys) == 0:
	case v.StrictValues:
		return &unused.Error{Keys: keys}
	default:
		report.Send(progress.Event{Kind: progress.Warning, Text: unused.Summary(keys)})
	}
	return nil
}

// keys returns the keys that nothing reads, unless they are not to be checked. An error is that of ctx or
// [engine.ErrUsageLimit].
func (v valueCheck) keys(ctx context.Context, pre *event.PreRender, thorough bool) ([]unused.Key, error) {
	if v.IgnoreUnused || len(v.user) == 0 {
		return nil, nil
	}
	keys, err := v.find(ctx, v.chart, v.user, unused.Options{Thorough: thorough, Cache: v.cache, Functions: pre.Functions})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, engine.ErrUsageLimit):
		return nil, err
	case err != nil:
		return nil, nil
	}
	return keys, nil
}

// unchecked returns the warning for values that could not be checked because of err.
func unchecked(err error) string {
	return "the given values are not checked for keys that nothing reads: " + err.Error()
}
