// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// eventRecorder records the payloads of events, and changes their objects.
type eventRecorder struct {
	*testCase
	seen []string
	ops  map[*event.Operation]bool
}

// watch handles events of one type: it records their objects, and replaces them by an added
// one.
func watch[E event.Event](w *eventRecorder) {
	event.On(w.bus, "watcher", 0.5, func(_ context.Context, e E) error {
		at := e.Data()
		w.ops[at.Operation] = true
		line := e.Name() + " " + names(at.Objects)
		if at.Release != nil {
			line += " " + string(at.Release.Info.Status)
		}
		if at.Chart != nil {
			line += " with " + at.Chart.Name()
		}
		w.seen = append(w.seen, line+"; the cluster has "+w.cluster.contents())
		if !e.Mutable().Has(event.Objects) {
			at.Objects = nil // changes nothing
			return nil
		}
		name := strings.ReplaceAll(e.Name(), "-", "")
		more, err := manifest.Parse("web/templates/"+name+".yaml", configMaps(name+"=1"))
		at.Objects = append(slices.Clone(at.Objects), more...)
		return err
	})
}

func watched(t *testing.T, c string) *eventRecorder {
	w := &eventRecorder{testCase: installedCase(t, c), ops: map[*event.Operation]bool{}}
	watch[*event.ChartLoaded](w)
	watch[*event.PreRender](w)
	watch[*event.PostRender](w)
	watch[*event.PreInstall](w)
	watch[*event.PostInstall](w)
	watch[*event.PreUpgrade](w)
	watch[*event.PostUpgrade](w)
	watch[*event.PreRollback](w)
	watch[*event.PostRollback](w)
	watch[*event.PreDelete](w)
	watch[*event.PostDelete](w)
	return w
}

// saw checks the payloads of the events of one operation.
func (w *eventRecorder) saw(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(w.seen, want) {
		t.Errorf("events =\n  %s\nwant\n  %s", strings.Join(w.seen, "\n  "), strings.Join(want, "\n  "))
	}
	if len(w.ops) != 1 {
		t.Errorf("events of %d operations, want 1", len(w.ops))
	}
	w.seen, w.ops = nil, map[*event.Operation]bool{}
}

// Objects that handlers set in events before writing are rendered, recorded, applied, and
// later deleted. Changes in events after writing have no effect.
func TestEventsOfLifecycle(t *testing.T) {
	w := watched(t, configMaps("a=1"))
	if _, err := w.runUpgrade(t, configMaps("a=2")+objectText("Job", "h", "helm.sh/hook", "pre-upgrade")); err != nil {
		t.Fatal(err)
	}
	const made = "ConfigMap/prerender ConfigMap/postrender ConfigMap/preupgrade"
	w.saw(t,
		"chart-loaded [] with web; the cluster has ConfigMap/a=1",
		"pre-render [] with web; the cluster has ConfigMap/a=1",
		"post-render [ConfigMap/a ConfigMap/prerender Job/h] with web; the cluster has ConfigMap/a=1",
		"pre-upgrade [ConfigMap/a ConfigMap/prerender ConfigMap/postrender Job/h] pending-upgrade with web; the cluster has ConfigMap/a=1",
		"post-upgrade [ConfigMap/a ConfigMap/prerender ConfigMap/postrender ConfigMap/preupgrade Job/h] pending-upgrade with web; "+
			"the cluster has ConfigMap/a=2 ConfigMap/postrender=1 ConfigMap/prerender=1 ConfigMap/preupgrade=1",
	)
	for _, name := range strings.Fields(made) {
		if !strings.Contains(w.records.kept["web.v2"].Manifest, "name: "+strings.TrimPrefix(name, "ConfigMap/")) {
			t.Errorf("%s is not recorded", name)
		}
	}
	if _, err := w.runRollback(t, 1); err != nil {
		t.Fatal(err)
	}
	w.saw(t,
		"pre-rollback [ConfigMap/a] pending-rollback; the cluster has ConfigMap/a=2 ConfigMap/postrender=1 ConfigMap/prerender=1 ConfigMap/preupgrade=1",
		"post-rollback [ConfigMap/a ConfigMap/prerollback] pending-rollback; the cluster has ConfigMap/a=1 ConfigMap/prerollback=1",
	)
	if _, err := w.runUninstall(t); err != nil {
		t.Fatal(err)
	}
	w.saw(t,
		"pre-delete [] deployed; the cluster has ConfigMap/a=1 ConfigMap/prerollback=1",
		"post-delete [] uninstalling; the cluster has ",
	)
	w.request.Chart = newChart(t, "templates/a.yaml", configMaps("a=1"))
	if err := w.runInstall(); err != nil {
		t.Fatal(err)
	}
	w.saw(t,
		"chart-loaded [] with web; the cluster has ",
		"pre-render [] with web; the cluster has ",
		"post-render [ConfigMap/a ConfigMap/prerender] with web; the cluster has ",
		"pre-install [ConfigMap/a ConfigMap/prerender ConfigMap/postrender] pending-install with web; the cluster has ",
		"post-install [ConfigMap/a ConfigMap/prerender ConfigMap/postrender ConfigMap/preinstall] pending-install with web; "+
			"the cluster has ConfigMap/a=1 ConfigMap/postrender=1 ConfigMap/preinstall=1 ConfigMap/prerender=1",
	)
}

