// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

var errNo = errors.New("no")

// fakeHookCluster is a cluster that logs calls.
type fakeHookCluster struct {
	Cluster
	lines []string
	fail  map[string]error
	hang  string // the step that blocks until its context ends
	// live are the live objects by name.
	live map[string]map[string]any
	// made are the texts of created and updated objects by name.
	made map[string]string
	logs []status.Log
	// awaited are the objects whose deletion was awaited.
	awaited []string
	// uids are the uids of updated and deleted objects.
	uids []string
}

func (s *fakeHookCluster) call(ctx context.Context, verb string, o *manifest.Object, namespace string) error {
	step := verb + " " + o.Name
	s.lines = append(s.lines, step)
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a step without an end")
	}
	if namespace != "ns" {
		return errors.New("wrong namespace " + namespace)
	}
	if s.hang == step {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.fail[step]
}

func (s *fakeHookCluster) PlaceHook(_ context.Context, o *manifest.Object, ns string) (apply.HookPlace, error) {
	switch o.Kind {
	case "CustomResourceDefinition":
		return apply.HookPlace{Served: true, Definition: true}, s.fail["place "+o.Name]
	case "ClusterRole":
		return apply.HookPlace{Served: true}, s.fail["place "+o.Name]
	case "Unheard":
		return apply.HookPlace{}, s.fail["place "+o.Name]
	}
	if o.Namespace != "" {
		ns = o.Namespace
	}
	return apply.HookPlace{Served: true, Namespace: ns}, s.fail["place "+o.Name]
}
func (s *fakeHookCluster) CreateHook(ctx context.Context, o *manifest.Object, ns string) (string, error) {
	return "made " + o.Name, s.put(ctx, "create", o, ns)
}
func (s *fakeHookCluster) UpdateHook(ctx context.Context, o *manifest.Object, ns, uid string) error {
	s.uids = append(s.uids, uid)
	return s.put(ctx, "update", o, ns)
}
func (s *fakeHookCluster) put(ctx context.Context, verb string, o *manifest.Object, ns string) error {
	err := s.call(ctx, verb, o, ns)
	if err == nil && s.made == nil {
		s.made, s.live = map[string]string{}, maps.Clone(s.live)
	}
	if err == nil {
		s.made[o.Name] = o.Raw
	}
	return err
}
func (s *fakeHookCluster) DeleteHook(ctx context.Context, o *manifest.Object, ns, uid string) error {
	s.uids = append(s.uids, uid)
	return s.call(ctx, "delete", o, ns)
}
func (s *fakeHookCluster) WaitHookGone(ctx context.Context, o *manifest.Object, _, _ string) error {
	s.awaited = append(s.awaited, o.Name)
	if s.hang == "wait-deleted "+o.Name {
		<-ctx.Done()
	}
	return ctx.Err()
}
func (s *fakeHookCluster) CheckPermissions(_ context.Context, verb string, objects []*manifest.Object, ns string, _ ...apply.Permission) error {
	for _, o := range objects {
		if err := s.fail["right to "+verb+" "+o.Name]; err != nil {
			return err
		}
	}
	return nil
}
func (s *fakeHookCluster) LiveHook(_ context.Context, o *manifest.Object, _ string) (map[string]any, error) {
	return s.live[o.Name], s.fail["live "+o.Name]
}
func (s *fakeHookCluster) Logs(ctx context.Context, o *manifest.Object, ns string) ([]status.Log, error) {
	return s.logs, s.call(ctx, "logs", o, ns)
}
func (s *fakeHookCluster) Finish(ctx context.Context, r wait.Request) error {
	var errs []error
	for _, o := range r.Objects {
		errs = append(errs, s.call(ctx, "finish", o, r.Namespace))
	}
	return errors.Join(errs...)
}

// hookSetup configures the hooks of a test.
type hookSetup struct {
	TakeOwnership bool
	Records       Storage
	Progress      progress.Func
	Timeout       time.Duration
	Now           func() time.Time
	Confirm       func(context.Context, *release.Release, []OutsideObject) error
	Approved      *approvedHooks
	Ended         func(context.Context, *release.Hook, *manifest.Object)
}

