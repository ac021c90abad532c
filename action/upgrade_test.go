// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// The new revision is pending before any object is written. It is deployed before the old one
// is superseded, so that there is always a deployed revision.
func TestUpgradeSteps(t *testing.T) {
	s := installedCase(t, configMaps("a=1", "b=1"))
	rel, err := s.runUpgrade(t, configMaps("a=2", "c=1"), func(r *UpgradeRequest) { r.Wait, r.Jobs, r.Legacy = true, true, true })
	if err != nil {
		t.Fatal(err)
	}
	s.want(t,
		"lock web, upgrade",
		"capabilities",
		"plan [ConfigMap/a ConfigMap/c] for ns/web",
		"create web.v2 pending-upgrade",
		"guard web.v2",
		"event pre-upgrade",
		"apply [ConfigMap/a ConfigMap/c]",
		"delete [ConfigMap/b]",
		"wait [ConfigMap/a ConfigMap/c], jobs too, as Helm 3",
		"event post-upgrade",
		"update web.v2 deployed",
		"update web.v1 superseded",
		"unlock web",
	)
	s.wantState(t, "ConfigMap/a=2 ConfigMap/c=1", "1 superseded, 2 deployed")
	if i := rel.Info; i.Description != "Upgrade complete" || !i.LastDeployed.Equal(noon) || !i.FirstDeployed.Equal(noon.Add(-time.Hour)) {
		t.Errorf("%+v", i)
	}
	if kept := s.records.kept["web.v2"]; kept.Holder != "" || kept.PendingDeletions != nil || s.records.state("web", 1) != "superseded: Install complete" {
		t.Errorf("holder %q, pending deletions %v, v1 %s", kept.Holder, kept.PendingDeletions, s.records.state("web", 1))
	}
}

// The pending record has the holder of the lock and the pending deletions.
func TestUpgradePendingRecord(t *testing.T) {
	s := installedCase(t, configMaps("a=1", "b=1"))
	var pending *release.Release
	s.onStep = func(step string) {
		if strings.HasPrefix(step, "apply ") {
			pending = s.records.kept["web.v2"]
		}
	}
	if _, err := s.runUpgrade(t, configMaps("a=2")); err != nil {
		t.Fatal(err)
	}
	if pending.Info.Status != release.PendingUpgrade || pending.Holder != "anna" || !strings.Contains(pending.Manifest, `v: "2"`) {
		t.Errorf("%+v", pending)
	}
	if want := (release.PendingDeletion{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "b"}); len(pending.PendingDeletions) != 1 || pending.PendingDeletions[0] != want {
		t.Errorf("pending deletions %v", pending.PendingDeletions)
	}
}

func TestUpgradeUnchanged(t *testing.T) {
	s := installedCase(t, configMaps("a=1")+objectText("Service", "web"))
	if _, err := s.runUpgrade(t, configMaps("a=1")+objectText("Service", "web")); err != nil {
		t.Fatal(err)
	}
	s.wantWrites(t, "create web.v2 pending-upgrade", "event pre-upgrade", "event post-upgrade", "update web.v2 deployed", "update web.v1 superseded")
}

// Fields of other clients are kept, and changes by other clients to the release's fields are
// reverted.
func TestUpgradeMerges(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	live := maps.Clone(s.cluster.live["ConfigMap/a"])
	live["data"] = map[string]any{"v": "0", "theirs": "x"}
	s.cluster.live["ConfigMap/a"] = live
	if _, err := s.runUpgrade(t, configMaps("a=1")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.cluster.live["ConfigMap/a"]["data"]); got != "map[theirs:x v:1]" {
		t.Error(got)
	}
}

func TestUpgradeKeepPolicy(t *testing.T) {
	s := installedCase(t, configMaps("a=1")+objectText("Secret", "s", release.PolicyAnnotation, "keep"))
	if _, err := s.runUpgrade(t, configMaps("a=1")); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=1 Secret/s", "1 superseded, 2 deployed")
}

