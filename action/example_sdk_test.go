// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// greeting returns a chart with one ConfigMap. A program would call loader.Load("./greeting").
func greeting() *chart.Chart {
	c, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: greeting\nversion: 1.0.0\n")},
		{Name: "values.yaml", Data: []byte("text: hello\n")},
		{Name: "templates/cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {text: \"{{ .Values.text }}\"}\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func ExampleInstall() {
	cluster := kubetest.Start() // a program would call action.NewConfig(action.KubeSettings{})
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")

	rel, err := action.Install{Config: config}.Run(context.Background(), action.InstallRequest{
		Chart: greeting(), Name: "web", Namespace: "default", Values: map[string]any{"text": "good morning"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rel.Name, "revision", rel.Revision, "is", rel.Info.Status)
	fmt.Println(cluster.Get("/api/v1/namespaces/default/configmaps/greeting")["data"])
	// Output:
	// web revision 1 is deployed
	// map[text:good morning]
}

func ExampleUpgrade() {
	cluster := kubetest.Start()
	defer cluster.Close()
	config, ctx := action.NewConfigFor(cluster.Config(), "default"), context.Background()
	if _, err := (action.Install{Config: config}).Run(ctx, action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"}); err != nil {
		log.Fatal(err)
	}

	rel, err := action.Upgrade{Config: config}.Run(ctx, action.UpgradeRequest{
		Chart: greeting(), Name: "web", Namespace: "default", Values: map[string]any{"text": "good night"},
		Reuse: action.ReuseValues, Atomic: true, // waits until all objects are ready; rolls a failed upgrade back
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rel.Name, "revision", rel.Revision, "is", rel.Info.Status)

	back, err := action.Rollback{Config: config}.Run(ctx, action.RollbackRequest{Name: "web", Revision: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.Info.Description, cluster.Get("/api/v1/namespaces/default/configmaps/greeting")["data"])
	// Output:
	// web revision 2 is deployed
	// Rollback to 1 map[text:hello]
}

// A controller upgrades a release, or installs it if it does not exist.
func ExampleUpgrade_orInstall() {
	cluster := kubetest.Start()
	defer cluster.Close()
	config, ctx := action.NewConfigFor(cluster.Config(), "default"), context.Background()
	reconcile := func(text string) (*release.Release, error) {
		req := action.DeployRequest{Chart: greeting(), Name: "web", Values: map[string]any{"text": text}}
		rel, err := action.Upgrade{Config: config}.Run(ctx, req)
		var none *action.NoReleaseError
		if errors.As(err, &none) {
			req.Replace = true // reuses the name of a release that was uninstalled with its history kept
			return action.Install{Config: config}.Run(ctx, req)
		}
		return rel, err
	}
	for _, text := range []string{"good morning", "good night"} {
		rel, err := reconcile(text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("revision", rel.Revision, rel.Info.Status, cluster.Get("/api/v1/namespaces/default/configmaps/greeting")["data"])
	}
	// Output:
	// revision 1 deployed map[text:good morning]
	// revision 2 deployed map[text:good night]
}

// The changes of an upgrade, by object.
func ExampleUpgrade_Plan() {
	cluster := kubetest.Start()
	defer cluster.Close()
	config, ctx := action.NewConfigFor(cluster.Config(), "default"), context.Background()
	if _, err := (action.Install{Config: config}).Run(ctx, action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"}); err != nil {
		log.Fatal(err)
	}

	change, _, err := action.Upgrade{Config: config}.Plan(ctx, action.UpgradeRequest{
		Chart: greeting(), Name: "web", Namespace: "default", Values: map[string]any{"text": "good night"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range change.Plan.Steps {
		fmt.Printf("%s %s: %v becomes %v\n", step.Action, step, step.Live["data"], step.After["data"])
	}
	// Output:
	// update ConfigMap/greeting: map[text:hello] becomes map[text:good night]
}

func ExampleUninstall() {
	cluster := kubetest.Start()
	defer cluster.Close()
	config, ctx := action.NewConfigFor(cluster.Config(), "default"), context.Background()
	if _, err := (action.Install{Config: config}).Run(ctx, action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"}); err != nil {
		log.Fatal(err)
	}

	out, err := action.Uninstall{Config: config}.Run(ctx, action.UninstallRequest{Name: "web", Wait: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("deleted", out.Deleted)
	// Output: deleted [ConfigMap/greeting]
}

func ExampleList() {
	config, ctx := &action.Config{Releases: storage.New(storage.NewMemory("default"), "default")}, context.Background()
	for _, name := range []string{"shop", "web"} {
		cluster := kubetest.Start()
		defer cluster.Close()
		config.Cluster = action.NewConfigFor(cluster.Config(), "default").Cluster
		if _, err := (action.Install{Config: config}).Run(ctx, action.InstallRequest{Chart: greeting(), Name: name, Namespace: "default"}); err != nil {
			log.Fatal(err)
		}
	}

	releases, err := action.List{Releases: config.Releases}.Run(ctx, action.ListRequest{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range releases {
		fmt.Println(r.Name, r.Revision, r.Status, r.Chart, r.ChartVersion)
	}
	// Output:
	// shop 1 deployed greeting 1.0.0
	// web 1 deployed greeting 1.0.0
}

// A handler of the program can check or change the rendered objects.
func ExampleConfig_events() {
	events := &event.Bus{}
	event.On(events, "one greeting", event.DefaultPriority, func(_ context.Context, e *event.PostRender) error {
		for _, o := range e.Objects {
			if o.Kind == "ConfigMap" && strings.Contains(o.Raw, "good night") {
				return fmt.Errorf("%s: it is not time yet", o)
			}
		}
		return nil
	})
	verb := action.Template{Config: &action.Config{Events: events}}
	for _, text := range []string{"hello", "good night"} {
		out, err := verb.Run(context.Background(), action.TemplateRequest{Chart: greeting(), Name: "web", Values: map[string]any{"text": text}})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(len(out.Objects), "object")
	}
	// Output:
	// 1 object
	// post-render handler of one greeting: ConfigMap/greeting: it is not time yet
}

func ExampleConfig_progress() {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	config.Progress = func(e progress.Event) { fmt.Printf("%s: %s%s\n", e.Kind, e.Object, e.Text) }
	if _, err := (action.Install{Config: config}).Run(context.Background(), action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// step: objects: 1 to create
	// created: ConfigMap/greeting
}

// The differences between the records of two revisions.
func ExampleDiff() {
	cluster := kubetest.Start()
	defer cluster.Close()
	config, ctx := action.NewConfigFor(cluster.Config(), "default"), context.Background()
	req := action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"}
	if _, err := (action.Install{Config: config}).Run(ctx, req); err != nil {
		log.Fatal(err)
	}
	req.Values = map[string]any{"text": "good night"}
	if _, err := (action.Upgrade{Config: config}).Run(ctx, req); err != nil {
		log.Fatal(err)
	}

	change, err := action.Diff{Releases: config.Releases}.Revisions(ctx, "web", 1, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range change.Plan.Steps {
		fmt.Println(step.Action, step)
	}
	// Output: update ConfigMap/greeting
}