func TestUpgradeEventPayloads(t *testing.T) {
	for _, dry := range []bool{false, true} {
		s := installedCase(t, configMaps("a=1"))
		told := ""
		event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreUpgrade) error {
			o := e.Operation
			told = fmt.Sprint(o.Command, " ", o.DryRun, " ", o.Namespace, "/", o.Name, " ", o.Revision, " ", o.IsUpgrade, o.IsInstall, " ", o.Service, " ", e.Values["v"], " ", e.Release.Config)
			return nil
		})
		req := upgradeTo(t, configMaps("a={{ .Release.Revision }}{{ .Release.IsUpgrade }}{{ .Release.IsInstall }}"))
		req.Values = map[string]any{"v": 1}
		var err error
		if dry {
			_, _, err = s.upgrade().Plan(t.Context(), req)
		} else {
			_, err = s.upgrade().Run(t.Context(), req)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("upgrade %t ns/web 2 true false Helm 1 map[v:1]", dry); told != want {
			t.Errorf("got %q, want %q", told, want)
		}
		if want := map[bool]string{true: "ConfigMap/a=1", false: "ConfigMap/a=2truefalse"}[dry]; s.cluster.contents() != want {
			t.Error(s.cluster.contents())
		}
	}
}

// The events of a rollback go to the scripts of the revision that it restores.
func TestRollbackOfUpgradeEvents(t *testing.T) {
	for _, verb := range []string{"install", "upgrade"} {
		t.Run(verb, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			if verb == "install" {
				s = newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
			}
			var told []string
			event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreRollback) error {
				told = append(told, e.Operation.Command)
				return nil
			})
			event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreDelete) error {
				told = append(told, e.Operation.Command)
				return nil
			})
			runs := 0
			config := s.config()
			config.Scripts = func() ScriptRunner {
				runs++
				return loadFunc(func(context.Context, *event.ChartResolved) error { return nil })
			}
			s.fail["event post-"+verb] = errBroken
			var err error
			if verb == "upgrade" {
				u := Upgrade{config}
				req := upgradeTo(t, configMaps("a=2"))
				req.Atomic = true
				_, err = u.Run(t.Context(), req)
			} else {
				s.install.Config, s.request.Atomic = config, true
				err = s.runInstall()
			}
			want := map[string]string{"install": "[uninstall]", "upgrade": "[rollback]"}[verb]
			if err == nil || fmt.Sprint(told) != want || !s.contains("event pre-rollback") && !s.contains("event pre-delete") {
				t.Errorf("%s: %v, told %v, %q", verb, err, told, s.lines)
			}
			if want := map[string]int{"install": 2, "upgrade": 3}[verb]; runs != want { // an upgrade also asks about the scripts of a rollback
				t.Errorf("%s: scripts were made to run %d times, want %d", verb, runs, want)
			}
		})
	}
}

// A failed atomic install is uninstalled, record included, and the error says so.
func TestInstallAtomicUninstalls(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
	s.request.Atomic = true
	s.fail["event post-install"] = errBroken
	rel, err := s.install.Run(t.Context(), s.request)
	if err == nil || !strings.Contains(err.Error(), "has been uninstalled") || rel == nil || rel.Info.Status != release.Failed {
		t.Errorf("%v, %v", rel, err)
	}
	s.wantState(t, "", "")
	// CleanupOnFail deletes the objects and keeps the record.
	s.request.Atomic, s.request.CleanupOnFail = false, true
	if err := s.runInstall(); err == nil {
		t.Error("got no error")
	}
	s.wantState(t, "", "1 failed")
}
