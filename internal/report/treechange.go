// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
)

// TreeChanges returns a line for each object that differs between two trees; before may be nil. A
// line has the time, the object and its state.
func TreeChanges(st term.Style, before, after *action.ReleaseTree, now time.Time) []string {
	type key struct{ namespace, path string }
	old := map[key]string{}
	if before != nil {
		walk(before.Tree.Objects, "", func(path string, n *status.Node) { old[key{n.Namespace, path}] = stateLine(n) })
	}
	clock := st.Dim(now.Local().Format(time.TimeOnly))
	var out []string
	line := func(path, text string) {
		out = append(out, fmt.Sprintf("%s %s: %s", clock, term.SafeLine(path), text))
	}
	if before == nil || before.Release.Revision != after.Release.Revision ||
		before.Release.Info.Status != after.Release.Info.Status {
		line(after.Release.Name,
			fmt.Sprintf("revision %d, %s", after.Release.Revision, Status(st, after.Release.Info.Status)))
	}
	walk(after.Tree.Objects, "", func(path string, n *status.Node) {
		text := stateLine(n)
		if old[key{n.Namespace, path}] != text {
			line(path, colored(st, n.State, term.SafeLine(text)))
		}
		delete(old, key{n.Namespace, path})
	})
	if before != nil {
		walk(before.Tree.Objects, "", func(path string, n *status.Node) {
			if _, gone := old[key{n.Namespace, path}]; gone {
				line(path, "gone")
			}
		})
	}
	return out
}

func stateLine(n *status.Node) string {
	if n.Ready == "" {
		return statusText(n)
	}
	return n.Ready + " " + statusText(n)
}

// walk calls fn for all nodes, with the name of each: that of a container has its pod's before it.
func walk(nodes []*status.Node, pod string, fn func(path string, n *status.Node)) {
	for _, n := range nodes {
		path := n.Kind + "/" + n.Name
		if pod != "" {
			path = pod + " " + n.Name
		}
		fn(path, n)
		below := ""
		if n.Kind == "Pod" {
			below = path
		}
		walk(n.Children, below, fn)
	}
}
