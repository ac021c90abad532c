// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
)

// plannedOperations are applications of plans. After a fault the plan starts from another state of
// the release: it is planned anew.
func plannedOperations(t *testing.T) []operation {
	file := filepath.Join(t.TempDir(), "plan.json")
	install := []string{"install", "web", "CHART"}
	change := []string{"web", "CHART", "--set", "colour=blue,more=true,less=true"}
	plan := func(args ...string) []string { return append([]string{"plan"}, append(args, "--save", file)...) }
	apply := []string{"apply", file}
	again := []string{"--rebase", "--auto-approve"}
	red, blue := wanted("red", "ConfigMap/b"), wanted("blue", "ConfigMap/c")
	return []operation{
		{name: "planned install", start: [][]string{plan("install", "web", "CHART", "--plain")}, args: apply, again: again,
			done: []string{"exists with status deployed"}, want: red},
		{name: "planned upgrade", start: [][]string{install, plan(append([]string{"upgrade", "--plain"}, change...)...)},
			args: apply, again: again, want: blue},
		{name: "planned rollback", start: [][]string{install, append([]string{"upgrade"}, change...), plan("rollback", "web", "1")},
			args: apply, again: again, want: red},
		{name: "planned uninstall", start: [][]string{install, plan("uninstall", "web")}, args: apply, again: again,
			done: []string{"not found"}},
	}
}

// TestPlanKilled kills helm at each write of a plan's application.
func TestPlanKilled(t *testing.T) {
	c := connect(t)
	for i := range plannedOperations(t) {
		op := plannedOperations(t)[i]
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			op := plannedOperations(t)[i]
			h := newHelm(t, c)
			args := h.prepare(t, op)
			if r := h.runGated(t, nil, args...); r.err != nil {
				t.Fatalf("undisturbed: %s", r)
			}
			total := int(h.gate.writes.Load())
			h.check(t, op, "undisturbed")
			for n := 1; n <= total && !t.Failed(); n++ {
				for what, f := range map[string]fate{"before": killBefore, "after": killAfter} {
					h.killAt(t, op, fmt.Sprintf("killed %s write %d", what, n), n, f)
				}
			}
		})
	}
}

// TestPlanResponseLost breaks one connection at each write of a plan's application, which succeeds.
func TestPlanResponseLost(t *testing.T) {
	c := connect(t)
	for i := range plannedOperations(t) {
		op := plannedOperations(t)[i]
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			op := plannedOperations(t)[i]
			h := newHelm(t, c)
			for n, more := 1, true; more && !t.Failed(); n++ {
				for what, f := range map[string]fate{"lost": drop, "cut": cut} {
					args := h.prepare(t, op)
					r := h.runGated(t, func(_ *http.Request, write bool, at int) fate {
						if write && at == n {
							return f
						}
						return pass
					}, args...)
					when := fmt.Sprintf("write %d was %s", n, what)
					if r.err != nil {
						t.Fatalf("%s: %s\nthe writes were\n    %s", when, r, h.gate.kept())
					}
					more = int(h.gate.writes.Load()) >= n
					h.checkResult(t, op, when)
					h.remove(t)
				}
			}
		})
	}
}
