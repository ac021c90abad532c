// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// upgradedCase returns a case with three revisions of a release: a=1 b=1, then a=2 c=2, then
// a=3.
func upgradedCase(t testing.TB) *testCase {
	t.Helper()
	s := installedCase(t, configMaps("a=1", "b=1"))
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2", "c=2"))))
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=3"))))
	return s
}

func TestRollbackSteps(t *testing.T) {
	s := upgradedCase(t)
	if _, err := s.runRollback(t, 0, func(r *RollbackRequest) { r.Wait = true }); err != nil {
		t.Fatal(err)
	}
	s.want(t,
		"lock web, rollback",
		"plan [ConfigMap/a ConfigMap/c] for ns/web",
		"create web.v4 pending-rollback",
		"guard web.v4",
		"event pre-rollback",
		"apply [ConfigMap/a ConfigMap/c]",
		"wait [ConfigMap/a ConfigMap/c]",
		"event post-rollback",
		"update web.v4 deployed",
		"update web.v3 superseded",
		"unlock web",
	)
	s.wantState(t, "ConfigMap/a=2 ConfigMap/c=2", "1 superseded, 2 superseded, 3 superseded, 4 deployed")
	if _, err := s.runRollback(t, 1); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=1 ConfigMap/b=1", "1 superseded, 2 superseded, 3 superseded, 4 superseded, 5 deployed")
}

// The target of a rollback is Helm's (observed), except that Helm has none for an uninstalled
// release with one revision.
func TestRollbackTarget(t *testing.T) {
	for _, test := range []struct {
		name  string
		setup func() *testCase
		asked int
		want  int // 0 if there is none
		err   string
	}{
		{"the one before", func() *testCase { return upgradedCase(t) }, 0, 2, ""},
		{"the one given", func() *testCase { return upgradedCase(t) }, 1, 1, ""},
		{"the same again", func() *testCase { return upgradedCase(t) }, 3, 3, ""},
		{"missing revision", func() *testCase { return upgradedCase(t) }, 7, 0, "release has no 7 version"},
		{"none at all", func() *testCase { return upgradedCase(t) }, -1, 0, "-1 is not a valid revision"},
		{"the only one", func() *testCase {
			s := installedCase(t, configMaps("a=1"))
			s.cluster.set("ConfigMap/a", map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"v": "0"},
			})
			return s
		}, 0, 1, ""},
		{"the only one, failed", func() *testCase {
			s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
			s.mustFailAt(t, "event post-install", s.runInstall)
			return s
		}, 0, 1, ""},
		{"no release", func() *testCase { return newTestCase(t, nil) }, 0, 0, "not found"},
		{"an uninstalled one", func() *testCase {
			s := upgradedCase(t)
			s.mustSucceed(t, errorOf(s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true })))
			return s
		}, 0, 2, ""},
		{"an uninstalled one, the newest", func() *testCase {
			s := upgradedCase(t)
			s.mustSucceed(t, errorOf(s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true })))
			return s
		}, 3, 3, ""},
		{"the only one, uninstalled", func() *testCase {
			s := installedCase(t, configMaps("a=1"))
			s.mustSucceed(t, errorOf(s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true })))
			return s
		}, 0, 1, ""},
		{"a short history", func() *testCase {
			s := upgradedCase(t)
			delete(s.records.kept, "web.v2")
			return s
		}, 0, 1, ""},
		{"a failed upgrade", func() *testCase {
			s := upgradedCase(t)
			s.mustFailAt(t, "event post-upgrade", func() error { return errorOf(s.runUpgrade(t, configMaps("a=4", "left=1"))) })
			return s
		}, 0, 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.setup()
			rel, err := s.runRollback(t, test.asked)
			if test.want == 0 {
				if err == nil || !strings.Contains(err.Error(), test.err) || len(s.writes()) > 0 {
					t.Errorf("got %v, want %q; calls = %q", err, test.err, s.writes())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			has := map[int]string{1: "ConfigMap/a=1 ConfigMap/b=1", 2: "ConfigMap/a=2 ConfigMap/c=2", 3: "ConfigMap/a=3"}[test.want]
			if strings.HasPrefix(test.name, "the only") {
				has = "ConfigMap/a=1"
			}
			if got := s.cluster.contents(); got != has || rel.Info.RollbackRevision != test.want || rel.Info.Description != fmt.Sprintf("Rollback to %d", test.want) {
				t.Errorf("the cluster has %s; release %+v", got, rel.Info)
			}
		})
	}
}

