// SPDX-License-Identifier: Apache-2.0

package faults

// plannedOperations are applications of plans. After a fault the plan starts from another state of
// the release: it is planned again.
func plannedOperations() []operation {
	install := []string{"install", "web", "CHART"}
	change := []string{"web", "CHART", "--set", "colour=blue,more=true,less=true"}
	plan := func(args ...string) []string { return append([]string{"plan"}, append(args, "--save", "PLAN")...) }
	apply := []string{"apply", "PLAN"}
	again := []string{"--rebase", "--auto-approve"}
	red, blue := wanted("red", "ConfigMap/b"), wanted("blue", "ConfigMap/c")
	return []operation{
		{name: "planned install", like: "planned upgrade", start: [][]string{plan("install", "web", "CHART", "--plain")}, args: apply, again: again,
			done: []string{"exists with status deployed"}, want: red},
		{name: "planned upgrade", start: [][]string{install, plan(append([]string{"upgrade", "--plain"}, change...)...)},
			args: apply, again: again, want: blue},
		{name: "planned rollback", like: "planned upgrade", start: [][]string{install, append([]string{"upgrade"}, change...), plan("rollback", "web", "1")},
			args: apply, again: again, want: red},
		{name: "planned uninstall", like: "planned upgrade", start: [][]string{install, plan("uninstall", "web")}, args: apply, again: again,
			done: []string{"there is nothing to uninstall", "not found"}},
	}
}
