// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// webChart returns a chart with a Service, a ConfigMap and a hook, unsorted.
func webChart(t testing.TB, more ...string) *chart.Chart {
	return newChart(t, append([]string{
		"templates/a.yaml", objectText("Service", "web") + objectText("Secret", "setup", "helm.sh/hook", "pre-install"),
		"templates/b.yaml", objectText("ConfigMap", "settings"),
		"templates/NOTES.txt", "Welcome to {{ .Release.Name }}, revision {{ .Release.Revision }}.\n",
	}, more...)...)
}

func TestInstallSteps(t *testing.T) {
	s := newTestCase(t, webChart(t))
	s.request.CreateNamespace, s.request.Wait, s.request.Jobs = true, true, true
	s.request.Labels = map[string]string{"team": "shop"}
	s.request.Values = map[string]any{"a": "b"}
	rel, err := s.install.Run(t.Context(), s.request)
	if err != nil {
		t.Fatal(err)
	}
	s.want(t,
		"lock web, install",
		"capabilities",
		"plan [ConfigMap/settings Service/web] for ns/web",
		"namespace ns",
		"create web.v1 pending-install",
		"guard web.v1",
		"event pre-install",
		"apply [ConfigMap/settings Service/web]",
		"wait [ConfigMap/settings Service/web], jobs too",
		"event post-install",
		"update web.v1 deployed",
		"unlock web",
	)
	if got := s.records.state("web", 1); got != "deployed: Install complete" {
		t.Error(got)
	}
	if rel.Info.Notes != "Welcome to web, revision 1.\n" || len(rel.Hooks) != 1 || strings.Contains(rel.Manifest, "setup") {
		t.Errorf("notes %q, hooks %v, manifest %s", rel.Info.Notes, rel.Hooks, rel.Manifest)
	}
	if !rel.Info.FirstDeployed.Equal(noon) || !rel.Info.LastDeployed.Equal(noon) || rel.Labels["team"] != "shop" || rel.Config["a"] != "b" {
		t.Errorf("%+v", rel)
	}
}

// parentChart returns a chart with an enabled and a disabled subchart.
func parentChart(t *testing.T) *chart.Chart {
	t.Helper()
	c := webChart(t, "values.yaml", "port: 80\n")
	db, off := newChart(t, "values.yaml", "size: 1\n"), newChart(t)
	db.Metadata.Name, off.Metadata.Name = "db", "unused"
	c.SetDependencies(db, off)
	c.Metadata.Dependencies = []*chart.Dependency{
		{Name: "db", Version: "1.0.0", Alias: "store"}, {Name: "unused", Version: "1.0.0", Condition: "unused.enabled"},
	}
	return c
}

