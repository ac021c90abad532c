// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Chart is a chart to test.
type Chart struct {
	Name, Path string
	// Suites are run concurrently. Their results keep this order.
	Suites []Suite
	// Err is set if the chart or its suites could not be read. It becomes the result's.
	Err error
}

// Runner runs the suites of charts. The zero value runs one suite at a time.
type Runner struct {
	// Parallel is the number of suites that run at the same time.
	Parallel int
	Options  Options
}

// Run runs the suites of all charts and calls done with the result of each chart, in order. With
// Options.FailFast, the result of a chart ends with the first suite, in order, that fails, and later
// charts are not run. Run returns the first error of done, or that of ctx: done is not called for a
// chart whose suites were interrupted.
func (r Runner) Run(ctx context.Context, charts []Chart, done func(*ChartResult) error) error {
	for i := range charts {
		if err := ctx.Err(); err != nil {
			return err
		}
		res := r.chart(ctx, &charts[i])
		if err := ctx.Err(); err != nil { // the result has a part of the suites
			return err
		}
		if err := done(res); err != nil {
			return err
		}
		if r.Options.FailFast && !res.Status().OK() {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func (r Runner) chart(ctx context.Context, c *Chart) *ChartResult {
	began := time.Now()
	res := &ChartResult{Name: c.Name, Path: c.Path, Err: c.Err}
	if c.Err != nil {
		return res
	}
	results := make([]*SuiteResult, len(c.Suites))
	var next, failed atomic.Int64
	failed.Store(int64(len(c.Suites)))
	var wg sync.WaitGroup
	for range max(1, min(r.Parallel, len(c.Suites))) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(c.Suites)) || ctx.Err() != nil || r.Options.FailFast && i > failed.Load() {
					return
				}
				results[i] = r.suite(ctx, c.Suites[i])
				if !results[i].Status().OK() {
					lower(&failed, i)
				}
			}
		})
	}
	wg.Wait()
	for i, s := range results {
		if s == nil {
			continue
		}
		res.Suites = append(res.Suites, s)
		if r.Options.FailFast && int64(i) == failed.Load() {
			break
		}
	}
	res.Duration = time.Since(began)
	return res
}

func (r Runner) suite(ctx context.Context, s Suite) *SuiteResult {
	began := time.Now()
	res := s.Run(ctx, r.Options)
	res.Name, res.File = s.Name(), s.File()
	res.Duration = time.Since(began)
	return res
}

// lower sets v to i if i is less.
func lower(v *atomic.Int64, i int64) {
	for {
		old := v.Load()
		if i >= old || v.CompareAndSwap(old, i) {
			return
		}
	}
}