// Lists merge by their keys with the reused values too, and the record says so: it lacks the schema of
// the subchart.
func TestUpgradeMergesLists(t *testing.T) {
	sub := newChart(t, "values.yaml", "users: [{name: a, x: 1}, {name: b}]\n")
	sub.Metadata = &chart.Metadata{APIVersion: "v2", Name: "db", Version: "1.0.0"}
	sub.Schema = []byte(`{"properties": {"users": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}}}`)
	c := newChart(t, "templates/a.yaml", configMaps("a={{ .Values.db.users }}"))
	c.Metadata.Dependencies = []*chart.Dependency{{Name: "db", Version: "1.0.0"}}
	c.SetDependencies(sub)
	parse := func(text string) map[string]any {
		vals, err := values.Parse("v", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return vals
	}
	for _, reuse := range []Reuse{ReuseValues, ResetThenReuse} {
		t.Run(fmt.Sprint(reuse), func(t *testing.T) {
			s := newTestCase(t, c)
			s.request.Values = parse("db: {users: [{name: c}, {name: a, $patch: delete}]}")
			s.mustSucceed(t, s.runInstall())
			req := upgradeTo(t, "")
			req.Chart, req.Reuse, req.Values = c, reuse, parse("db: {users: [{name: c, z: 2}]}")
			rel, err := s.upgrade().Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			const want = "[map[name:b] map[name:c z:2]]"
			text, err := json.Marshal(rel)
			if err != nil {
				t.Fatal(err)
			}
			var read release.Release
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			got, err := ComputedValues(&read)
			if err != nil || fmt.Sprint(got["db"].(map[string]any)["users"]) != want {
				t.Errorf("got the values %v, %v; want the users %s", got, err, want)
			}
			if !strings.Contains(rel.Manifest, want) {
				t.Errorf("got %s, want %s in it", rel.Manifest, want)
			}
		})
	}
}

// Helm 3.22 and 4.3.1 (observed): which revision's values and labels are reused, and how. The
// chart's default of a is d; it was 1 in revision 1, which is deployed, and 2 in revision 2,
// which failed.
func TestUpgradeReuse(t *testing.T) {
	template := `{{ with .Values.n }}# n` + "\n{{ end }}" + configMaps("a={{ .Values.a }}", "new={{ .Values.new }}")
	table := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	old := table("a", 1, "m", table("x", 5), "n", table("k", 1))
	for _, test := range []struct {
		name   string
		reuse  Reuse
		values map[string]any
		config string
		has    string
	}{
		{"nothing given", ReuseIfNone, nil, "map[a:1 m:map[x:5] n:map[k:1]]", "ConfigMap/a=1 ConfigMap/new=there"},
		{"something given", ReuseIfNone, table("m", table("x", 1)), "map[m:map[x:1]]", "ConfigMap/a=d2 ConfigMap/new=there"},
		{"reset", ResetValues, nil, "map[]", "ConfigMap/a=d2 ConfigMap/new=there"},
		{"reset and given", ResetValues, table("q", 1), "map[q:1]", "ConfigMap/a=d2 ConfigMap/new=there"},
		{"reuse", ReuseValues, nil, "map[a:1 m:map[x:5] n:map[k:1]]", "ConfigMap/a=1 ConfigMap/new="},
		{"reuse and given", ReuseValues, table("m", table("y", 7), "n", nil), "map[a:1 m:map[x:5 y:7]]", "ConfigMap/a=1 ConfigMap/new="},
		// Helm records the same.
		{"reuse, null removes", ReuseValues, table("a", nil), "map[m:map[x:5] n:map[k:1]]", "ConfigMap/a=d ConfigMap/new="},
		{"reset, then reuse", ResetThenReuse, table("n", table("q", 3)), "map[a:1 m:map[x:5] n:map[k:1 q:3]]", "ConfigMap/a=1 ConfigMap/new=there"},
		{"reset, then reuse, null removes", ResetThenReuse, table("a", nil, "m", nil), "map[n:map[k:1]]", "ConfigMap/a=d2 ConfigMap/new=there"},
		{"reset, then reuse, null removes the default", ResetThenReuse, table("new", nil), "map[a:1 m:map[x:5] n:map[k:1] new:<nil>]", "ConfigMap/a=1 ConfigMap/new="},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", template, "values.yaml", "a: d\nm: {x: 1, y: 2}\n"))
			s.request.Values = old
			s.mustSucceed(t, s.runInstall())
			req := upgradeTo(t, template)
			req.Chart = newChart(t, "templates/a.yaml", template, "values.yaml", "a: d2\nm: {x: 10, y: 20}\nnew: there\n")
			req.Values = table("a", 2)
			s.mustFailAt(t, "event pre-upgrade", func() error {
				_, err := s.upgrade().Run(t.Context(), req)
				return err
			})
			req.Reuse, req.Values = test.reuse, test.values
			rel, err := s.upgrade().Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(rel.Config); got != test.config {
				t.Errorf("recorded %s, want %s", got, test.config)
			}
			s.wantState(t, test.has, "1 superseded, 2 failed, 3 deployed")
			if fmt.Sprint(old) != "map[a:1 m:map[x:5] n:map[k:1]]" || req.Chart.Values["a"] != "d2" {
				t.Error("the request's values were changed")
			}
		})
	}
}