func TestInstallRecordsResolvedChart(t *testing.T) {
	check := func(t *testing.T, rel *release.Release) {
		t.Helper()
		c, err := rel.Chart()
		if err != nil {
			t.Fatal(err)
		}
		list := c.Metadata.Dependencies
		if len(list) != 1 || list[0].Name != "store" || list[0].Alias != "store" || !list[0].Enabled {
			t.Errorf("the record's dependencies are %+v", list)
		}
		const defaults = "map[port:80 store:map[global:map[] size:1] unused:map[enabled:false]]"
		if got := fmt.Sprint(c.Values); got != defaults {
			t.Errorf("the record's values are %s, want %s", got, defaults)
		}
		const computed = "map[port:81 store:map[global:map[] size:1] unused:map[enabled:false]]"
		if got, err := ComputedValues(rel); err != nil || fmt.Sprint(got) != computed {
			t.Errorf("the computed values are %v (%v), want %s", got, err, computed)
		}
	}
	s := newTestCase(t, parentChart(t))
	s.request.Chart.Values["unused"] = map[string]any{"enabled": false}
	s.request.Values = map[string]any{"port": 81}
	rel, err := s.install.Run(t.Context(), s.request)
	if err != nil {
		t.Fatal(err)
	}
	check(t, rel)
	up := UpgradeRequest{Chart: s.request.Chart, Values: s.request.Values, Name: "web", Namespace: "ns"}
	if rel, err = s.upgrade().Run(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	check(t, rel)
	if s.request.Chart.Metadata.Dependencies[0].Name != "db" {
		t.Error("the loaded chart was changed")
	}
}

// Errors that end an install before anything is written.
func TestInstallInvalidWritesNothing(t *testing.T) {
	library := webChart(t)
	library.Metadata.Type = chart.TypeLibrary
	newer := webChart(t)
	newer.Metadata.KubeVersion = ">= 99"
	lacking := webChart(t)
	lacking.Metadata.Dependencies = []*chart.Dependency{{Name: "redis", Version: "1"}}
	for _, test := range []struct {
		name   string
		chart  *chart.Chart
		change func(*testCase)
		want   string
	}{
		{"the name is not a name", nil, func(s *testCase) { s.request.Name = "Web_1" }, `release name "Web_1": invalid release name`},
		{"there is no name", nil, func(s *testCase) { s.request.Name = "" }, "needs a name"},
		{"the name is taken", nil, func(s *testCase) {
			s.records.kept["web.v1"] = &release.Release{Name: "web", Revision: 1, Info: release.Info{Status: release.Deployed}}
		}, "still in use"},
		{"the chart is a library", library, nil, "not installable"},
		{"a dependency is missing", lacking, nil, "redis"},
		{"the cluster is too old", newer, nil, "requires kubeVersion"},
		{"the cluster does not answer", nil, func(s *testCase) { s.fail["capabilities"] = errBroken }, "broken"},
		{"a value has the wrong type", webChart(t, "values.schema.json", `{"properties":{"port":{"type":"integer"}}}`), func(s *testCase) {
			s.request.Values = map[string]any{"port": "eighty"}
		}, "port"},
		{"a template fails", webChart(t, "templates/c.yaml", `{{ fail "no luck" }}`), nil, "no luck"},
		{"a template renders no YAML", webChart(t, "templates/c.yaml", "a: b: c"), nil, "c.yaml"},
		{"a CRD is not YAML", webChart(t, "crds/a.yaml", "a: b: c"), nil, "crds/a.yaml"},
		{"CRDs cannot be read", webChart(t, "crds/a.yaml", crontab), func(s *testCase) {
			s.fail["missing [CustomResourceDefinition/crontabs.example.com]"] = errBroken
		}, "broken"},
		{"someone is at work", nil, func(s *testCase) { s.fail["lock web, install"] = errBroken }, "broken"},
		{"an object is someone else's", nil, func(s *testCase) {
			s.fail["plan [ConfigMap/settings Service/web] for ns/web"] = errBroken
		}, "broken"},
		{"a handler refuses the values", nil, func(s *testCase) {
			event.On(s.install.Events, "policy", 0, func(context.Context, *event.PreRender) error { return errBroken })
		}, "broken"},
		{"a handler refuses the objects", nil, func(s *testCase) {
			event.On(s.install.Events, "policy", 0, func(context.Context, *event.PostRender) error { return errBroken })
		}, "broken"},
		{"a CRD is missing and a template fails", webChart(t, "crds/a.yaml", crontab, "templates/c.yaml", `{{ fail "no luck" }}`), func(s *testCase) {
			s.cluster.missing["crontabs.example.com"] = true
		}, "no luck"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.chart == nil {
				test.chart = webChart(t)
			}
			s := newTestCase(t, test.chart)
			s.request.CreateNamespace = true
			if test.change != nil {
				test.change(s)
			}
			rel, err := s.install.Run(t.Context(), s.request)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			if rel != nil || len(s.writes()) > 0 {
				t.Errorf("returned %v, calls %q", rel, s.writes())
			}
		})
	}
}

