// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
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

// source notes whether an operation uses the scripts of another one.
type source struct {
	t     *testing.T
	open  *atomic.Int32
	chart atomic.Pointer[event.Operation]
	ended atomic.Bool
}

func (s *source) Load(_ context.Context, e *event.ChartResolved) error {
	s.chart.Store(e.Operation)
	return nil
}

func (s *source) Functions(context.Context, *event.PreRender) {}
func (s *source) Confirm(context.Context, *chart.Chart) error { return nil }

func (s *source) Handlers(string) []event.Handler {
	return []event.Handler{{Owner: "test", Handle: func(_ context.Context, e event.Event) error {
		if own := s.chart.Load(); own.Name != e.At().Operation.Name || s.ended.Load() {
			s.t.Errorf("the scripts of %s answered %s of %s", own.Name, e.Name(), e.At().Operation.Name)
		}
		return nil
	}}}
}

func (s *source) Close() error {
	if s.ended.Swap(true) {
		s.t.Error("scripts were ended twice")
	}
	s.open.Add(-1)
	return nil
}

// A Config serves several operations at the same time, each with events and scripts of
// its own.
func TestASharedConfig(t *testing.T) {
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
		return &source{t: t, open: &open}
	}
	const names = 6
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			if err := liveThrough(t.Context(), config, fmt.Sprintf("web%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if installed.Load() != names || started.Load() != 4*names || open.Load() != 0 {
		t.Errorf("%d installed, scripts of %d operations, %d not ended; want %d, %d and 0", installed.Load(), started.Load(), open.Load(), names, 4*names)
	}
}

// liveThrough installs, upgrades, rolls back and uninstalls a release.
func liveThrough(ctx context.Context, config *action.Config, name string) error {
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