func (h hookSetup) runner(s *fakeHookCluster) *hookRunner {
	return &hookRunner{
		Config:  &Config{Cluster: s, Releases: h.Records, Progress: h.Progress, Now: h.Now, ConfirmHooks: h.Confirm},
		timeout: timeoutOrDefault(h.Timeout), takeOwnership: h.TakeOwnership, approved: h.Approved, onFinished: h.Ended,
	}
}

// at checks and runs a release's hooks of one event as operations do.
func (s *fakeHookCluster) at(ctx context.Context, e event.Event, h hookSetup) error {
	r, rel, now := h.runner(s), e.Data().Release, release.HookEvent(e.Name())
	if verb, ok := strings.CutPrefix(e.Name(), "pre-"); ok {
		stored := verb == "delete" || verb == "rollback"
		if err := r.check(ctx, rel, hooksAt(rel, now, release.HookEvent("post-"+verb)), stored); err != nil {
			return err
		}
	}
	return new(event.Bus).HandleCore(ctx, e, event.AnnotationHooks, func(ctx context.Context) error {
		return r.run(ctx, rel, rel.Hooks, now)
	})
}

func (s *fakeHookCluster) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.lines, want) {
		t.Errorf("calls:\n  %s\nwant:\n  %s", strings.Join(s.lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// withHooks returns a release with hooks given as "name weight policies". They are pre-install
// hooks, and Jobs unless the name begins with "crd".
func withHooks(hooks ...string) *release.Release {
	rel := &release.Release{Name: "web", Namespace: "ns"}
	for _, text := range hooks {
		name, policies, _ := strings.Cut(text, " ")
		h := &release.Hook{Name: name, Kind: "Job", Path: "web/templates/" + name + ".yaml", Events: []release.HookEvent{release.PreInstall}}
		if strings.HasPrefix(name, "crd") {
			h.Kind = "CustomResourceDefinition"
		}
		h.Manifest = "apiVersion: v1\nkind: " + h.Kind + "\nmetadata:\n  name: " + name + "\n  annotations:\n    helm.sh/hook: pre-install # first\n"
		for _, p := range strings.Fields(policies) {
			h.DeletePolicies = append(h.DeletePolicies, release.DeletePolicy(p))
		}
		rel.Hooks = append(rel.Hooks, h)
	}
	return rel
}

func TestHookOrder(t *testing.T) {
	rel := withHooks("b", "a", "late", "early", "other")
	rel.Hooks[2].Weight, rel.Hooks[3].Weight = 7, -1
	rel.Hooks[4].Events = []release.HookEvent{release.PostInstall, release.Test}
	s := &fakeHookCluster{}
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{}); err != nil {
		t.Fatal(err)
	}
	s.want(t,
		"create early", "finish early",
		"create a", "finish a",
		"create b", "finish b",
		"create late", "finish late")
	if got := rel.Hooks[0].Name + rel.Hooks[1].Name; got != "ba" {
		t.Errorf("the record's own order was changed: %s first", got)
	}
}

func TestHookEvents(t *testing.T) {
	for _, e := range []func(*release.Release) event.Event{
		func(r *release.Release) event.Event { return &event.PreInstall{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PostInstall{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PreUpgrade{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PostUpgrade{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PreRollback{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PostRollback{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PreDelete{Payload: event.Payload{Release: r}} },
		func(r *release.Release) event.Event { return &event.PostDelete{Payload: event.Payload{Release: r}} },
	} {
		rel := withHooks("mine hook-succeeded", "test hook-succeeded")
		ev := e(rel)
		rel.Hooks[0].Events = []release.HookEvent{release.HookEvent(ev.Name())}
		rel.Hooks[1].Events = []release.HookEvent{release.Test}
		s := &fakeHookCluster{}
		if err := s.at(t.Context(), ev, hookSetup{}); err != nil {
			t.Errorf("%s: %v", ev.Name(), err)
		}
		s.want(t, "create mine", "finish mine", "delete mine")
	}
}

// Permissions for the hooks of an operation, and for no others, are checked before anything is
// written.
func TestHookMissingPermissions(t *testing.T) {
	errBroken := errors.New("broken")
	for _, e := range []struct {
		pre, post release.HookEvent
		event     func(event.Payload) event.Event
	}{
		{release.PreInstall, release.PostInstall, func(s event.Payload) event.Event { return &event.PreInstall{Payload: s} }},
		{release.PreUpgrade, release.PostUpgrade, func(s event.Payload) event.Event { return &event.PreUpgrade{Payload: s} }},
		{release.PreRollback, release.PostRollback, func(s event.Payload) event.Event { return &event.PreRollback{Payload: s} }},
		{release.PreDelete, release.PostDelete, func(s event.Payload) event.Event { return &event.PreDelete{Payload: s} }},
	} {
		for _, on := range []release.HookEvent{e.pre, e.post, release.Test} {
			t.Run(fmt.Sprintf("%s hook at %s", on, e.pre), func(t *testing.T) {
				rel := withHooks("mine")
				rel.Hooks[0].Events = []release.HookEvent{on}
				s := &fakeHookCluster{fail: map[string]error{"right to create mine": errBroken}}
				err := s.at(t.Context(), e.event(event.Payload{Release: rel}), hookSetup{})
				if refused, want := errors.Is(err, errBroken), on != release.Test; refused != want {
					t.Errorf("refused: got %t (%v), want %t", refused, err, want)
				}
				s.want(t)
			})
		}
	}
}

func TestHookDeletePolicies(t *testing.T) {
	for _, test := range []struct {
		name  string
		hooks []string
		fail  string
		want  []string
	}{
		{"none is before-hook-creation", []string{"a"}, "", []string{"delete a", "create a", "finish a"}},
		{"hook-succeeded", []string{"a hook-succeeded", "b hook-succeeded"}, "",
			[]string{"create a", "finish a", "create b", "finish b", "delete b", "delete a"}},
		{"failed hook is kept", []string{"a hook-succeeded"}, "finish a", []string{"create a", "finish a"}},
		{"hook-failed", []string{"a hook-failed"}, "finish a", []string{"create a", "finish a", "delete a"}},
		{"hook that was not created is kept", []string{"a hook-failed"}, "create a", []string{"create a"}},
		// Helm 4.3.1, observed: hooks that succeeded before are deleted too, later ones are not changed.
		{"hook-succeeded before a failure", []string{"a hook-succeeded", "b hook-failed", "c hook-succeeded,hook-failed"}, "finish b",
			[]string{"create a", "finish a", "create b", "finish b", "delete b", "delete a"}},
		// Helm 3 and 4, observed: no policy deletes a CRD, and with it all its custom resources.
		{"definitions stay", []string{"crd-a", "crd-b hook-succeeded", "crd-c before-hook-creation hook-failed"}, "create crd-c",
			[]string{"create crd-a", "finish crd-a", "create crd-b", "finish crd-b", "create crd-c"}},
		{"words that mean nothing do nothing", []string{"a someday"}, "", []string{"create a", "finish a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &fakeHookCluster{fail: map[string]error{test.fail: errNo}}
			if strings.HasPrefix(test.want[0], "delete") {
				s.live = map[string]map[string]any{"a": hookOf("ns/web/1")}
			}
			err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: withHooks(test.hooks...)}}, hookSetup{})
			if (err != nil) != (test.fail != "") {
				t.Errorf("got %v", err)
			}
			s.want(t, test.want...)
		})
	}
}

func TestHookError(t *testing.T) {
	rel := withHooks("a", "b", "c")
	s := &fakeHookCluster{fail: map[string]error{"finish b": errNo}}
	err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{})
	var failed *HookError
	var handler *event.HandlerError
	if !errors.As(err, &failed) || !errors.As(err, &handler) || failed.Hook.Name != "b" || !errors.Is(err, errNo) {
		t.Fatal(err)
	}
	if got, want := failed.Error(), "failed pre-install: pre-install hook Job/b (web/templates/b.yaml): no"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.want(t, "create a", "finish a", "create b", "finish b")
}

func TestHookDeleteError(t *testing.T) {
	s := &fakeHookCluster{fail: map[string]error{"finish a": errNo, "delete a": errors.New("stuck")}}
	err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: withHooks("a hook-failed")}}, hookSetup{})
	if !errors.Is(err, errNo) || !strings.Contains(err.Error(), "delete it by its delete policy: stuck") {
		t.Error(err)
	}
	for policy, want := range map[string]string{"before-hook-creation": "delete the one of an earlier run: no", "hook-succeeded": "delete the one of an earlier run: no"} {
		t.Run(policy, func(t *testing.T) {
			s := &fakeHookCluster{fail: map[string]error{"delete a": errNo}, live: map[string]map[string]any{"a": hookOf("ns/web/1")}}
			if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: withHooks("a " + policy)}}, hookSetup{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", policy, err)
			}
		})
	}
}

