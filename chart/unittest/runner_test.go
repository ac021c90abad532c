// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a suite with one test of the given status.
type fake struct {
	name   string
	status Status
	wait   time.Duration
	ran    *atomic.Int64
}

func (f fake) Name() string    { return f.name }
func (f fake) File() string    { return f.name + "_test.yaml" }
func (f fake) Cases() []string { return []string{"works"} }

func (f fake) Run(context.Context, Options) *SuiteResult {
	time.Sleep(f.wait)
	if f.ran != nil {
		f.ran.Add(1)
	}
	return &SuiteResult{Tests: []TestResult{{Name: "works", Status: f.status}}}
}

// stopper is a suite that is interrupted.
type stopper struct {
	fake
	cancel func()
}

func (s stopper) Run(ctx context.Context, o Options) *SuiteResult {
	s.cancel()
	return s.fake.Run(ctx, o)
}

func names(r *ChartResult) (out []string) {
	for _, s := range r.Suites {
		out = append(out, s.Name)
	}
	return out
}

func run(t *testing.T, r Runner, charts ...Chart) (results []*ChartResult) {
	t.Helper()
	err := r.Run(t.Context(), charts, func(c *ChartResult) error {
		results = append(results, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestRunOrder(t *testing.T) {
	suites := []Suite{
		fake{name: "a", status: Passed, wait: 20 * time.Millisecond},
		fake{name: "b", status: Failed},
		fake{name: "c", status: Passed},
	}
	for _, parallel := range []int{0, 1, 3} {
		got := run(t, Runner{Parallel: parallel}, Chart{Name: "web", Suites: suites})
		if want := []string{"a", "b", "c"}; len(got) != 1 || !slices.Equal(names(got[0]), want) {
			t.Errorf("parallel %d: got %v, want %v", parallel, names(got[0]), want)
		}
		if got[0].Status() != Failed {
			t.Errorf("parallel %d: status %v, want failed", parallel, got[0].Status())
		}
	}
}

func TestRunFailFast(t *testing.T) {
	suites := []Suite{
		fake{name: "a", status: Passed, wait: 20 * time.Millisecond},
		fake{name: "b", status: Failed},
		fake{name: "c", status: Failed},
	}
	for _, parallel := range []int{1, 3} {
		r := Runner{Parallel: parallel, Options: Options{FailFast: true}}
		got := run(t, r, Chart{Name: "web", Suites: suites}, Chart{Name: "db", Suites: suites})
		if want := []string{"a", "b"}; len(got) != 1 || !slices.Equal(names(got[0]), want) {
			t.Errorf("parallel %d: got %d charts, suites %v, want one chart with %v", parallel, len(got), names(got[0]), want)
		}
	}
}

func TestRunErrors(t *testing.T) {
	broken := errors.New("no Chart.yaml")
	got := run(t, Runner{}, Chart{Name: "web", Err: broken}, Chart{Name: "db"})
	if len(got) != 2 || got[0].Status() != Errored || !errors.Is(got[0].Err, broken) || got[1].Status() != Passed {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var ran atomic.Int64
	err := Runner{}.Run(ctx, []Chart{{Suites: []Suite{fake{ran: &ran}}}}, func(*ChartResult) error { return nil })
	if !errors.Is(err, context.Canceled) || ran.Load() != 0 {
		t.Errorf("Run with a cancelled context: %v, and %d suites ran", err, ran.Load())
	}
	ctx, cancel = context.WithCancel(t.Context())
	err = Runner{}.Run(ctx, []Chart{{Suites: []Suite{stopper{fake{}, cancel}, fake{}}}}, func(*ChartResult) error {
		t.Error("done is called with a part of the suites")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
	err = Runner{}.Run(t.Context(), []Chart{{}}, func(*ChartResult) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of done", err)
	}
}

func TestSuiteStatus(t *testing.T) {
	tests := []struct {
		name string
		in   SuiteResult
		want Status
	}{
		{"no tests", SuiteResult{}, Passed},
		{"all skipped", SuiteResult{Tests: []TestResult{{Status: Skipped}, {Status: Skipped}}}, Skipped},
		{"one skipped", SuiteResult{Tests: []TestResult{{Status: Skipped}, {Status: Passed}}}, Passed},
		{"one failed", SuiteResult{Tests: []TestResult{{Status: Failed}, {Status: Passed}}}, Failed},
		{"one errored", SuiteResult{Tests: []TestResult{{Status: Passed}, {Status: Errored}}}, Failed},
		{"not read", SuiteResult{Err: errors.New("not YAML")}, Errored},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Status(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
