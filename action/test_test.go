// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// fakeTestCluster is a cluster in which tests run.
type fakeTestCluster struct {
	Cluster
	*callLog
}

func (l fakeTestCluster) Capabilities(context.Context) (*engine.Capabilities, error) {
	return engine.DefaultCapabilities(), nil
}
func (l fakeTestCluster) Lookup(context.Context, string, string, string, string) (map[string]any, error) {
	return nil, nil
}
func (l fakeTestCluster) CheckPermissions(_ context.Context, verb string, objects []*manifest.Object, _ string, also ...apply.Permission) error {
	return l.fail[fmt.Sprintf("permissions %s %s, records %s", verb, names(objects), verbsOf(also))]
}
func (l fakeTestCluster) LiveHook(context.Context, *manifest.Object, string) (map[string]any, error) {
	return nil, nil
}
func (l fakeTestCluster) PlaceHook(_ context.Context, o *manifest.Object, namespace string) (apply.HookPlace, error) {
	if o.Kind == "ClusterRole" {
		return apply.HookPlace{Served: true}, nil
	}
	return apply.HookPlace{Served: true, Namespace: cmp.Or(o.Namespace, namespace)}, nil
}
func (l fakeTestCluster) CreateHook(ctx context.Context, o *manifest.Object, _ string) (string, error) {
	return "uid of " + o.Name, l.step(ctx, "create %s", o)
}
func (l fakeTestCluster) UpdateHook(ctx context.Context, o *manifest.Object, _, _ string) error {
	return l.step(ctx, "change %s", o)
}
func (l fakeTestCluster) DeleteHook(ctx context.Context, o *manifest.Object, _, _ string) error {
	return l.step(ctx, "delete %s", o)
}
func (l fakeTestCluster) WaitHookGone(context.Context, *manifest.Object, string, string) error {
	return nil
}
func (l fakeTestCluster) Finish(ctx context.Context, r wait.Request) error {
	return l.step(ctx, "finish %s", r.Objects[0])
}
func (l fakeTestCluster) Logs(ctx context.Context, o *manifest.Object, _ string) ([]status.Log, error) {
	return []status.Log{{Pod: o.Name, Container: "main", Text: "log of " + o.Name + "\n"}}, l.step(ctx, "logs %s", o)
}

// releaseWithTests returns a release with a test for each argument: name, weight, policies.
func releaseWithTests(tests ...string) *release.Release {
	rel := &release.Release{Name: "web", Namespace: "ns", Revision: 2, Info: release.Info{Status: release.Deployed}}
	for _, text := range tests {
		words := strings.Fields(text)
		annotations := []string{release.HookAnnotation, "test", release.HookWeightAnnotation, words[1]}
		if len(words) > 2 {
			annotations = append(annotations, release.HookDeleteAnnotation, words[2])
		}
		objs, err := manifest.Parse("web/templates/tests/"+words[0]+".yaml", objectText("Pod", words[0], annotations...))
		if err != nil {
			panic(err)
		}
		hooks, _ := release.SplitHooks(objs)
		rel.Hooks = append(rel.Hooks, hooks...)
	}
	rel.Hooks = append(rel.Hooks, &release.Hook{Name: "prepare", Kind: "Job", Events: []release.HookEvent{release.PreInstall}})
	return rel
}

// results returns the results in one line: "b Succeeded, a Failed".
func results(all []event.TestResult) string {
	var out []string
	for _, r := range all {
		out = append(out, r.Name+" "+string(r.Phase))
	}
	return strings.Join(out, ", ")
}

func TestTestOrder(t *testing.T) {
	d := &callLog{}
	recs := newFakeRecords(d, releaseWithTests("z 0", "b 0 hook-succeeded", "a 5"))
	got, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Now: atNoon}}.Run(t.Context(), TestRequest{Name: "web", Logs: true})
	if err != nil {
		t.Fatal(err)
	}
	d.want(t,
		"create Pod/b", "finish Pod/b", "logs Pod/b",
		"create Pod/z", "finish Pod/z", "logs Pod/z",
		"create Pod/a", "finish Pod/a", "logs Pod/a",
		"delete Pod/b", "update web.v2 deployed")
	if s := results(got.Results); s != "b Succeeded, z Succeeded, a Succeeded" {
		t.Error(s)
	}
	if len(got.Logs) != 3 || got.Logs[0].Text != "log of b\n" {
		t.Error(got.Logs)
	}
	for _, h := range recs.kept["web.v2"].Hooks[:3] {
		if h.LastRun.Phase != release.PhaseSucceeded || !h.LastRun.StartedAt.Equal(noon) {
			t.Errorf("%s: %+v", h.Name, h.LastRun)
		}
	}
}

