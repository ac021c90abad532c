// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// TestResponseLost breaks one connection at a write: before the request reaches the server, or before
// the response reaches helm. Every operation succeeds nevertheless.
func TestResponseLost(t *testing.T) { disturb(t, operations(), losses, loseAt) }

// TestPlanResponseLost breaks one connection at a write of a plan's application, which succeeds.
func TestPlanResponseLost(t *testing.T) { disturb(t, plannedOperations(), losses, loseAt) }

func loseAt(t *testing.T, h *helm, op operation, p point) {
	t.Helper()
	args := h.prepare(t, op)
	r := h.runGated(t, p.rule(), args...)
	if r.err != nil {
		t.Fatalf("%s: %s\nthe writes were\n    %s", p, r, h.gate.kept())
	}
	if !h.gate.reached(p) && p.nth == 1 {
		t.Errorf("%s: there was no such write: %s", p, r)
	}
	h.checkResult(t, op, p.String())
	h.remove(t)
}

// TestServerErrors lets the API server respond with errors for a while.
func TestServerErrors(t *testing.T) {
	c := connect(t)
	every := func(k int, f fate) rule {
		return func(q request) fate {
			if q.n%k == 0 {
				return f
			}
			return pass
		}
	}
	for name, r := range map[string]func() rule{
		"each third is told that it is busy":      func() rule { return every(3, busy) },
		"each fourth fails within":                func() rule { return every(4, mishap) },
		"each second finds the server starting":   func() rule { return every(2, starting) },
		"each fifth connection breaks":            func() rule { return every(5, cut) },
		"each third answer to a write is lost":    func() rule { return onWrites(every(3, drop)) },
		"the server is starting for five seconds": func() rule { return until(5*time.Second, starting) },
		"no one answers for five seconds":         func() rule { return until(5*time.Second, cut) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			for _, op := range operations() {
				args := h.prepare(t, op)
				if got := h.runGated(t, r(), args...); got.err != nil {
					t.Fatalf("%s: %s\nthe writes were\n    %s", op.name, got, h.gate.kept())
				}
				h.checkResult(t, op, op.name)
				h.remove(t)
			}
		})
	}
}

func onWrites(r rule) rule {
	return func(q request) fate {
		if !q.write {
			return pass
		}
		return r(q)
	}
}

// until returns a rule that applies one fate to all requests for a while, beginning with the
// second write.
func until(d time.Duration, f fate) rule {
	var began atomic.Int64
	return func(q request) fate {
		if q.write && q.n == 2 {
			began.CompareAndSwap(0, time.Now().UnixNano())
		}
		if b := began.Load(); b != 0 && time.Since(time.Unix(0, b)) < d {
			return f
		}
		return pass
	}
}

// TestServerErrorsPersist lets every write fail from some point on. The command fails, or says that the
// lock is left if only its deletion failed, and the next one succeeds.
func TestServerErrorsPersist(t *testing.T) {
	c := connect(t)
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			for _, from := range []int{1, 4, 7} {
				args := h.prepare(t, op)
				r := h.runGated(t, onWrites(func(q request) fate {
					if q.n >= from {
						return mishap
					}
					return pass
				}), args...)
				when := fmt.Sprintf("all writes fail from %d on", from)
				made := h.gate.made()
				failed := made[min(from-1, len(made)):]
				done := !slices.ContainsFunc(failed, func(kind string) bool { return !strings.Contains(kind, " leases/") })
				locked := strings.Contains(r.stderr, "the lock of release web could not be released")
				switch {
				case strings.Contains(r.stderr, "goroutine "):
					t.Errorf("%s: %s", when, r)
				case len(failed) == 0 && r.err != nil: // there are fewer writes
					t.Errorf("%s: none failed, and it says %s", when, r)
				case len(failed) > 0 && (!strings.Contains(r.stderr, "injected by the test") || r.err == nil && !(done && locked)):
					t.Errorf("%s: the writes that failed are %q, and it says %s", when, failed, r)
				}
				again := h.run(args...)
				if op.name == "install" || op.name == "install with hooks" {
					// A failed install keeps its name, as in Helm.
					again = h.run(append(args, "--replace")...)
				}
				if !again.ok(op.done...) {
					t.Fatalf("%s: the same command again: %s", when, again)
				}
				h.check(t, op, when)
			}
		})
	}
}

// TestWatchExpired lets watches end because the API server no longer has the resource version.
func TestWatchExpired(t *testing.T) {
	h := newHelm(t, connect(t))
	for name, f := range map[string]fate{"refused": gone, "ended by an event": expire, "broken": cut} {
		var watches atomic.Int32
		args := []string{"upgrade", "--install", "web", h.chart, "--set", "replicas=1,colour=" + strings.ReplaceAll(name, " ", ""), "--wait", "--timeout", "60s"}
		r := h.runGated(t, func(q request) fate {
			if q.URL.Query().Get("watch") != "" && watches.Add(1) <= 4 {
				return f
			}
			return pass
		}, args...)
		if r.err != nil || watches.Load() < 2 {
			t.Errorf("%s: %d watches, %s", name, watches.Load(), r)
		}
	}
	h.end(t)
}