// If no revision was ever deployed, the values of the failed one are reused.
func TestUpgradeReuseFailedInstall(t *testing.T) {
	template := configMaps("a={{ .Values.a }}")
	s := newTestCase(t, newChart(t, "templates/a.yaml", template))
	s.request.Values = map[string]any{"a": "mine"}
	s.mustFailAt(t, "apply [ConfigMap/a]", s.runInstall)
	if _, err := s.runUpgrade(t, template, func(r *UpgradeRequest) { r.Reuse = ResetThenReuse }); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=mine", "1 failed, 2 deployed")
}

// Labels are those of the last revision, whatever its status, as with Helm.
func TestUpgradeLabels(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
	s.request.Labels = map[string]string{"team": "shop", "x": "1"}
	s.mustSucceed(t, s.runInstall())
	s.mustFailAt(t, "event pre-upgrade", func() error {
		_, err := s.runUpgrade(t, configMaps("a=1"), func(r *UpgradeRequest) { r.Labels = map[string]string{"team": "other", "y": "2"} })
		return err
	})
	if _, err := s.runUpgrade(t, configMaps("a=1"), func(r *UpgradeRequest) { r.Labels = map[string]string{"x": "null", "none": "null"} }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.records.kept["web.v3"].Labels); got != "map[team:other y:2]" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.records.kept["web.v1"].Labels); got != "map[team:shop x:1]" {
		t.Error("the first revision's labels are", got)
	}
}

func TestUpgradeDescription(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	if _, err := s.runUpgrade(t, configMaps("a=2"), func(r *UpgradeRequest) { r.Description = "for Anna" }); err != nil || s.records.state("web", 2) != "deployed: for Anna" {
		t.Error(err, s.records.state("web", 2))
	}
}

// The apply method is that of the last revision unless the request sets one, and is recorded.
func TestUpgradeKeepsApplyMethod(t *testing.T) {
	on, off := true, false
	s := installedCase(t, configMaps("a=1"))
	for i, step := range []struct {
		asked *bool
		want  string
	}{{nil, release.ApplyClientSide}, {&on, release.ApplyServerSide}, {nil, release.ApplyServerSide}, {&off, release.ApplyClientSide}} {
		rel, err := s.runUpgrade(t, configMaps("a="+fmt.Sprint(i)), func(r *UpgradeRequest) { r.ServerSide = step.asked })
		if err != nil || rel.ApplyMethod != step.want {
			t.Errorf("step %d: %s, %v", i, rel.ApplyMethod, err)
		}
		how := map[bool]string{true: ", server-side"}[step.want == release.ApplyServerSide]
		if !s.contains("plan [ConfigMap/a] for ns/web" + how) {
			t.Errorf("step %d: %q", i, s.lines)
		}
		s.reset()
	}
}

