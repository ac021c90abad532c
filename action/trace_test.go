// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/kubetest"
)

// chartWithHooks returns a chart whose operations take all steps except those for CRDs.
func chartWithHooks(t *testing.T, text string) *chart.Chart {
	t.Helper()
	hook := func(name, on string) *chart.File {
		return &chart.File{Name: "templates/" + name + ".yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: \"" + on + "\"}}\n")}
	}
	c, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 0.1.0\n")},
		{Name: "templates/cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {text: " + text + "}\n")},
		hook("setup", "pre-install,pre-upgrade"), hook("teardown", "post-delete"), hook("smoke", "test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The order of the steps of each operation, as the events trace it. It is the list in the
// events document; ADR 4 says why objects are validated after pre-install and not before.
func TestTracedSteps(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "shop")
	config.Events = &event.Bus{}
	event.On(config.Events, "handler", event.DefaultPriority, func(context.Context, *event.PostRender) error { return nil })
	var steps []string
	config.Events.Trace(func(s event.Step) {
		if last := len(steps) - 1; last >= 0 && strings.HasPrefix(steps[last], s.Event+": ") {
			steps[last] += ", " + s.Owner
			return
		}
		steps = append(steps, s.Event+": "+s.Owner)
	})
	want := func(verb string, err error, lines ...string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
		if got, want := strings.Join(steps, "\n"), strings.Join(lines, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", verb, got, want)
		}
		steps = nil
	}
	ctx, wait := t.Context(), action.WaitOptions{Wait: true}

	_, err := action.Install{Config: config}.Run(ctx, action.InstallRequest{Name: "web", Namespace: "shop", Chart: chartWithHooks(t, "a"), CreateNamespace: true, WaitOptions: wait})
	want("install", err,
		"pre-render: Kubernetes version, schema validation, template rendering, object parsing",
		"post-render: handler",
		"pre-install: object validation, permissions, namespace, release record, annotation hooks, object changes, readiness",
	)
	_, err = action.Upgrade{Config: config}.Run(ctx, action.UpgradeRequest{Name: "web", Namespace: "shop", Chart: chartWithHooks(t, "b")})
	want("upgrade", err,
		"pre-render: Kubernetes version, schema validation, template rendering, object parsing",
		"post-render: handler",
		"pre-upgrade: object validation, permissions, release record, annotation hooks, object changes",
	)
	_, err = action.Rollback{Config: config}.Run(ctx, action.RollbackRequest{Name: "web", WaitOptions: wait})
	want("rollback", err, "pre-rollback: object validation, permissions, release record, object changes, readiness")
	_, err = action.Test{Config: config}.Run(ctx, action.TestRequest{Name: "web"})
	want("test", err, "pre-test: permissions, annotation hooks")
	_, err = action.Uninstall{Config: config}.Run(ctx, action.UninstallRequest{Name: "web"})
	want("uninstall", err,
		"pre-delete: object validation, permissions, release record, object changes",
		"post-delete: annotation hooks",
	)
}
