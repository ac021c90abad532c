// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/plan"
)

// movedCase returns a release of old, and a request to upgrade it to a chart with the entries of "moved".
func movedCase(t *testing.T, old, moved string, files ...string) (*testCase, UpgradeRequest) {
	t.Helper()
	s := installedCase(t, old)
	req := upgradeTo(t, "")
	meta, err := chart.ParseMetadata("Chart.yaml", []byte("apiVersion: v2\nname: web\nversion: 2.0.0\nmoved:\n"+moved))
	if err != nil {
		t.Fatal(err)
	}
	req.Chart = newChart(t, files...)
	req.Chart.Metadata = meta
	s.reset()
	return s, req
}

// Objects that have moved are created, awaited and then deleted, or deleted first; a rollback does so in
// the other direction, over several revisions too.
func TestMovedOrder(t *testing.T) {
	const moved = `- {kind: ConfigMap, from: {name: "{{ .Release.Name }}-a"}, to: {name: "{{ .Release.Name }}-b"}, recreate: true}
- {kind: ConfigMap, from: {name: c}, to: {name: d}, recreate: true, order: delete-first}
`
	name := newTestCase(t, nil).request.Name
	s, req := movedCase(t, configMaps(name+"-a=1", "c=1", "x=1"), moved, "templates/a.yaml", configMaps(name+"-b=1", "d=1", "z=1"))
	if _, err := s.upgrade().Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	order := func() string { return strings.ReplaceAll(s.orderly(), name, "web") }
	if got, want := order(), "delete [c]; wait-deleted [c]; apply [d web-b z]; wait [web-b]; delete [web-a x]"; got != want {
		t.Errorf("upgrade: got %s, want %s", got, want)
	}
	s.reset()
	if _, err := s.upgrade().Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got := order(); got != "" {
		t.Errorf("the same upgrade: got %s, want nothing", got)
	}
	if _, err := s.runRollback(t, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := order(), "delete [d]; wait-deleted [d]; apply [c web-a x]; wait [web-a]; delete [web-b z]"; got != want {
		t.Errorf("rollback: got %s, want %s", got, want)
	}
	s.reset()
	// From what a rollback has restored, the upgrade moves again.
	if _, err := s.upgrade().Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got, want := order(), "delete [c]; wait-deleted [c]; apply [d web-b z]; wait [web-b]; delete [web-a x]"; got != want {
		t.Errorf("upgrade again: got %s, want %s", got, want)
	}
}

// An object that keeps its name is the same object in the plan, the record and the next upgrade.
func TestMovedKeepsName(t *testing.T) {
	s, req := movedCase(t, configMaps("a=1"), "- {kind: ConfigMap, from: {name: a}, to: {name: b}, recreate: false}\n", "templates/a.yaml", configMaps("b=2"))
	change, _, err := s.upgrade().Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := actions(change.Plan.Steps); got != "update ConfigMap/a" || change.Plan.Steps[0].Moved == nil {
		t.Errorf("the plan is %s, %v", got, change.Plan.Steps[0].Moved)
	}
	for range 2 {
		rel, err := s.upgrade().Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rel.Manifest, "name: a") || strings.Contains(rel.Manifest, "name: b") {
			t.Errorf("the record has\n%s", rel.Manifest)
		}
		if got := s.cluster.contents(); got != "ConfigMap/a=2" {
			t.Errorf("the cluster has %s", got)
		}
	}
	if err := s.runInstall(); err == nil { // a new release has the new name
		t.Error("a second install succeeds")
	}
	fresh := newTestCase(t, req.Chart)
	if err := fresh.runInstall(); err != nil {
		t.Fatal(err)
	}
	if got := fresh.cluster.contents(); got != "ConfigMap/b=2" {
		t.Errorf("an install makes %s", got)
	}
}

// A definition that has moved to crds/ is kept by the upgrade, by an uninstall after it, and by one after
// an upgrade that has failed.
func TestMovedDefinition(t *testing.T) {
	const moved = "- {from: {directory: templates}, to: {directory: crds}}\n"
	for _, fails := range []bool{false, true} {
		s, req := movedCase(t, crontab, moved, "crds/tab.yaml", crontab, "templates/a.yaml", configMaps("a=1"))
		if fails {
			s.fail = map[string]error{"apply [ConfigMap/a]": errors.New("refused")}
		}
		change, _, err := s.upgrade().Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if got := actions(change.Plan.Steps); got != "create ConfigMap/a, keep CustomResourceDefinition/crontabs.example.com" {
			t.Errorf("the plan is %s", got)
		}
		if _, err := s.upgrade().Run(t.Context(), req); (err != nil) != fails {
			t.Fatal(err)
		}
		s.fail = nil
		if got := s.cluster.contents(); !strings.Contains(got, "CustomResourceDefinition/crontabs.example.com") {
			t.Errorf("after the upgrade: %s", got)
		}
		out, err := s.runUninstall(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.Deleted {
			if isDefinition(o) {
				t.Errorf("an uninstall deletes %s (failed before: %t)", o, fails)
			}
		}
		if strings.Join(out.Definitions, " ") != "crontabs.example.com" {
			t.Errorf("definitions = %v", out.Definitions)
		}
	}
}

// Names are rendered with the values of the chart that has the entry.
func TestMovedNames(t *testing.T) {
	s, req := movedCase(t, configMaps("a=1"), "- {kind: ConfigMap, from: {name: '{{ .Values.old }}'}, to: {name: '{{ include \"new\" . }}'}, recreate: false}\n",
		"values.yaml", "old: a\nnew: b\n", "templates/_h.tpl", `{{ define "new" }}{{ .Values.new }}{{ end }}`, "templates/a.yaml", configMaps("b=1"))
	rel, err := s.upgrade().Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := movesOf(rel); len(got) != 1 || got[0].From.Name != "a" || got[0].To.Name != "b" {
		t.Errorf("the record has %+v", got)
	}
	s, req = movedCase(t, configMaps("a=1"), "- {kind: ConfigMap, from: {name: '{{ fail \"why\" }}'}, to: {name: b}, recreate: false}\n", "templates/a.yaml", configMaps("b=1"))
	var failed *engine.Error
	if err := errorOf(s.upgrade().Run(t.Context(), req)); !errors.As(err, &failed) || !strings.Contains(err.Error(), "web/Chart.yaml: moved[0].from.name:1:") {
		t.Errorf("got %v", err)
	}
	s, req = movedCase(t, configMaps("a=1"), "- {kind: ConfigMap, from: {name: a}, to: {name: settings}, recreate: false}\n", "templates/a.yaml", configMaps("setings=1"))
	var moved *plan.MovedError
	if err := errorOf(s.upgrade().Run(t.Context(), req)); !errors.As(err, &moved) || len(s.writes()) > 0 {
		t.Errorf("got %v after %v", err, s.writes())
	}
}