func TestUpgradeNoRelease(t *testing.T) {
	for name, have := range map[string]*release.Release{"nothing": nil, "an uninstalled one": newRevision(1, release.Uninstalled)} {
		t.Run(name, func(t *testing.T) {
			s := newTestCase(t, nil)
			if have != nil {
				s = newTestCase(t, nil, have)
			}
			_, err := s.runUpgrade(t, configMaps("a=1"))
			var none *NoReleaseError
			if !errors.As(err, &none) || none.Uninstalled != (have != nil) || len(s.writes()) > 0 || s.locker.held {
				t.Errorf("%s: %v, calls = %q", name, err, s.writes())
			}
			if errors.Is(err, storage.ErrNotFound) != (have == nil) {
				t.Errorf("%s: upgrade --install must know: %v", name, err)
			}
		})
	}
}

// Errors that end an upgrade before anything is written.
func TestUpgradeInvalidWritesNothing(t *testing.T) {
	library := newChart(t)
	library.Metadata.Type = chart.TypeLibrary
	for _, test := range []struct {
		name   string
		change func(*testCase, *UpgradeRequest)
		want   string
	}{
		{"the name is not a name", func(_ *testCase, r *UpgradeRequest) { r.Name = "Web_1" }, "is invalid"},
		{"someone is at work", func(s *testCase, _ *UpgradeRequest) { s.fail["lock web, upgrade"] = errBroken }, "broken"},
		{"the chart is a library", func(_ *testCase, r *UpgradeRequest) { r.Chart = library }, "not installable"},
		{"the cluster does not answer", func(s *testCase, _ *UpgradeRequest) { s.fail["capabilities"] = errBroken }, "broken"},
		{"a value has the wrong type", func(_ *testCase, r *UpgradeRequest) {
			r.Chart = newChart(t, "values.schema.json", `{"properties":{"port":{"type":"integer"}}}`)
			r.Values = map[string]any{"port": "eighty"}
		}, "port"},
		{"a template fails", func(_ *testCase, r *UpgradeRequest) {
			r.Chart = newChart(t, "templates/c.yaml", `{{ fail "no luck" }}`)
		}, "no luck"},
		{"an object is someone else's", func(s *testCase, _ *UpgradeRequest) { s.fail["plan [ConfigMap/a] for ns/web"] = errBroken }, "broken"},
		{"the old manifest cannot be read", func(s *testCase, _ *UpgradeRequest) { s.records.kept["web.v1"].Manifest = "a: b: c" }, "revision 1 of release web"},
		{"groups wait for each other", func(_ *testCase, r *UpgradeRequest) {
			r.Chart = newChart(t, "templates/a.yaml", grouped("a", "one", "two")+grouped("b", "two", "one"))
		}, "wait for each other"},
		{"a handler refuses the objects", func(s *testCase, _ *UpgradeRequest) {
			event.On(s.bus, "policy", 0.5, func(context.Context, *event.PreUpgrade) error { return errBroken })
		}, "broken"},
		{"the record cannot be created", func(s *testCase, _ *UpgradeRequest) {
			s.onStep = func(step string) { // noted, and then refused
				if step == "create web.v2 pending-upgrade" {
					s.records.kept["web.v2"] = newRevision(2, release.PendingUpgrade)
				}
			}
		}, "another client"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			req := upgradeTo(t, configMaps("a=2"))
			test.change(s, &req)
			rel, err := s.upgrade().Run(t.Context(), req)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			for _, w := range s.writes() {
				if w != "create web.v2 pending-upgrade" {
					t.Errorf("calls = %q", w)
				}
			}
			if rel != nil || s.cluster.contents() != "ConfigMap/a=1" || s.records.kept["web.v1"].Info.Status != release.Deployed || s.locker.held {
				t.Errorf("returned %v, left objects %s, history %s", rel, s.cluster.contents(), s.records.history())
			}
		})
	}
}