// A rollback to a failed revision restores it, as Helm does, but with
// a warning.
func TestRollbackToFailedRevisionWarns(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fails    int
		revision int
		want     string
	}{
		{"one failed", 1, 0, ""},
		{"two failed", 2, 0, "revision 2, the previous one, has failed; the last successful one is 1: helm rollback web 1"},
		{"asked for", 2, 2, "revision 2 has failed; the last successful one is 1: helm rollback web 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			s.fail["event post-upgrade"] = errBroken
			for range tc.fails {
				if _, err := s.runUpgrade(t, configMaps("a=2")); !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
			}
			var warned []string
			verb := s.rollback()
			verb.Progress = func(e progress.Event) {
				if e.Kind == progress.Warning {
					warned = append(warned, e.Text)
				}
			}
			if _, err := verb.Run(t.Context(), RollbackRequest{Name: "web", Revision: tc.revision}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(warned, "\n"); got != tc.want {
				t.Errorf("warnings = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRollbackUninstalled(t *testing.T) {
	s := upgradedCase(t)
	s.mustSucceed(t, errorOf(s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true })))
	if _, err := s.runRollback(t, 0); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=2 ConfigMap/c=2", "1 superseded, 2 superseded, 3 uninstalled, 4 deployed")
}

// The new revision has the chart, values, labels, notes, hooks, scripts and order of the
// target, and its own times.
func TestRollbackRecord(t *testing.T) {
	c := newChart(t, "templates/a.yaml", configMaps("a=1")+objectText("Job", "h", "helm.sh/hook", "post-rollback"),
		"templates/NOTES.txt", "Welcome to revision {{ .Release.Revision }}.\n", "values.yaml", "a: 1\n", chart.FileScript, "-- a script\n")
	sub := newChart(t, "templates/a.yaml", configMaps("sub=1"))
	sub.Metadata.Name = "db"
	c.SetDependencies(sub)
	c.Metadata.Annotations = map[string]string{"helm.sh/depends-on/subcharts": `["db"]`}
	s := newTestCase(t, c)
	s.clock = noon.Add(-time.Hour)
	s.request.Values = map[string]any{"mine": true}
	s.request.Labels = map[string]string{"team": "shop"}
	s.mustSucceed(t, s.runInstall())
	s.records.kept["web.v1"].Hooks[0].LastRun = release.Run{StartedAt: noon, Phase: release.PhaseSucceeded}
	s.clock = noon
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2"), func(r *UpgradeRequest) { r.Labels = map[string]string{"team": "other"} })))
	if _, err := s.runRollback(t, 1, func(r *RollbackRequest) { r.Description = "for Anna" }); err != nil {
		t.Fatal(err)
	}
	was, now := s.records.kept["web.v1"], s.records.kept["web.v3"]
	if now.Manifest != was.Manifest || fmt.Sprint(now.Config) != "map[mine:true]" || now.Labels["team"] != "shop" || now.Info.Notes != "Welcome to revision 1.\n" {
		t.Errorf("manifest %q, was %q, config %v, labels %v, notes %q", now.Manifest, was.Manifest, now.Config, now.Labels, now.Info.Notes)
	}
	if string(now.Order) != string(was.Order) || now.Order == nil {
		t.Errorf("order %s, was %s", now.Order, was.Order)
	}
	if len(now.Hooks) != 1 || now.Hooks[0].Name != "h" || !now.Hooks[0].LastRun.StartedAt.IsZero() || now.Hooks[0].Path != was.Hooks[0].Path {
		t.Errorf("hooks %+v", now.Hooks)
	}
	if sc, err := now.Scripts(); err != nil || sc == nil || len(sc.Files) != 1 {
		t.Errorf("scripts %v, %v", sc, err)
	}
	if theirs, err := now.Chart(); err != nil || theirs.Name() != "web" || fmt.Sprint(theirs.Values) != "map[a:1]" {
		t.Errorf("chart %v, %v", theirs, err)
	}
	i := now.Info
	if i.Description != "for Anna" || i.RollbackRevision != 1 || !i.FirstDeployed.Equal(noon.Add(-time.Hour)) || !i.LastDeployed.Equal(noon) || !i.Deleted.IsZero() {
		t.Errorf("%+v", i)
	}
	if again := s.records.kept["web.v1"]; again.Info.Status != release.Superseded || again.Hooks[0].LastRun.StartedAt.IsZero() {
		t.Error("the target revision has changed")
	}
}

func TestRollbackFailureIsRecorded(t *testing.T) {
	for _, step := range []string{
		"event pre-rollback", "apply [ConfigMap/a ConfigMap/b]", "wait [ConfigMap/a ConfigMap/b]", "event post-rollback",
	} {
		t.Run(step, func(t *testing.T) {
			for _, interrupt := range []bool{false, true} {
				s := installedCase(t, configMaps("a=1", "b=1"))
				s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2", "c=2"))))
				ctx, cancel := context.WithCancel(t.Context())
				want := errBroken.Error()
				if interrupt {
					want = context.Canceled.Error()
					s.onStep = func(now string) {
						if now == step {
							cancel()
						}
					}
				} else {
					s.fail[step] = errBroken
				}
				req := RollbackRequest{Name: "web", CleanupOnFail: true, UndoCancelled: interrupt}
				req.Wait = true
				rel, err := s.rollback().Run(ctx, req)
				cancel()
				if err == nil || rel == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("%s: %v, %v", step, rel, err)
				}
				if got := s.records.state("web", 3); !strings.HasPrefix(got, `failed: Rollback "web" failed: `) || !strings.HasSuffix(got, want) {
					t.Errorf("%s: %s", step, got)
				}
				if got := s.records.history(); got != "1 superseded, 2 deployed, 3 failed" || s.locker.held {
					t.Errorf("%s: %s", step, got)
				}
				if got := s.cluster.contents(); strings.Contains(got, "ConfigMap/b") {
					t.Errorf("%s: what it had created is still there: %s", step, got)
				}
			}
		})
	}
}

// Handlers of pre-rollback see the recorded objects, hooks included; their changes are
// recorded and applied. Handlers of post-rollback see the result, and their changes have no
// effect.
func TestRollbackHandlers(t *testing.T) {
	s := installedCase(t, configMaps("a=1")+objectText("Job", "h", "helm.sh/hook", "pre-rollback"))
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2"))))
	event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreRollback) error {
		op := e.Operation
		if op.Revision != 3 {
			return nil
		}
		if names(e.Objects) != "[ConfigMap/a Job/h]" || op.Command != "rollback" || e.Release.Info.Status != release.PendingRollback || e.Chart != nil {
			t.Errorf("%s %+v", names(e.Objects), op)
		}
		more, err := manifest.Parse("web/templates/more.yaml", configMaps("more=1")+objectText("Job", "h2", "helm.sh/hook", "pre-rollback"))
		e.Objects = append(e.Objects, more...)
		return err
	})
	event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PostRollback) error {
		if names(e.Objects) != "[ConfigMap/a ConfigMap/more Job/h Job/h2]" {
			t.Error(names(e.Objects))
		}
		e.Objects = nil
		return nil
	})
	rel, err := s.runRollback(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=1 ConfigMap/more=1", "1 superseded, 2 superseded, 3 deployed")
	if len(rel.Hooks) != 2 || !strings.Contains(s.records.kept["web.v3"].Manifest, "name: more") {
		t.Errorf("%v\n%s", rel.Hooks, rel.Manifest)
	}
	s.reset()
	event.On(s.bus, "policy", 0.9, func(context.Context, *event.PreRollback) error { return errBroken })
	if _, err := s.runRollback(t, 0); !errors.Is(err, errBroken) || len(s.writes()) > 0 {
		t.Errorf("%v, calls = %q", err, s.writes())
	}
}

