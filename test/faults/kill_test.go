// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// operation is a command under test.
type operation struct {
	name string
	// like is the operation that makes the same writes but for a few. Only those are disturbed.
	like  string
	start [][]string // commands to run before
	drift bool       // another client changes objects before
	args  []string   // "CHART" stands for the chart
	again []string   // flags of the same command after a fault
	// done are errors that are expected if the first run has already completed the
	// operation.
	done []string
	want map[string]string // the objects afterwards; nil for an uninstalled release
	// history is set if the records of an uninstalled release are kept.
	history bool
}

func operations() []operation {
	install := []string{"install", "web", "CHART"}
	change := []string{"upgrade", "web", "CHART", "--set", "colour=blue,more=true,less=true"}
	hooks := []string{"--set", "hooks=true"}
	with := func(a, b []string) []string { return append(a[:len(a):len(a)], b...) }
	inUse := []string{"exists with status deployed"}
	red, blue := wanted("red", "ConfigMap/b"), wanted("blue", "ConfigMap/c")
	return []operation{
		{name: "install", args: install, done: inUse, want: red},
		{name: "install with hooks", like: "install", args: with(install, hooks), done: inUse, want: red},
		{name: "install or upgrade", args: []string{"upgrade", "--install", "web", "CHART"}, want: red},
		{name: "upgrade", start: [][]string{install}, args: change, want: blue},
		{name: "upgrade with hooks", like: "upgrade", start: [][]string{with(install, hooks)}, args: with(change, hooks), want: blue},
		{name: "upgrade server-side", like: "upgrade", start: [][]string{install}, args: with(change, []string{"--server-side=true"}), want: blue},
		{name: "upgrade short history", like: "upgrade", start: [][]string{install, change, install2()}, args: with(change, []string{"--history-max", "2"}), want: blue},
		{name: "rollback", start: [][]string{install, change}, args: []string{"rollback", "web", "1"}, want: red},
		{name: "repair", start: [][]string{with(install, []string{"--server-side=true"})}, drift: true, args: []string{"drift", "web", "--repair"}, want: red},
		{name: "repair in place", like: "repair", start: [][]string{install}, drift: true, args: []string{"drift", "web", "--repair=in-place"}, want: red},
		{name: "uninstall", start: [][]string{with(install, hooks), with(change, hooks)}, args: []string{"uninstall", "web"}, done: []string{"not found"}},
		{name: "uninstall with history", like: "uninstall", start: [][]string{install, change}, args: []string{"uninstall", "web", "--keep-history"}, done: []string{"already deleted"}, history: true},
	}
}

func install2() []string { return []string{"upgrade", "web", "CHART", "--set", "colour=green"} }

func (h *helm) prepare(t *testing.T, op operation) []string {
	t.Helper()
	for _, args := range op.start {
		h.must(t, h.with(args)...)
	}
	if op.drift {
		h.meddle(t)
	}
	return h.with(op.args)
}

// meddle changes, deletes and adds what the release has installed.
func (h *helm) meddle(t *testing.T) {
	t.Helper()
	core, apps := "/api/v1/namespaces/"+h.namespace, "/apis/apps/v1/namespaces/"+h.namespace
	const green = `{"metadata":{"labels":{"colour":"green"}}`
	for _, c := range []struct{ method, path, body string }{
		{http.MethodDelete, core + "/configmaps/b", ""},
		{http.MethodPatch, core + "/configmaps/a", green + `,"data":{"colour":"green","more":"x"}}`},
		{http.MethodPatch, core + "/services/w", green + `}`},
		{http.MethodPatch, apps + "/deployments/w", green + `,"spec":{"paused":true}}`},
	} {
		if text, status, err := h.cluster.call(t.Context(), c.method, c.path, c.body); err != nil || status >= 300 {
			t.Fatalf("%s %s: %d %v %s", c.method, c.path, status, err, text)
		}
	}
}

// with replaces CHART in args with the chart, and PLAN with the file of a plan.
func (h *helm) with(args []string) []string {
	out := slices.Clone(args)
	for i := range out {
		switch out[i] {
		case "CHART":
			out[i] = h.chart
		case "PLAN":
			out[i] = filepath.Join(h.home, "plan.json")
		}
	}
	return out
}

// check checks the result of an operation, and that later operations succeed.
func (h *helm) check(t *testing.T, op operation, when string) {
	t.Helper()
	h.checkResult(t, op, when)
	h.end(t)
}

