// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"net/http"
	"testing"
)

// TestRepairedByUs repairs the drift of releases that Helm 3, Helm 4 and we have installed, and has
// both of Helm's list, upgrade, roll back and uninstall what is left.
func TestRepairedByUs(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	for _, by := range []string{"helm4", "helm3", "ours"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			ns := c.namespace(t)
			all := tools(t, ns)
			we := all["ours"]
			all[by].must(t, "install", "web", chart)
			if out := we.must(t, "drift", "web"); out != "web in namespace "+ns.name+", revision 1: no drift\n" {
				t.Errorf("of a fresh release: %s", out)
			}
			meddle(t, ns)
			we.fails(t, "drift", "web")
			we.must(t, "drift", "web", "--repair")
			look(t, ns, we, "red", true)
			we.must(t, "drift", "web")
			agree(t, all, "1 superseded", "2 deployed")

			all["helm4"].must(t, "upgrade", "web", chart, "--set", "colour=blue")
			look(t, ns, all["helm4"], "blue", true)
			meddle(t, ns)
			we.must(t, "drift", "web", "--repair=in-place")
			look(t, ns, we, "blue", true)
			agree(t, all, "1 superseded", "2 superseded", "3 deployed")
			all["helm3"].must(t, "upgrade", "web", chart, "--set", "colour=green")
			look(t, ns, all["helm3"], "green", true)
			all["helm4"].must(t, "rollback", "web", "2")
			look(t, ns, all["helm4"], "red", true)
			agree(t, all, "1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 deployed")
			last := "helm4"
			if by == last {
				last = "helm3"
			}
			all[last].must(t, "uninstall", "web")
			agree(t, all)
		})
	}
}

// meddle changes, adds and deletes what the chart of webChart has.
func meddle(t *testing.T, ns space) {
	t.Helper()
	ns.patch(t, "ConfigMap", "a", `{"metadata":{"labels":{"extra":"x"}},"data":{"colour":"odd","extra":"x","old":null}}`)
	ns.patch(t, "Secret", "s", `{"data":{"old":null}}`)
	ns.patch(t, "Deployment", "w", `{"spec":{"paused":true}}`)
	if text, code, err := ns.call(t.Context(), http.MethodDelete, ns.path("ConfigMap", "b"), "", ""); err != nil || code >= 300 {
		t.Fatalf("delete: %d %s, %v", code, text, err)
	}
}