// Any failure after the record was created is recorded as failed, with the reason.
func TestInstallFailureIsRecorded(t *testing.T) {
	for _, step := range []string{
		"event pre-install",
		"apply [ConfigMap/settings Service/web]",
		"wait [ConfigMap/settings Service/web]",
		"event post-install",
	} {
		t.Run(step, func(t *testing.T) {
			s := newTestCase(t, webChart(t))
			s.request.Wait = true
			s.fail[step] = errBroken
			rel, err := s.install.Run(t.Context(), s.request)
			if !errors.Is(err, errBroken) || rel == nil || rel.Info.Status != release.Failed {
				t.Fatalf("got %v, %v", rel, err)
			}
			got := s.records.state("web", 1)
			if !strings.HasPrefix(got, `failed: Release "web" failed: `) || !strings.HasSuffix(got, errBroken.Error()) {
				t.Error(got)
			}
		})
		t.Run(step+" interrupted", func(t *testing.T) {
			s := newTestCase(t, webChart(t))
			s.request.Wait = true
			ctx, cancel := context.WithCancel(t.Context())
			s.onStep = func(now string) {
				if now == step {
					cancel()
				}
			}
			if _, err := s.install.Run(ctx, s.request); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if got := s.records.state("web", 1); !strings.HasPrefix(got, "failed: ") || !strings.HasSuffix(got, "context canceled") {
				t.Error(got)
			}
		})
	}
}

// An install does not fail if it is canceled after its last step.
func TestInstallCanceledAtEnd(t *testing.T) {
	s := newTestCase(t, webChart(t))
	ctx, cancel := context.WithCancel(t.Context())
	s.onStep = func(step string) {
		if step == "update web.v1 deployed" {
			cancel()
		}
	}
	if _, err := s.install.Run(ctx, s.request); err != nil {
		t.Fatal(err)
	}
	if got := s.records.state("web", 1); got != "deployed: Install complete" {
		t.Error(got)
	}
}

func TestInstallCreateRecordError(t *testing.T) {
	s := newTestCase(t, webChart(t))
	s.fail["create web.v1 pending-install"] = errBroken
	if _, err := s.install.Run(t.Context(), s.request); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "record revision 1 of release web: ") {
		t.Error(err)
	}
	if got := s.writes(); len(got) != 1 {
		t.Errorf("continued with %q", got)
	}
}

func newRevision(revision int, status release.Status) *release.Release {
	return &release.Release{Name: "web", Namespace: "ns", Revision: revision, Info: release.Info{Status: status}}
}

func TestInstallNameInUse(t *testing.T) {
	for _, status := range release.Statuses() {
		t.Run(string(status), func(t *testing.T) {
			may := status == release.Uninstalled || status == release.Failed
			// The client that worked on those is not running.
			left := status.Pending() || status == release.Uninstalling
			for _, reuse := range []bool{false, true} {
				s := newTestCase(t, webChart(t), newRevision(3, status))
				s.request.Replace = reuse
				_, err := s.install.Run(t.Context(), s.request)
				if reuse && may || left {
					was := "superseded: superseded by new release"
					if left {
						was = "failed: " + pendingOperation(status) + " was interrupted: its client ended before it finished"
					}
					if err != nil || s.records.state("web", 3) != was || s.records.kept["web.v4"].Info.Status != release.Deployed {
						t.Errorf("reuse %t: %v; v3 %s, v4 %s", reuse, err, s.records.state("web", 3), s.records.state("web", 4))
					}
					continue
				}
				var inUse *NameInUseError
				if !errors.As(err, &inUse) || inUse.Status != status || len(s.writes()) > 0 {
					t.Errorf("reuse %t: %v, calls %q", reuse, err, s.writes())
				}
			}
		})
	}
}

func TestInstallReplaceSupersedeError(t *testing.T) {
	s := newTestCase(t, webChart(t), newRevision(1, release.Uninstalled))
	s.request.Replace = true
	s.fail["update web.v1 superseded"] = errBroken
	rel, err := s.install.Run(t.Context(), s.request)
	if !errors.Is(err, errBroken) || rel == nil {
		t.Fatalf("got %v, %v", rel, err)
	}
	if got := s.records.state("web", 2); !strings.HasPrefix(got, "failed: ") {
		t.Errorf("the new record's state is %s", got)
	}
}