// Any failure after the record was created is recorded as failed, with the reason, and the old
// revision stays deployed.
func TestUpgradeFailureIsRecorded(t *testing.T) {
	for _, step := range []string{
		"event pre-upgrade",
		"apply [ConfigMap/a ConfigMap/c]",
		"delete [ConfigMap/b]",
		"wait [ConfigMap/a ConfigMap/c]",
		"event post-upgrade",
	} {
		for _, interrupt := range []bool{false, true} {
			t.Run(fmt.Sprint(step, " ", interrupt), func(t *testing.T) {
				s := installedCase(t, configMaps("a=1", "b=1"))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
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
				req := upgradeTo(t, configMaps("a=2", "c=1"))
				req.Wait = true
				rel, err := s.upgrade().Run(ctx, req)
				if err == nil || rel == nil || rel.Info.Status != release.Failed || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %v, %v", rel, err)
				}
				got := s.records.state("web", 2)
				if !strings.HasPrefix(got, `failed: Upgrade "web" failed: `) || !strings.HasSuffix(got, want) {
					t.Error(got)
				}
				if kept := s.records.kept["web.v2"]; kept.Holder != "" || len(kept.PendingDeletions) != 1 {
					t.Errorf("holder %q, pending deletions %v", kept.Holder, kept.PendingDeletions)
				}
				if got := s.records.history(); got != "1 deployed, 2 failed" || s.locker.held {
					t.Error(got)
				}
				// The next upgrade succeeds.
				s.onStep, s.fail = nil, nil
				if _, err := s.runUpgrade(t, configMaps("a=3")); err != nil {
					t.Fatal(err)
				}
				s.wantState(t, "ConfigMap/a=3", "1 superseded, 2 failed, 3 deployed")
			})
		}
	}
}

// An upgrade does not fail if it is canceled after its last step.
func TestUpgradeCanceledAtEnd(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	s.onStep = func(step string) {
		if step == "update web.v2 deployed" {
			cancel()
		}
	}
	if _, err := s.upgrade().Run(ctx, upgradeTo(t, configMaps("a=2"))); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=2", "1 superseded, 2 deployed")
}

// An upgrade deletes the objects of failed revisions that it does not contain, even if their
// records have been pruned.
func TestUpgradeDeletesObjectsOfFailedRevisions(t *testing.T) {
	for _, most := range []int{0, 1, 2, 3} {
		t.Run(fmt.Sprint("history of ", most), func(t *testing.T) {
			short := func(r *UpgradeRequest) { r.MaxHistory = most }
			s := installedCase(t, configMaps("a=1", "b=1"))
			s.mustFailAt(t, "event post-upgrade", func() error { _, err := s.runUpgrade(t, configMaps("a=1", "b=1", "left=1"), short); return err })
			s.mustFailAt(t, "event pre-upgrade", func() error { _, err := s.runUpgrade(t, configMaps("a=1", "b=1"), short); return err })
			s.mustFailAt(t, "event pre-upgrade", func() error { _, err := s.runUpgrade(t, configMaps("a=1", "b=1"), short); return err })
			if most > 0 && most < 3 && s.records.kept["web.v2"] != nil {
				t.Error("the failed revision was not pruned:", s.records.history())
			}
			if s.records.kept["web.v1"] == nil || s.records.kept["web.v1"].Info.Status != release.Deployed {
				t.Error("the deployed revision was pruned:", s.records.history())
			}
			if _, err := s.runUpgrade(t, configMaps("a=1"), short); err != nil {
				t.Fatal(err)
			}
			if got := s.cluster.contents(); got != "ConfigMap/a=1" {
				t.Error(got)
			}
		})
	}
}

func TestMaxHistory(t *testing.T) {
	s := installedCase(t, configMaps("a=0"))
	for i := 1; i < 5; i++ {
		if _, err := s.runUpgrade(t, configMaps("a="+fmt.Sprint(i)), func(r *UpgradeRequest) { r.MaxHistory = 3 }); err != nil {
			t.Fatal(err)
		}
	}
	s.wantState(t, "ConfigMap/a=4", "3 superseded, 4 superseded, 5 deployed")
	// The deployed revision is kept, however many upgrades fail.
	for range 4 {
		s.mustFailAt(t, "event pre-upgrade", func() error {
			_, err := s.runUpgrade(t, configMaps("a=9"), func(r *UpgradeRequest) { r.MaxHistory = 2 })
			return err
		})
	}
	s.wantState(t, "ConfigMap/a=4", "5 deployed, 9 failed")
}