// The first failure ends the tests, as with Helm; the results of earlier tests are kept.
func TestTestFailure(t *testing.T) {
	no := errors.New("no")
	d := &callLog{fail: map[string]error{"finish Pod/b": no}}
	recs := newFakeRecords(d, releaseWithTests("a 0", "b 0 hook-failed", "c 0"))
	bus := &event.Bus{}
	var events []string
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.FailedTest) error {
		events = append(events, "failed-test: "+results(e.Results))
		return nil
	})
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PostTest) error {
		events = append(events, "post-test: "+results(e.Results)+" "+e.Release.Name)
		return errors.New("post-test has its say")
	})
	got, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Events: bus, Now: atNoon}}.Run(t.Context(), TestRequest{Name: "web", Logs: true})
	var failed *HookError
	if !errors.As(err, &failed) || failed.Hook.Name != "b" || !errors.Is(err, no) || !strings.Contains(err.Error(), "has its say") {
		t.Error(err)
	}
	d.want(t, "create Pod/a", "finish Pod/a", "logs Pod/a", "create Pod/b", "finish Pod/b", "logs Pod/b", "delete Pod/b", "update web.v2 deployed")
	const all = "a Succeeded, b Failed, c Unknown"
	if want := []string{"failed-test: " + all, "post-test: " + all + " web"}; !slices.Equal(events, want) || results(got.Results) != all {
		t.Errorf("got %q, %q", events, results(got.Results))
	}
	if len(got.Logs) != 2 {
		t.Error(got.Logs)
	}
	if run := recs.kept["web.v2"].Hooks[2].LastRun; run.Phase != "" {
		t.Errorf("result of a test that did not run: %+v", run)
	}
}

func TestTestFilters(t *testing.T) {
	for _, test := range []struct {
		filters []string
		want    string // the tests that run, or a part of the error
	}{
		{nil, "a, b, c"},
		{[]string{"name=b"}, "b"},
		{[]string{"name=c,name=a"}, "a, c"},
		{[]string{"name=c", "name=a"}, "a, c"},
		{[]string{"!name=b"}, "a, c"},
		{[]string{"name=a,name=b,!name=b"}, "a"},
		{[]string{" ! name = b "}, "a, c"},
		{[]string{"!name=a,!name=b,!name=c"}, ""},
		{[]string{"name=x,name=y,!name=x"}, `release "web" has no test x, y: its tests are a, b, c`},
		{[]string{"!name=x"}, `has no test x`},
		{[]string{"colour=red"}, `invalid filter "colour=red": want name=TEST or !name=TEST`},
		{[]string{"a"}, `invalid filter "a"`},
		{[]string{"name="}, `invalid filter "name="`},
		{[]string{""}, `invalid filter ""`},
	} {
		t.Run(test.want, func(t *testing.T) {
			d := &callLog{}
			_, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, releaseWithTests("c 0", "b 0", "a 0")), Now: atNoon}}.Run(t.Context(), TestRequest{Name: "web", Filters: test.filters})
			var ran []string
			for _, l := range d.lines {
				if name, ok := strings.CutPrefix(l, "create Pod/"); ok {
					ran = append(ran, name)
				}
			}
			got := strings.Join(ran, ", ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
				t.Errorf("%q: %q, want %q", test.filters, got, test.want)
			}
		})
	}
}

func TestTestNone(t *testing.T) {
	d := &callLog{}
	got, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, releaseWithTests())}}.Run(t.Context(), TestRequest{Name: "web"})
	if err != nil || got.Release.Name != "web" || len(got.Results) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	d.want(t)
	_, err = Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, releaseWithTests())}}.Run(t.Context(), TestRequest{Name: "web", Filters: []string{"name=a"}})
	if err == nil || !strings.Contains(err.Error(), "it has no tests") {
		t.Error(err)
	}
	if _, err = (Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d)}}).Run(t.Context(), TestRequest{Name: "web"}); !errors.Is(err, storage.ErrNotFound) {
		t.Error(err)
	}
}