// TestLogsLost fails the requests for logs and events while an upgrade waits: they are made again, and
// the upgrade does not fail for their sake.
func TestLogsLost(t *testing.T) {
	h := newHelm(t, connect(t))
	for name, f := range map[string]fate{"refused": gone, "broken": cut, "an error": mishap} {
		var failed atomic.Int32
		r := h.runGated(t, func(q request) fate {
			extra := strings.HasSuffix(q.URL.Path, "/log") || strings.HasSuffix(q.URL.Path, "/events")
			if extra && failed.Add(1) <= 4 {
				return f
			}
			return pass
		}, "upgrade", "--install", "web", h.chart, "--set", "replicas=1,colour="+strings.ReplaceAll(name, " ", ""), "--wait",
			"--logs", "--timeout", "60s")
		if r.err != nil || failed.Load() < 2 {
			t.Errorf("%s: %d requests, %s", name, failed.Load(), r)
		}
	}
	h.end(t)
}

// TestBadConnection injects faults into the connection with toxiproxy for some seconds. An operation
// succeeds or reports an error, and the next one succeeds. By default each fault meets every second
// operation, and each operation about every second fault.
func TestBadConnection(t *testing.T) {
	c := connect(t)
	for n, toxic := range []struct{ name, json string }{
		{"reset at once", `{"type":"reset_peer","attributes":{"timeout":0}}`},
		{"reset after 100 ms", `{"type":"reset_peer","attributes":{"timeout":100}}`},
		{"reset upstream", `{"type":"reset_peer","stream":"upstream","attributes":{"timeout":50}}`},
		{"closed after 100 bytes", `{"type":"limit_data","attributes":{"bytes":100}}`},
		{"closed after 5000 bytes", `{"type":"limit_data","attributes":{"bytes":5000}}`},
		{"closed after 20000 bytes", `{"type":"limit_data","attributes":{"bytes":20000}}`},
		{"closed after 4000 bytes up", `{"type":"limit_data","stream":"upstream","attributes":{"bytes":4000}}`},
		{"nothing comes for a second", `{"type":"timeout","attributes":{"timeout":1000}}`},
		{"slow", `{"type":"latency","attributes":{"latency":300,"jitter":100}}`},
		{"slow to close", `{"type":"slow_close","attributes":{"delay":1000}}`},
		{"in slices", `{"type":"slicer","attributes":{"average_size":100,"size_variation":50,"delay":100}}`},
	} {
		t.Run(toxic.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			tried, well := 0, 0
			for i, op := range operations() {
				if !all() && (i+n)%2 != 0 {
					continue
				}
				tried++
				args := h.prepare(t, op)
				r := h.runToxic(t, toxic.json, time.Duration(i%4*60)*time.Millisecond, args...)
				if r.err == nil {
					well++
				} else if strings.TrimSpace(r.stderr) == "" || strings.Contains(r.stderr, "goroutine ") {
					t.Errorf("%s: %s", op.name, r)
				}
				if r.err != nil {
					t.Logf("%s: %s", op.name, r)
					if again := h.run(args...); !again.ok(op.done...) {
						if again = h.run(append(args, "--replace")...); again.err != nil || op.args[0] != "install" {
							t.Fatalf("%s: the same command again: %s", op.name, again)
						}
					}
				}
				h.check(t, op, op.name)
			}
			t.Logf("%d of %d went through regardless", well, tried)
		})
	}
}

// runToxic runs helm through toxiproxy, which is disturbed from a moment after the start on for
// two seconds.
func (h *helm) runToxic(t *testing.T, toxic string, after time.Duration, args ...string) result {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", strings.TrimPrefix(h.Base, "https://"))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	path := h.kubeconfig(t, "https://"+p.Listen)
	done := make(chan struct{})
	spoiled := make(chan error, 1)
	go func() {
		wait(done, after)
		wrapper, err := p.Toxics.AddToxicJson(strings.NewReader(toxic))
		if err == nil {
			wait(done, 2*time.Second)
			err = p.Toxics.RemoveToxic(t.Context(), wrapper.Name)
		}
		spoiled <- err
	}()
	r := h.runAt(path, args...)
	close(done)
	if err := <-spoiled; err != nil {
		t.Errorf("toxiproxy: %v", err)
	}
	return r
}

func wait(done <-chan struct{}, d time.Duration) {
	select {
	case <-done:
	case <-time.After(d):
	}
}