// The scripts of the target revision handle the events.
func TestRollbackScripts(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1"), chart.FileScript, "-- old\n"))
	s.mustSucceed(t, s.runInstall())
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2"))))
	var staged []string
	event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.ChartResolved) error {
		text := "none"
		if e.Chart != nil {
			text = string(e.Chart.Files[0].Data)
		}
		staged = append(staged, e.Operation.Command+": "+text)
		return nil
	})
	if _, err := s.runRollback(t, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.runRollback(t, 2); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(staged, ", "); got != "rollback: -- old\n, rollback: none" {
		t.Errorf("%q", got)
	}
}

func TestRollbackPlanWritesNothing(t *testing.T) {
	s := upgradedCase(t)
	req := RollbackRequest{Name: "web", Revision: 1, ServerDryRun: true}
	change, err := s.rollback().Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	s.want(t, "plan [ConfigMap/a ConfigMap/b] for ns/web, predicting")
	if got := actions(change.Plan.Steps); got != "update ConfigMap/a, create ConfigMap/b" || change.From.Revision != 3 || change.To.Revision != 4 {
		t.Errorf("%s, from %d to %d", got, change.From.Revision, change.To.Revision)
	}
	s.wantState(t, "ConfigMap/a=3", "1 superseded, 2 superseded, 3 deployed")
	s.mustSucceed(t, errorOf(s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true })))
	if change, err := s.rollback().Plan(t.Context(), req); err != nil || change.From != nil || actions(change.Plan.Steps) != "create ConfigMap/a, create ConfigMap/b" {
		t.Errorf("without a release: %+v, %v", change, err)
	}
}