// Handlers of pre-test may change, remove and add tests. The record keeps the installed ones.
func TestTestHandlersChangeTests(t *testing.T) {
	d := &callLog{}
	recs := newFakeRecords(d, releaseWithTests("a 0", "b 0", "c 0"))
	before := recs.kept["web.v2"].Hooks[1].Manifest
	bus := &event.Bus{}
	var shown []string
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreTest) error {
		for _, o := range e.Objects {
			shown = append(shown, o.Name)
		}
		changed, err := manifest.Parse(e.Objects[1].Source, strings.Replace(e.Objects[1].Raw, `hook-weight: "0"`, `hook-weight: "-9"`, 1))
		if err != nil {
			return err
		}
		added, err := manifest.Parse("", objectText("Pod", "d", release.HookAnnotation, "test"))
		e.Objects = []*manifest.Object{added[0], e.Objects[0], changed[0]}
		return err
	})
	got, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Events: bus, Now: atNoon}}.Run(t.Context(), TestRequest{Name: "web", Filters: []string{"name=a,name=b"}})
	if err != nil {
		t.Fatal(err)
	}
	d.want(t, "create Pod/b", "finish Pod/b", "create Pod/a", "finish Pod/a", "create Pod/d", "finish Pod/d", "update web.v2 deployed")
	if want := []string{"a", "b"}; !slices.Equal(shown, want) {
		t.Errorf("handlers got %q", shown)
	}
	kept := recs.kept["web.v2"]
	if len(kept.Hooks) != 4 || kept.Hooks[1].Manifest != before || kept.Hooks[1].LastRun.Phase != release.PhaseSucceeded {
		t.Errorf("%d hooks, %+v", len(kept.Hooks), kept.Hooks[1])
	}
	if n := len(got.Release.Hooks); n != 5 || got.Release.Hooks[4].Name != "d" {
		t.Errorf("the result has %d hooks", n)
	}
}

// A release without tests has pre-test and post-test too: a handler may add tests.
func TestTestHandlersOfAReleaseWithoutTests(t *testing.T) {
	for name, tc := range map[string]struct {
		filters []string
		add     bool
		calls   []string
		events  string
	}{
		"none":                    {nil, false, nil, "pre-test post-test"},
		"a handler adds one":      {nil, true, []string{"create Pod/d", "finish Pod/d", "update web.v2 deployed"}, "pre-test post-test"},
		"the user leaves all out": {[]string{"!name=a"}, true, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rel := releaseWithTests()
			if tc.filters != nil {
				rel = releaseWithTests("a 0")
			}
			d := &callLog{}
			bus := &event.Bus{}
			var events []string
			event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreTest) error {
				events = append(events, e.Name())
				if !tc.add {
					return nil
				}
				added, err := manifest.Parse("", objectText("Pod", "d", release.HookAnnotation, "test"))
				e.Objects = added
				return err
			})
			event.On(bus, "test", 0.5, func(_ context.Context, e *event.PostTest) error {
				events = append(events, e.Name())
				return nil
			})
			_, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, rel), Events: bus, Now: atNoon}}.
				Run(t.Context(), TestRequest{Name: "web", Filters: tc.filters})
			if err != nil {
				t.Fatal(err)
			}
			d.want(t, tc.calls...)
			if got := strings.Join(events, " "); got != tc.events {
				t.Errorf("got the events %q, want %q", got, tc.events)
			}
		})
	}
}

func TestTestHandlerError(t *testing.T) {
	for _, test := range []struct {
		want string
		fn   func(e *event.PreTest) error
	}{
		{"not today", func(*event.PreTest) error { return errors.New("not today") }},
		{"ConfigMap/extra, which is not a test", func(e *event.PreTest) error {
			objs, err := manifest.Parse("", objectText("ConfigMap", "extra"))
			e.Objects = append(e.Objects, objs...)
			return err
		}},
	} {
		t.Run(test.want, func(t *testing.T) {
			d := &callLog{}
			bus := &event.Bus{}
			event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreTest) error { return test.fn(e) })
			event.On(bus, "test", 0.5, func(context.Context, *event.PostTest) error { return errors.New("came to post-test") })
			_, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, releaseWithTests("a 0")), Events: bus}}.Run(t.Context(), TestRequest{Name: "web"})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "post-test") {
				t.Errorf("got %v, want %q", err, test.want)
			}
			d.want(t)
		})
	}
}

func TestTestMissingPermissions(t *testing.T) {
	d := &callLog{fail: map[string]error{"permissions create [Pod/a], records update": errBroken}}
	out, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, releaseWithTests("a 0"))}}.Run(t.Context(), TestRequest{Name: "web"})
	if !errors.Is(err, errBroken) || out != nil {
		t.Errorf("%v, %v", out, err)
	}
	d.want(t)
}

