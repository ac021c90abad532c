// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// operation is a command under test.
type operation struct {
	name  string
	start [][]string // commands to run before
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
		{name: "install with hooks", args: with(install, hooks), done: inUse, want: red},
		{name: "install or upgrade", args: []string{"upgrade", "--install", "web", "CHART"}, want: red},
		{name: "upgrade", start: [][]string{install}, args: change, want: blue},
		{name: "upgrade with hooks", start: [][]string{with(install, hooks)}, args: with(change, hooks), want: blue},
		{name: "upgrade server-side", start: [][]string{install}, args: with(change, []string{"--server-side=true"}), want: blue},
		{name: "upgrade short history", start: [][]string{install, change, install2()}, args: with(change, []string{"--history-max", "2"}), want: blue},
		{name: "rollback", start: [][]string{install, change}, args: []string{"rollback", "web", "1"}, want: red},
		{name: "uninstall", start: [][]string{with(install, hooks), with(change, hooks)}, args: []string{"uninstall", "web"}, done: []string{"not found"}},
		{name: "uninstall with history", start: [][]string{install, change}, args: []string{"uninstall", "web", "--keep-history"}, done: []string{"already deleted"}, history: true},
	}
}

func install2() []string { return []string{"upgrade", "web", "CHART", "--set", "colour=green"} }

func (h *helm) prepare(t *testing.T, op operation) []string {
	t.Helper()
	for _, args := range op.start {
		h.must(t, h.with(args)...)
	}
	return h.with(op.args)
}

// with replaces CHART in args with the chart.
func (h *helm) with(args []string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		if out[i] == "CHART" {
			out[i] = h.chart
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

// TestKilled kills helm at each of its writes, before the write reaches the API server and
// after it. The same command must then succeed.
func TestKilled(t *testing.T) {
	c := connect(t)
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			args := h.prepare(t, op)
			if r := h.runGated(t, nil, args...); r.err != nil {
				t.Fatalf("undisturbed: %s", r)
			}
			total := int(h.gate.writes.Load())
			t.Logf("%d writes:\n    %s", total, h.gate.kept())
			h.check(t, op, "undisturbed")
			for n := 1; n <= total && !t.Failed(); n++ {
				for what, f := range map[string]fate{"before": killBefore, "after": killAfter} {
					h.killAt(t, op, fmt.Sprintf("killed %s write %d", what, n), n, f)
				}
			}
		})
	}
}

func (h *helm) killAt(t *testing.T, op operation, when string, n int, f fate) {
	t.Helper()
	args := h.prepare(t, op)
	first := h.runGated(t, func(_ *http.Request, write bool, at int) fate {
		if write && at == n {
			return f
		}
		return pass
	}, args...)
	if killed := first.err != nil && first.err.Error() == "signal: killed"; !killed && int(h.gate.writes.Load()) >= n {
		t.Errorf("%s: it lives: %s", when, first)
	}
	if strings.Contains(first.stderr, "panic:") || strings.Contains(first.stderr, "goroutine ") {
		t.Errorf("%s: %s", when, first)
	}
	if op.again != nil {
		h.run(args...) // it may be refused, and takes the lock of the first over
	}
	again := h.run(append(args, op.again...)...)
	if !again.ok(op.done...) {
		t.Fatalf("%s: the same command again: %s\nthe writes were\n    %s", when, again, h.gate.kept())
	}
	h.check(t, op, when)
	if t.Failed() {
		t.Logf("%s: the writes were\n    %s\nand the same command again said %s", when, h.gate.kept(), again)
		t.FailNow()
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
					h.runGated(t, func(_ *http.Request, write bool, i int) fate {
						if write && i == at {
							return killAfter
						}
						return pass
					}, args...)
				}
				if again := h.run(args...); !again.ok(op.done...) {
					t.Fatalf("killed at %v: %s", n, again)
				}
				h.check(t, op, fmt.Sprintf("killed at %v", n))
			}
		})
	}
}