func TestInstallConcurrent(t *testing.T) {
	d := &callLog{}
	recs, chart := newFakeRecords(d), webChart(t)
	// Both look before either writes.
	var looked sync.WaitGroup
	looked.Add(2)
	d.onStep = func(step string) {
		if strings.HasPrefix(step, "create web.v1 ") {
			looked.Done()
			looked.Wait()
		}
	}
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := Install{&Config{Cluster: newFakeCluster(d), Releases: recs, Locker: &fakeLocker{callLog: d}, hooks: noHooks{}}}.Run(t.Context(), InstallRequest{Chart: chart, Name: "web", Namespace: "ns"})
			errs <- err
		}()
	}
	a, b := <-errs, <-errs
	if a == nil {
		a, b = b, a
	}
	var inUse *NameInUseError
	if b != nil || !errors.As(a, &inUse) || !strings.Contains(a.Error(), "by another client") {
		t.Errorf("got %v and %v", a, b)
	}
	applied := 0
	for _, l := range d.lines {
		if strings.HasPrefix(l, "apply ") {
			applied++
		}
	}
	if applied != 1 {
		t.Errorf("applied %d times", applied)
	}
}

const crontab = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.example.com
spec:
  group: example.com
  names: {kind: CronTab, plural: crontabs}
  versions:
  - {name: v1, served: true}
  - {name: v0, served: false}