// The scripts of the recorded chart run, and see its values.
func TestTestScripts(t *testing.T) {
	rel := releaseWithTests("a 0")
	c := newChart(t, chart.FileScript, "-- nothing")
	c.Values = map[string]any{"replicas": 1.0}
	rel.Config = map[string]any{"colour": "red"}
	rel.SetChart(c)
	if err := rel.SetScripts(c); err != nil {
		t.Fatal(err)
	}
	bus := &event.Bus{}
	var seen []string
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.ChartResolved) error {
		seen = append(seen, "resolved "+e.Chart.Name())
		return nil
	})
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreTest) error {
		seen = append(seen, fmt.Sprint(e.Chart.Name(), e.Values, e.Operation.Command, e.Operation.Revision))
		return nil
	})
	d := &callLog{}
	if _, err := (Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, rel), Events: bus}}).Run(t.Context(), TestRequest{Name: "web"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"resolved web", "webmap[colour:red replicas:1]test2"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// Changes that other clients have made to the record during the tests are kept. A deleted
// record is not an error.
func TestTestRecordChanged(t *testing.T) {
	d := &callLog{}
	recs := newFakeRecords(d, releaseWithTests("a 0"))
	d.onStep = func(step string) {
		if step == "finish Pod/a" {
			recs.kept["web.v2"].Info.Status = release.Superseded
		}
	}
	if _, err := (Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs}}).Run(t.Context(), TestRequest{Name: "web"}); err != nil {
		t.Fatal(err)
	}
	d.want(t, "create Pod/a", "finish Pod/a", "update web.v2 superseded")

	d = &callLog{}
	recs = newFakeRecords(d, releaseWithTests("a 0"))
	d.onStep = func(step string) {
		if step == "finish Pod/a" {
			delete(recs.kept, "web.v2")
		}
	}
	got, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs}}.Run(t.Context(), TestRequest{Name: "web"})
	if err != nil || results(got.Results) != "a Succeeded" {
		t.Errorf("%+v, %v", got, err)
	}
	d.want(t, "create Pod/a", "finish Pod/a")
}

func TestTestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &callLog{}
	d.onStep = func(step string) {
		if step == "finish Pod/a" {
			cancel()
		}
	}
	recs := newFakeRecords(d, releaseWithTests("a 0 hook-failed", "b 0"))
	_, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Events: &event.Bus{}}}.Run(ctx, TestRequest{Name: "web", Logs: true})
	if !errors.Is(err, context.Canceled) || strings.Count(err.Error(), "canceled") != 1 {
		t.Error(err)
	}
	d.want(t, "create Pod/a", "finish Pod/a: context canceled", "logs Pod/a", "delete Pod/a", "update web.v2 deployed")
	if p := recs.kept["web.v2"].Hooks[0].LastRun.Phase; p != release.PhaseFailed {
		t.Error(p)
	}
}

// Tests hold the lock. If it is lost, they end, and the record is not written.
func TestTestLock(t *testing.T) {
	d := &callLog{}
	l := &fakeLocker{callLog: d}
	recs := newFakeRecords(d, releaseWithTests("a 0", "b 0"))
	if _, err := (Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Locker: l}}).Run(t.Context(), TestRequest{Name: "web"}); err != nil {
		t.Fatal(err)
	}
	d.want(t, "lock web, test", "create Pod/a", "finish Pod/a", "create Pod/b", "finish Pod/b", "update web.v2 deployed", "unlock web")

	d.lines = nil
	d.onStep = func(step string) {
		if step == "finish Pod/a" {
			l.lose(lostLock{})
		}
	}
	_, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Locker: l}}.Run(t.Context(), TestRequest{Name: "web"})
	if err == nil || !strings.HasPrefix(err.Error(), "the lock was lost: test hooks failed: test hook Pod/a") {
		t.Error(err)
	}
	d.want(t, "lock web, test", "create Pod/a", "finish Pod/a: context canceled", "unlock web")

	d.lines, d.onStep, d.fail = nil, nil, map[string]error{"lock web, test": errors.New("anna is at it")}
	if _, err := (Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: recs, Locker: l}}).Run(t.Context(), TestRequest{Name: "web"}); err == nil || err.Error() != "anna is at it" {
		t.Error(err)
	}
	d.want(t, "lock web, test")
}
