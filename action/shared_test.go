// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// fakeScripts detects whether an operation uses the scripts of another one.
type fakeScripts struct {
	t     *testing.T
	open  *atomic.Int32
	chart atomic.Pointer[event.Operation]
	ended atomic.Bool
}

func (s *fakeScripts) Load(_ context.Context, e *event.ChartResolved) error {
	s.chart.Store(e.Operation)
	return nil
}

func (s *fakeScripts) Functions(context.Context, *event.PreRender) {}
func (s *fakeScripts) Confirm(context.Context, *chart.Chart) error { return nil }

func (s *fakeScripts) Handlers(string) []event.Handler {
	return []event.Handler{{Owner: "test", Handle: func(_ context.Context, e event.Event) error {
		if own := s.chart.Load(); own.Name != e.Data().Operation.Name || s.ended.Load() {
			s.t.Errorf("the scripts of %s handled %s of %s", own.Name, e.Name(), e.Data().Operation.Name)
		}
		return nil
	}}}
}

func (s *fakeScripts) Close() error {
	if s.ended.Swap(true) {
		s.t.Error("scripts were closed twice")
	}
	s.open.Add(-1)
	return nil
}

// Concurrent operations with one Config have their own events and scripts.
func TestConfigShared(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	config.Progress = func(progress.Event) {}
	config.Events = &event.Bus{}
	var installed, open, started atomic.Int32
	event.On(config.Events, "test", 0.5, func(context.Context, *event.PostInstall) error { installed.Add(1); return nil })
	config.Scripts = func() action.ScriptRunner {
		open.Add(1)
		started.Add(1)
		return &fakeScripts{t: t, open: &open}
	}
	const names = 20
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			if err := runLifecycle(t.Context(), config, fmt.Sprintf("web%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if installed.Load() != names || started.Load() != 4*names || open.Load() != 0 {
		t.Errorf("%d installed, scripts of %d operations, %d not closed; want %d, %d and 0", installed.Load(), started.Load(), open.Load(), names, 4*names)
	}
}

// Of many concurrent installs of one release, one succeeds, and the others fail with the
// reason.
func TestConfigSharedOneName(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	var (
		wg     sync.WaitGroup
		winner atomic.Int32
	)
	for i := range 20 {
		wg.Go(func() {
			c := greeting()
			c.Files = append(c.Files, &chart.File{Name: "who", Data: fmt.Appendf(nil, "%d", i)})
			rel, err := action.Install{Config: config}.Run(t.Context(), action.InstallRequest{Chart: c, Name: "web", Namespace: "default"})
			var inUse *action.NameInUseError
			switch {
			case err == nil:
				winner.Add(1)
				if rel.Info.Status != release.Deployed {
					t.Errorf("the release is %s", rel.Info.Status)
				}
			case !errors.As(err, &inUse) || inUse.Name != "web":
				t.Errorf("got %v, want a NameInUseError for web", err)
			}
		})
	}
	wg.Wait()
	if winner.Load() != 1 {
		t.Errorf("%d of 20 have installed the release, want 1", winner.Load())
	}
	history, err := action.History{Releases: config.Releases}.Run(t.Context(), "web", 0)
	if err != nil || len(history) != 1 || history[0].Status != release.Deployed {
		t.Errorf("history: %v, %v; want one revision, deployed", history, err)
	}
}

// Configs of several namespaces share the discovery cache, and report progress separately.
func TestConfigInNamespace(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	var here, there atomic.Int32
	config.Progress = func(progress.Event) { here.Add(1) }
	other := config.InNamespace("shop")
	other.Progress = func(progress.Event) { there.Add(1) }
	for namespace, c := range map[string]*action.Config{"default": config, "shop": other} {
		t.Run(namespace, func(t *testing.T) {
			req := action.InstallRequest{Chart: greeting(), Name: "web", Namespace: namespace, CreateNamespace: true}
			if _, err := (action.Install{Config: c}).Run(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			found, err := action.List{Releases: c.Releases}.Run(t.Context(), action.ListRequest{})
			if err != nil || len(found) != 1 || found[0].Namespace != namespace {
				t.Errorf("releases of %s: %v, %v; want web alone", namespace, found, err)
			}
			if cluster.Get("/api/v1/namespaces/"+namespace+"/configmaps/greeting") == nil {
				t.Errorf("the object of %s is missing", namespace)
			}
		})
	}
	if here.Load() != 2 || there.Load() != 2 {
		t.Errorf("%d and %d progress events, want 2 each", here.Load(), there.Load())
	}
}

// Many concurrent upgrades of one release are serialized: each creates a revision.
func TestConfigSharedLocks(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	req := action.DeployRequest{Chart: greeting(), Name: "web", Namespace: "default"}
	if _, err := (action.Install{Config: config}).Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	const upgrades = 5
	var wg sync.WaitGroup
	for i := range upgrades {
		req := req
		req.Values = map[string]any{"text": fmt.Sprint("hello ", i)}
		wg.Go(func() {
			if _, err := (action.Upgrade{Config: config}).Run(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	history, err := action.History{Releases: config.Releases}.Run(t.Context(), "web", 0)
	if err != nil || len(history) != 1+upgrades || history[upgrades].Status != release.Deployed {
		t.Errorf("history: %v, %v; want %d revisions, the last one deployed", history, err, 1+upgrades)
	}
}

// runLifecycle installs, upgrades, rolls back and uninstalls a release.
func runLifecycle(ctx context.Context, config *action.Config, name string) error {
	c, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		{Name: "templates/a.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {v: {{ .Values.v | quote }}}\n" +
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: \"pre-install,post-upgrade,pre-rollback\"}}\n")},
	})
	if err != nil {
		return err
	}
	req := action.DeployRequest{Chart: c, Name: name, Namespace: "default", Values: map[string]any{"v": "1"}}
	if _, err := (action.Install{Config: config}).Run(ctx, req); err != nil {
		return err
	}
	req.Values = map[string]any{"v": "2"}
	if _, err := (action.Upgrade{Config: config}).Run(ctx, req); err != nil {
		return err
	}
	rel, err := action.Rollback{Config: config}.Run(ctx, action.RollbackRequest{Name: name, Revision: 1})
	if err != nil {
		return err
	}
	if rel.Revision != 3 || rel.Info.Status != release.Deployed {
		return fmt.Errorf("release %s is at revision %d, %s", name, rel.Revision, rel.Info.Status)
	}
	_, err = action.Uninstall{Config: config}.Run(ctx, action.UninstallRequest{Name: name})
	return err
}