func TestHookLastRun(t *testing.T) {
	rel := withHooks("a", "b", "c")
	s := &fakeHookCluster{fail: map[string]error{"finish b": errNo}}
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var seen []string
	_ = s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{
		Now:      func() time.Time { clock = clock.Add(time.Second); return clock },
		Progress: func(e progress.Event) { seen = append(seen, string(e.Kind)+" "+e.Object+" "+e.Text) },
	})
	for i, want := range []release.Phase{release.PhaseSucceeded, release.PhaseFailed, ""} {
		run := rel.Hooks[i].LastRun
		if run.Phase != want || want != "" && !run.CompletedAt.After(run.StartedAt) {
			t.Errorf("%s: %+v", rel.Hooks[i].Name, run)
		}
	}
	if want := []string{"hook Job/a pre-install", "hook Job/b pre-install"}; !slices.Equal(seen, want) {
		t.Errorf("reported %q", seen)
	}
}

// A hook that times out fails, and is deleted with a timeout of its own.
func TestHookTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // independent of the machine's speed
		rel := withHooks("a hook-succeeded", "b hook-failed")
		s := &fakeHookCluster{hang: "finish b"}
		err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{Timeout: 20 * time.Millisecond})
		if !errors.Is(err, context.DeadlineExceeded) || rel.Hooks[1].LastRun.Phase != release.PhaseFailed {
			t.Errorf("%v, %+v", err, rel.Hooks[1].LastRun)
		}
		s.want(t, "create a", "finish a", "create b", "finish b", "delete b", "delete a")
	})
}

func TestHookCanceledDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &fakeHookCluster{hang: "finish b"}
		time.AfterFunc(10*time.Millisecond, cancel)
		err := s.at(ctx, &event.PreInstall{Payload: event.Payload{Release: withHooks("a hook-succeeded", "b hook-failed")}}, hookSetup{})
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "delete policy") {
			t.Error(err)
		}
		s.want(t, "create a", "finish a", "create b", "finish b", "delete b", "delete a")
		if len(s.awaited) > 0 {
			t.Errorf("after the interrupt, waited for the deletion of %q", s.awaited)
		}
	})
}

// A canceled operation ends within a second, whatever a hook is doing, and deletes the hook.
func TestHookCanceledDoesNotWait(t *testing.T) {
	for _, test := range []struct {
		name, hang string
		fail       map[string]error
		awaited    []string
	}{
		{name: "running", hang: "finish b"},
		{name: "being deleted since it failed", hang: "wait-deleted b", fail: map[string]error{"finish b": errNo}, awaited: []string{"b"}},
		{name: "its deletion without an answer", hang: "delete b", fail: map[string]error{"finish b": errNo}},
		{name: "its log without an answer", hang: "logs b", fail: map[string]error{"finish b": errNo}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := &fakeHookCluster{hang: test.hang, fail: test.fail}
				rel := withHooks("a hook-succeeded", "b hook-failed")
				rel.Hooks[1].OutputLogPolicies = []release.OutputLogPolicy{release.LogOnFailed}
				time.AfterFunc(10*time.Second, cancel)
				began := time.Now()
				err := s.at(ctx, &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{})
				if took := time.Since(began) - 10*time.Second; err == nil || took < 0 || took > time.Second {
					t.Errorf("returned %v after cancellation: %v", took, err)
				}
				s.want(t, "create a", "finish a", "create b", "finish b", "logs b", "delete b", "delete a")
				if !slices.Equal(s.awaited, test.awaited) {
					t.Errorf("waited for the deletion of %q, want %q", s.awaited, test.awaited)
				}
			})
		})
	}
}

func TestHookSeveralObjects(t *testing.T) {
	for _, text := range []string{"", "a: b: c", "kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata: {name: b}\n"} {
		rel := withHooks("a")
		rel.Hooks[0].Manifest = text
		s := &fakeHookCluster{}
		if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{}); err == nil || len(s.lines) > 0 {
			t.Errorf("%q: %v, calls = %q", text, err, s.lines)
		}
	}
}