`

const tab = "---\napiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: tab}\n"

func TestInstallMissingCRDs(t *testing.T) {
	c := newChart(t, "crds/tab.yaml", crontab,
		"templates/a.yaml", `{{ if .Capabilities.APIVersions.Has "example.com/v1/CronTab" }}`+tab+`{{ end }}`,
		"templates/b.yaml", `{{ if not (lookup "example.com/v1" "CronTab" "ns" "old") }}`+objectText("ConfigMap", "none")+`{{ end }}`,
		"templates/c.yaml", `{{ if eq (lookup "example.com/v1" "CronTab" "ns" "").kind "CronTabList" }}`+objectText("ConfigMap", "list")+`{{ end }}`,
		"templates/d.yaml", `{{ if (lookup "v1" "Secret" "ns" "old").found }}`+objectText("ConfigMap", "secret")+`{{ end }}`)
	s := newTestCase(t, c)
	s.cluster.missing["crontabs.example.com"] = true
	s.cluster.objects = map[string]map[string]any{"Secret/old": {"found": true}}
	if _, err := s.install.Run(t.Context(), s.request); err != nil {
		t.Fatal(err)
	}
	s.want(t,
		"lock web, install",
		"capabilities",
		"missing [CustomResourceDefinition/crontabs.example.com]",
		"lookup Secret/old", // no lookups of kinds that the cluster does not serve yet
		"plan [ConfigMap/list ConfigMap/none ConfigMap/secret] for ns/web", // nor for objects of them
		"crds [CustomResourceDefinition/crontabs.example.com]",
		"create web.v1 pending-install",
		"guard web.v1",
		"event pre-install",
		"plan [ConfigMap/list ConfigMap/none ConfigMap/secret CronTab/tab] for ns/web",
		"apply [ConfigMap/list ConfigMap/none ConfigMap/secret CronTab/tab]",
		"event post-install",
		"update web.v1 deployed",
		"unlock web",
	)
}

// Objects that a handler changes at pre-install are validated, recorded and applied.
func TestPreInstallChangesObjects(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", objectText("ConfigMap", "a")))
	event.On(s.install.Events, "test", 0.5, func(_ context.Context, e *event.PreInstall) error {
		if e.Release.Info.Status != release.PendingInstall || len(e.Objects) != 1 || e.Operation.DryRun {
			t.Errorf("%+v", e)
		}
		more, err := manifest.Parse("test", objectText("Secret", "b")+objectText("Job", "c", "helm.sh/hook", "pre-install"))
		e.Objects = append(e.Objects, more...)
		return err
	})
	rel, err := s.install.Run(t.Context(), s.request)
	if err != nil {
		t.Fatal(err)
	}
	s.want(t,
		"lock web, install",
		"capabilities",
		"plan [Secret/b ConfigMap/a] for ns/web",
		"create web.v1 pending-install",
		"guard web.v1",
		"event pre-install",
		"apply [Secret/b ConfigMap/a]",
		"event post-install",
		"update web.v1 deployed",
		"unlock web",
	)
	if len(rel.Hooks) != 1 || rel.Hooks[0].Name != "c" || !strings.Contains(rel.Manifest, "name: b") {
		t.Errorf("%v\n%s", rel.Hooks, rel.Manifest)
	}
}

func TestPreInstallErrorWritesNothing(t *testing.T) {
	s := newTestCase(t, webChart(t))
	s.request.CreateNamespace = true
	event.On(s.install.Events, "policy", 1, func(context.Context, *event.PreInstall) error { return errBroken })
	if rel, err := s.install.Run(t.Context(), s.request); !errors.Is(err, errBroken) || rel != nil || len(s.writes()) > 0 {
		t.Errorf("%v, %v, calls = %q", rel, err, s.writes())
	}
}

func TestInstallExistingCRDs(t *testing.T) {
	c := newChart(t, "crds/tab.yaml", crontab, "templates/a.yaml", objectText("ConfigMap", "a"))
	for _, skip := range []bool{false, true} {
		s := newTestCase(t, c)
		if skip {
			s.request.CRDs = CRDSkip
		}
		s.cluster.missing["crontabs.example.com"] = skip
		if _, err := s.install.Run(t.Context(), s.request); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(s.lines, "\n"), "\ncrds ") {
			t.Errorf("skip %t: %q", skip, s.lines)
		}
	}
}

func TestInstallPlanWritesNothing(t *testing.T) {
	s := newTestCase(t, webChart(t, "crds/tab.yaml", crontab, "templates/c.yaml", tab))
	s.cluster.missing["crontabs.example.com"] = true
	s.request.CreateNamespace, s.request.Wait, s.request.TakeOwnership = true, true, true
	change, rendered, err := s.install.Plan(t.Context(), s.request)
	if err != nil {
		t.Fatal(err)
	}
	s.want(t, "capabilities", "missing [CustomResourceDefinition/crontabs.example.com]", "plan [ConfigMap/settings Service/web] for ns/web, taking")
	rel := change.To
	if change.CRDs == nil || change.CRDs.Changes() != 1 || change.CRDs.Steps[0].Action != plan.Create || change.CRDs.Steps[0].Name != "crontabs.example.com" {
		t.Errorf("the plan of CRDs is %+v", change.CRDs)
	}
	if change.From != nil || change.Plan.Changes() != 3 || len(change.Hooks) != 1 || change.Hooks[0].Action != plan.Create {
		t.Errorf("%+v", change)
	}
	if rel.Info.Description != "Dry run complete" || rel.Revision != 1 || names(rendered.Objects) != "[ConfigMap/settings Service/web CronTab/tab]" {
		t.Errorf("%+v, %s", rel.Info, names(rendered.Objects))
	}
	if len(s.cluster.caps.APIVersions) != len(newFakeCluster(nil).caps.APIVersions) {
		t.Error("the cluster's own capabilities were changed")
	}
}

func TestInstallPlanWithoutCluster(t *testing.T) {
	c := webChart(t, "templates/c.yaml", `{{ lookup "v1" "Secret" "" "" | toJson | printf "# %s" }}`)
	change, _, err := Install{}.Plan(t.Context(), InstallRequest{Chart: c, Name: "web", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	if rel := change.To; change.Plan != nil || rel.Info.Status != release.PendingInstall || rel.Info.LastDeployed.IsZero() {
		t.Errorf("%v, %v", change.Plan, rel)
	}
}

func TestHandlersChangeValuesAndObjects(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", "{{ if .Values.on }}"+objectText("ConfigMap", "{{ .Values.name }}")+"{{ end }}"))
	event.On(s.install.Events, "values", 0, func(_ context.Context, e *event.PreRender) error {
		e.Values = map[string]any{"on": true, "name": "changed"}
		return nil
	})
	event.On(s.install.Events, "objects", 0, func(_ context.Context, e *event.PostRender) error {
		more, err := manifest.Parse("added", objectText("Secret", "added"))
		e.Objects = append(e.Objects, more...)
		return err
	})
	if _, err := s.install.Run(t.Context(), s.request); err != nil {
		t.Fatal(err)
	}
	if got := s.writes()[2]; got != "apply [Secret/added ConfigMap/changed]" {
		t.Error(got)
	}
}

func TestInstallDescription(t *testing.T) {
	s := newTestCase(t, webChart(t))
	s.request.Description = "for Anna"
	if _, err := s.install.Run(t.Context(), s.request); err != nil || s.records.state("web", 1) != "deployed: for Anna" {
		t.Error(err, s.records.state("web", 1))
	}
}
