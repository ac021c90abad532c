// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/progress"
)

// grouped returns the text of a ConfigMap in a resource group that waits for other groups.
func grouped(name, group string, after ...string) string {
	annotations := []string{"helm.sh/resource-group", group}
	if len(after) > 0 {
		annotations = append(annotations, "helm.sh/depends-on/resource-groups", strings.Join(after, ","))
	}
	return objectText("ConfigMap", name, annotations...) + "data: {v: \"1\"}\n"
}

// threeGroups returns three groups that each wait for the one before, and one object without a
// group.
func threeGroups() string {
	return grouped("c", "last", "middle") + grouped("a", "first") + configMaps("z=1") + grouped("b", "middle", "first")
}

// orderly returns the calls that show the order of writes and waits.
func (s *testCase) orderly() string {
	var out []string
	for _, l := range s.lines {
		switch word, _, _ := strings.Cut(l, " "); word {
		case "apply", "delete", "wait", "wait-deleted":
			out = append(out, strings.ReplaceAll(l, "ConfigMap/", ""))
		}
	}
	return strings.Join(out, "; ")
}

func TestBatchesInOrder(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", threeGroups()))
	s.request.Wait = true
	if err := s.runInstall(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "apply [a]; wait [a]; apply [b]; wait [b]; apply [c]; wait [c]; apply [z]; wait [c a z b]"; got != want {
		t.Errorf("got %s", got)
	}
	s.reset()
	// The last batch is awaited only if the request waits.
	if _, err := s.runUpgrade(t, threeGroups()+configMaps("x=1")); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "wait [a]; wait [b]; wait [c]; apply [x]"; got != want {
		t.Errorf("upgrade: got %s, want %s", got, want)
	}
	s.reset()
	// Deletions come after all writes, in reverse order, each when the one before is done.
	if _, err := s.runUpgrade(t, grouped("a", "first")+grouped("new", "second", "first")); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "wait [a]; apply [new]; delete [x z]; wait-deleted [x z]; delete [c]; wait-deleted [c]; delete [b]"; got != want {
		t.Errorf("second upgrade: got %s, want %s", got, want)
	}
	s.reset()
	if _, err := s.runRollback(t, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "wait [a]; apply [b]; wait [b]; apply [c]; wait [c]; apply [z]; delete [new]"; got != want {
		t.Errorf("rollback: got %s, want %s", got, want)
	}
	s.reset()
	// An uninstall deletes in reverse order, and waits for the deletion of each batch but
	// the last.
	if _, err := s.runUninstall(t); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "delete [z], background; wait-deleted [z]; delete [c], background; wait-deleted [c]; delete [b], background; wait-deleted [b]; delete [a], background"; got != want {
		t.Errorf("uninstall: got %s, want %s", got, want)
	}
}

// The order of subcharts is only in Chart.yaml, so it is recorded. A rollback and an uninstall
// use the order of the recorded revision.
func TestSubchartOrder(t *testing.T) {
	tree := func(edges string) *chart.Chart {
		c := newChart(t, "templates/a.yaml", configMaps("web=1"))
		var below []*chart.Chart
		for _, name := range []string{"app", "db"} {
			sub := newChart(t, "templates/a.yaml", configMaps(name+"=1"))
			sub.Metadata.Name = name
			below = append(below, sub)
		}
		c.SetDependencies(below...)
		if edges != "" {
			c.Metadata.Annotations = map[string]string{"helm.sh/depends-on/subcharts": edges}
		}
		return c
	}
	s := newTestCase(t, tree(`{"app": ["db"]}`))
	if err := s.runInstall(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "apply [db]; wait [db]; apply [app]; wait [app]; apply [web]"; got != want {
		t.Errorf("install: got %s, want %s", got, want)
	}
	s.reset()
	req := upgradeTo(t, "")
	req.Chart = tree(`{"db": ["app"]}`)
	if _, err := s.upgrade().Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "wait [app]; wait [db]"; got != want {
		t.Errorf("upgrade: got %s, want %s", got, want)
	}
	s.reset()
	if _, err := s.runRollback(t, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "wait [db]; wait [app]"; got != want {
		t.Errorf("rollback: got %s, want %s", got, want)
	}
	s.reset()
	if _, err := s.runUninstall(t, func(r *UninstallRequest) { r.Wait = true }); err != nil {
		t.Fatal(err)
	}
	if got, want := s.orderly(), "delete [web], background; wait-deleted [web]; delete [app], background; wait-deleted [app]; delete [db], background; wait-deleted [db]"; got != want {
		t.Errorf("uninstall: got %s, want %s", got, want)
	}
	// Without an order there is one batch, and no recorded order.
	s = newTestCase(t, tree(""))
	if err := s.runInstall(); err != nil {
		t.Fatal(err)
	}
	if got := s.orderly(); got != "apply [app db web]" || s.records.kept["web.v1"].Order != nil {
		t.Errorf("got %s, recorded %s", got, s.records.kept["web.v1"].Order)
	}
}

// If a batch does not become ready, later ones are not applied.
func TestBatchNotReady(t *testing.T) {
	for _, verb := range []string{"install", "upgrade"} {
		t.Run(verb, func(t *testing.T) {
			s := installedCase(t, objectText("Service", "web"))
			if verb == "install" {
				s = newTestCase(t, newChart(t, "templates/a.yaml", threeGroups()))
			}
			s.fail["wait [ConfigMap/b]"] = errBroken
			run := s.runInstall
			if verb == "upgrade" {
				run = func() error { return errorOf(s.runUpgrade(t, threeGroups())) }
			}
			if err := run(); err == nil {
				t.Fatal("got no error")
			}
			if got, want := s.orderly(), "apply [a]; wait [a]; apply [b]; wait [b]"; got != want {
				t.Errorf("%s: got %s, want %s", verb, got, want)
			}
		})
	}
}

// Waiting for a missing group is ignored, with one warning. A cycle is an error before
// anything is written; but objects can always be deleted.
func TestInvalidOrder(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", grouped("a", "first", "nobody")+grouped("b", "second", "first")))
	var warnings []string
	s.install.Progress = func(e progress.Event) {
		if e.Kind == progress.Warning {
			warnings = append(warnings, e.Text)
		}
	}
	if err := s.runInstall(); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "nobody") {
		t.Errorf("warnings = %q", warnings)
	}
	for name, c := range map[string]string{
		"groups": grouped("a", "first", "second") + grouped("b", "second", "first"),
		"a list": objectText("ConfigMap", "a", "helm.sh/depends-on/resource-groups", `["a`),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", c))
			if err := s.runInstall(); err == nil || len(s.writes()) > 0 {
				t.Errorf("%s: %v, calls = %q", name, err, s.writes())
			}
			s = installedCase(t, configMaps("a=1"))
			rel := s.records.kept["web.v1"]
			rel.Manifest = strings.ReplaceAll(c, "---\n", "---\n# Source: web/templates/a.yaml\n")
			warnings = nil
			u := s.uninstall()
			u.Progress = func(e progress.Event) {
				if e.Kind == progress.Warning {
					warnings = append(warnings, e.Text)
				}
			}
			if _, err := u.Run(t.Context(), UninstallRequest{Name: "web"}); err != nil || s.cluster.contents() != "" || len(warnings) != 1 {
				t.Errorf("%s: uninstall: %v, left %s, warnings = %q", name, err, s.cluster.contents(), warnings)
			}
		})
	}
}

// Every object is written once, whatever its batch.
func TestBatchesContainAllObjects(t *testing.T) {
	text := ""
	var want []string
	for i := range 12 {
		name := fmt.Sprint("c", i)
		want = append(want, "ConfigMap/"+name+"=1")
		switch i % 3 {
		case 0:
			text += configMaps(name + "=1")
		case 1:
			text += grouped(name, fmt.Sprint("g", i))
		default:
			text += grouped(name, fmt.Sprint("g", i), fmt.Sprint("g", i-1))
		}
	}
	s := newTestCase(t, newChart(t, "templates/a.yaml", text))
	if err := s.runInstall(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	s.wantState(t, strings.Join(want, " "), "1 deployed")
	if got := strings.Count(s.orderly(), "c"); got == 0 {
		t.Error("nothing was written")
	}
}
