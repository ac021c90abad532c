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

// watcher writes down what each event shows, and meddles with it.
type watcher struct {
	*story
	seen []string
	ops  map[*event.Operation]bool
}

// watch answers events of one type: it notes what they show, and then adds an
// object to it and takes all others away.
func watch[E event.Event](w *watcher) {
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
		w.seen = append(w.seen, line+"; the cluster has "+w.cluster.has())
		if !e.Mutable().Has(event.Objects) {
			at.Objects = nil // changes nothing
			return nil
		}
		name := strings.ReplaceAll(e.Name(), "-", "")
		more, err := manifest.Parse("web/templates/"+name+".yaml", conf(name+"=1"))
		at.Objects = append(slices.Clone(at.Objects), more...)
		return err
	})
}

func watched(t *testing.T, c string) *watcher {
	w := &watcher{story: installed(t, c), ops: map[*event.Operation]bool{}}
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

// saw checks what the events have shown, all of one operation.
func (w *watcher) saw(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(w.seen, want) {
		t.Errorf("saw\n  %s\nwanted\n  %s", strings.Join(w.seen, "\n  "), strings.Join(want, "\n  "))
	}
	if len(w.ops) != 1 {
		t.Errorf("of %d operations", len(w.ops))
	}
	w.seen, w.ops = nil, map[*event.Operation]bool{}
}

// What a handler of an event before the writing leaves is rendered, recorded,
// applied, and later removed; the events after it show that, and change nothing.
func TestEventsOfALife(t *testing.T) {
	w := watched(t, conf("a=1"))
	if _, err := w.up(t, conf("a=2")+kind("Job", "h", "helm.sh/hook", "pre-upgrade")); err != nil {
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
	if _, err := w.back(t, 1); err != nil {
		t.Fatal(err)
	}
	w.saw(t,
		"pre-rollback [ConfigMap/a] pending-rollback; the cluster has ConfigMap/a=2 ConfigMap/postrender=1 ConfigMap/prerender=1 ConfigMap/preupgrade=1",
		"post-rollback [ConfigMap/a ConfigMap/prerollback] pending-rollback; the cluster has ConfigMap/a=1 ConfigMap/prerollback=1",
	)
	if _, err := w.away(t); err != nil {
		t.Fatal(err)
	}
	w.saw(t,
		"pre-delete [] deployed; the cluster has ConfigMap/a=1 ConfigMap/prerollback=1",
		"post-delete [] uninstalling; the cluster has ",
	)
	w.request.Chart = newChart(t, "templates/a.yaml", conf("a=1"))
	if err := w.put(); err != nil {
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

// What events tell about the operation.
func TestWhatHandlersLearnOfAnUpgrade(t *testing.T) {
	for _, dry := range []bool{false, true} {
		s := installed(t, conf("a=1"))
		told := ""
		event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreUpgrade) error {
			o := e.Operation
			told = fmt.Sprint(o.Command, " ", o.DryRun, " ", o.Namespace, "/", o.Name, " ", o.Revision, " ", o.IsUpgrade, o.IsInstall, " ", o.Service, " ", e.Values["v"], " ", e.Release.Config)
			return nil
		})
		req := to(t, conf("a={{ .Release.Revision }}{{ .Release.IsUpgrade }}{{ .Release.IsInstall }}"))
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
			t.Errorf("told %q, wanted %q", told, want)
		}
		if want := map[bool]string{true: "ConfigMap/a=1", false: "ConfigMap/a=2truefalse"}[dry]; s.cluster.has() != want {
			t.Error(s.cluster.has())
		}
	}
}

// Who answers the events of an undoing is someone else: the scripts of another
// chart.
func TestAnUndoingHasItsOwnAnswers(t *testing.T) {
	for _, verb := range []string{"install", "upgrade"} {
		t.Run(verb, func(t *testing.T) {
			s := installed(t, conf("a=1"))
			if verb == "install" {
				s = newStory(t, newChart(t, "templates/a.yaml", conf("a=1")))
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
				return scriptsThat(func(context.Context, *event.ChartResolved) error { return nil })
			}
			s.fail["event post-"+verb] = errBroken
			var err error
			if verb == "upgrade" {
				u := Upgrade{config}
				req := to(t, conf("a=2"))
				req.Atomic = true
				_, err = u.Run(t.Context(), req)
			} else {
				s.install.Config, s.request.Atomic = config, true
				err = s.put()
			}
			want := map[string]string{"install": "[uninstall]", "upgrade": "[rollback]"}[verb]
			if err == nil || fmt.Sprint(told) != want || !s.did("event pre-rollback") && !s.did("event pre-delete") {
				t.Errorf("%s: %v, told %v, %q", verb, err, told, s.lines)
			}
			if want := map[string]int{"install": 2, "upgrade": 3}[verb]; runs != want { // an upgrade asks about those that it may go back to
				t.Errorf("%s: scripts were made to run %d times, want %d", verb, runs, want)
			}
		})
	}
}

// An atomic install leaves nothing, not even a record, and says both.
func TestAnAtomicInstallLeavesNothing(t *testing.T) {
	s := newStory(t, newChart(t, "templates/a.yaml", conf("a=1")))
	s.request.Atomic = true
	s.fail["event post-install"] = errBroken
	rel, err := s.install.Run(t.Context(), s.request)
	if err == nil || !strings.Contains(err.Error(), "has been uninstalled") || rel == nil || rel.Info.Status != release.Failed {
		t.Errorf("%v, %v", rel, err)
	}
	s.wantState(t, "", "")
	// A cleanup takes the objects away and leaves the record.
	s.request.Atomic, s.request.CleanupOnFail = false, true
	if err := s.put(); err == nil {
		t.Error("it did not fail")
	}
	s.wantState(t, "", "1 failed")
}