// checkResult checks the result of an operation.
func (h *helm) checkResult(t *testing.T, op operation, when string) {
	t.Helper()
	switch {
	case op.want != nil:
		h.sound(t, when, op.want)
	case op.history:
		if !apiserver.Eventually(func() bool { return len(h.objects(t, h.namespace)) == 0 }) {
			t.Errorf("%s: left behind:\n    %s", when, lines(h.objects(t, h.namespace)))
		}
		records := h.records(t, h.namespace)
		if len(records) != 2 || records[1] != "uninstalled" || records[0] == "deployed" {
			t.Errorf("%s: the history is %v", when, records)
		}
		h.unlocked(t, when)
	default:
		h.nothing(t, when)
	}
}

// undisturbed runs an operation without faults, and returns the kinds of its writes.
func (h *helm) undisturbed(t *testing.T, op operation) []string {
	t.Helper()
	args := h.prepare(t, op)
	if r := h.runGated(t, nil, args...); r.err != nil {
		t.Fatalf("undisturbed: %s", r)
	}
	kinds := withoutHeartbeats(h.gate.made())
	h.checkResult(t, op, "undisturbed")
	h.remove(t)
	return kinds
}

// disturb calls test for each point of each operation that choose returns. The second argument of choose
// are the kinds of the writes of the operation that [operation.like] names.
func disturb(t *testing.T, operations []operation, choose func(kinds, known []string, every bool) []point,
	test func(*testing.T, *helm, operation, point)) {
	t.Helper()
	c := connect(t)
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			var known []string
			if i := slices.IndexFunc(operations, func(o operation) bool { return o.name == op.like }); i >= 0 {
				known = h.undisturbed(t, operations[i])
			}
			kinds := h.undisturbed(t, op)
			points := choose(kinds, known, all())
			t.Logf("the writes:\n    %s\n%d points:\n    %s", strings.Join(kinds, "\n    "), len(points), text(points))
			for _, p := range points {
				if test(t, h, op, p); t.Failed() {
					t.Fatalf("%s: the writes were\n    %s", p, h.gate.kept())
				}
			}
		})
	}
}

func text(points []point) string {
	var out []string
	for _, p := range points {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n    ")
}

// TestKilled kills helm at its writes, before a write reaches the API server and after it. The same
// command must then succeed.
func TestKilled(t *testing.T) { disturb(t, operations(), kills, killAt) }

// TestPlanKilled kills helm at the writes of a plan's application.
func TestPlanKilled(t *testing.T) { disturb(t, plannedOperations(), kills, killAt) }

func killAt(t *testing.T, h *helm, op operation, p point) {
	t.Helper()
	args := h.prepare(t, op)
	first := h.runGated(t, p.rule(), args...)
	if killed := first.err != nil && first.err.Error() == "signal: killed"; killed != h.gate.reached(p) {
		t.Errorf("%s: the process was killed: %t; the write was made: %t; %s", p, killed, !killed, first)
	}
	if !h.gate.reached(p) && p.nth == 1 {
		t.Errorf("%s: there was no such write: %s", p, first)
	}
	if strings.Contains(first.stderr, "panic:") || strings.Contains(first.stderr, "goroutine ") {
		t.Errorf("%s: %s", p, first)
	}
	if op.again != nil {
		h.run(args...) // it may be refused, and takes the lock of the first over
	}
	again := h.run(append(args, op.again...)...)
	if !again.ok(op.done...) {
		t.Fatalf("%s: the same command again: %s\nthe writes were\n    %s", p, again, h.gate.kept())
	}
	h.check(t, op, p.String())
	if t.Failed() {
		t.Logf("%s: the same command again said %s", p, again)
	}
}

// TestKilledTwice kills the second attempt too.
func TestKilledTwice(t *testing.T) {
	c := connect(t)
	for _, op := range operations() {
		if op.name != "upgrade" && op.name != "install" && op.name != "uninstall" {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			for _, n := range [][2]int{{4, 4}, {7, 6}, {9, 3}} {
				args := h.prepare(t, op)
				for _, at := range n {
					h.runGated(t, onWrites(func(q request) fate {
						if q.n == at {
							return killAfter
						}
						return pass
					}), args...)
				}
				if again := h.run(args...); !again.ok(op.done...) {
					t.Fatalf("killed at %v: %s", n, again)
				}
				h.check(t, op, fmt.Sprintf("killed at %v", n))
			}
		})
	}
}