// An invalid record is an error before anything is written.
func TestRollbackErrors(t *testing.T) {
	s := upgradedCase(t)
	s.records.kept["web.v2"].Manifest = "a: b: c"
	if _, err := s.runRollback(t, 0); err == nil || !strings.Contains(err.Error(), "read the manifest of revision") || len(s.writes()) > 0 {
		t.Errorf("%v, calls = %q", err, s.writes())
	}
	s = upgradedCase(t)
	s.records.kept["web.v2"].Order = []byte(`7`)
	if _, err := s.runRollback(t, 0); err == nil || !strings.Contains(err.Error(), "read the order of objects") || len(s.writes()) > 0 {
		t.Errorf("%v, calls = %q", err, s.writes())
	}
}

func TestDiff(t *testing.T) {
	s := upgradedCase(t)
	other := newFakeRecords(s.callLog, &release.Release{Name: "shop", Namespace: "elsewhere", Revision: 4, Manifest: configMaps("a=3", "z=1")})
	d := Diff{Releases: s.records}
	for _, test := range []struct {
		from, to int
		want     string
	}{
		{0, 0, "2 to 3: update ConfigMap/a, delete ConfigMap/c"},
		{1, 0, "1 to 3: update ConfigMap/a, delete ConfigMap/b"},
		{0, 2, "1 to 2: update ConfigMap/a, create ConfigMap/c, delete ConfigMap/b"},
		{3, 1, "3 to 1: update ConfigMap/a, create ConfigMap/b"},
		{2, 2, "2 to 2: unchanged ConfigMap/a, unchanged ConfigMap/c"},
		{0, 1, "no revision before 1"},
		{9, 1, "release has no 9 version"},
		{1, 9, "release has no 9 version"},
	} {
		t.Run(test.want, func(t *testing.T) {
			change, err := d.Revisions(t.Context(), "web", test.from, test.to)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprintf("%d to %d: %s", change.From.Revision, change.To.Revision, actions(change.Plan.Steps))
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%d, %d: got %s, want %s", test.from, test.to, got, test.want)
			}
		})
	}
	change, err := d.Between(t.Context(), "web", other, "shop")
	if err != nil || actions(change.Plan.Steps) != "unchanged ConfigMap/a, create ConfigMap/z" {
		t.Errorf("%+v, %v", change, err)
	}
	for _, bad := range [][2]string{{"We b", "shop"}, {"web", "Sho p"}, {"no", "shop"}, {"web", "no"}} {
		if _, err := d.Between(t.Context(), bad[0], other, bad[1]); err == nil {
			t.Errorf("%q was compared", bad)
		}
	}
	if len(s.lines) > 0 {
		t.Errorf("calls = %q", s.lines)
	}
}