// A client that is killed before it supersedes the old revision leaves two deployed ones. The
// newer counts, and the next upgrade supersedes the older.
func TestTwoDeployedRevisions(t *testing.T) {
	s := installedCase(t, configMaps("a=1", "b=1"))
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2", "c=1"))))
	s.records.kept["web.v1"].Info.Status = release.Deployed
	s.cluster.live["ConfigMap/b"] = map[string]any{"data": map[string]any{"v": "someone's"}}
	if _, err := s.runUpgrade(t, configMaps("a=3")); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=3 ConfigMap/b=someone's", "1 superseded, 2 superseded, 3 deployed")
}

// Changes that another client has made to the old revision's record are kept, and do not fail
// the upgrade.
func TestSupersedeChangedRecord(t *testing.T) {
	for _, test := range []struct {
		name   string
		status release.Status
		want   string
	}{
		{"a note", release.Deployed, "1 superseded, 2 deployed"},
		{"another status", release.Failed, "1 failed, 2 deployed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			s.onMoment = func(moment string) {
				if moment == "updated web.v2" {
					s.records.change("web.v1", func(rel *release.Release) { rel.Info.Status, rel.Info.Notes = test.status, "another client's" })
				}
			}
			if _, err := s.runUpgrade(t, configMaps("a=2")); err != nil {
				t.Fatal(err)
			}
			s.wantState(t, "ConfigMap/a=2", test.want)
			if got := s.records.kept["web.v1"].Info.Notes; got != "another client's" {
				t.Errorf("the record's notes are %q, want the other client's", got)
			}
		})
	}
}

func errorOf[T any](_ T, err error) error { return err }

func TestUpgradePlanWritesNothing(t *testing.T) {
	s := installedCase(t, configMaps("a=1", "b=1")+objectText("Job", "old", "helm.sh/hook", "pre-upgrade"))
	req := upgradeTo(t, configMaps("a=2", "c=1")+objectText("Job", "new", "helm.sh/hook", "pre-upgrade"))
	req.ServerDryRun, req.TakeOwnership, req.Conflicts, req.ApplyOptions.ForceReplace, req.Wait = true, true, plan.Take, true, true
	change, rendered, err := s.upgrade().Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	s.want(t, "capabilities", "plan [ConfigMap/a ConfigMap/c] for ns/web, taking, forcing, replacing, predicting")
	s.wantState(t, "ConfigMap/a=1 ConfigMap/b=1", "1 deployed")
	if got := actions(change.Plan.Steps); got != "update ConfigMap/a, create ConfigMap/c, delete ConfigMap/b" {
		t.Error(got)
	}
	if got := actions(change.Hooks); got != "create Job/new, delete Job/old" {
		t.Error(got)
	}
	if change.From.Revision != 1 || change.To.Revision != 2 || change.To.Info.Description != "Dry run complete" || names(rendered.Objects) != "[ConfigMap/a ConfigMap/c]" {
		t.Errorf("%+v, %s", change, names(rendered.Objects))
	}
	// Without a cluster there is no plan.
	s.reset()
	offline := Upgrade{&Config{Releases: s.records}}
	if change, _, err := offline.Plan(t.Context(), req); err != nil || change.Plan != nil || change.To.Revision != 2 || len(s.lines) > 0 {
		t.Errorf("%+v, %v", change, err)
	}
}

func actions(steps []plan.Step) string {
	var out []string
	for _, s := range steps {
		out = append(out, string(s.Action)+" "+s.String())
	}
	return strings.Join(out, ", ")
}

// A dry run compares with the deployed revision, not with a later failed one.
func TestUpgradePlanAfterFailure(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	s.mustFailAt(t, "event pre-upgrade", func() error { return errorOf(s.runUpgrade(t, configMaps("a=2"))) })
	change, _, err := s.upgrade().Plan(t.Context(), upgradeTo(t, configMaps("a=3")))
	if err != nil || change.From.Revision != 1 || change.To.Revision != 3 {
		t.Errorf("%+v, %v", change, err)
	}
}
