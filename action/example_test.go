// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

// A script.Host is a ScriptRunner.
var _ action.ScriptRunner = (*script.Host)(nil)

func hello() *chart.Chart {
	c, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: hello\nversion: 1.0.0\n")},
		{Name: "values.yaml", Data: []byte("replicas: 1\n")},
		{Name: "templates/cm.yaml", Data: []byte("kind: ConfigMap\nmetadata: {name: hello}\ndata: {replicas: \"{{ .Values.replicas }}\"}\n")},
		{Name: "ext/lua/chart.lua", Data: []byte("events.on('pre-render', function(ctx) ctx.values.replicas = ctx.values.replicas * 2 end)\n")},
	})
	if err != nil {
		panic(err)
	}
	return c
}

// A Go program can change an operation with its own handler.
func ExampleTemplate() {
	bus := &event.Bus{}
	event.On(bus, "replica policy", event.DefaultPriority, func(_ context.Context, e *event.PreRender) error {
		e.Values["replicas"] = 3
		return nil
	})
	out, err := action.Template{Config: &action.Config{Events: bus}}.Run(context.Background(), action.TemplateRequest{Chart: hello(), Name: "web"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(out.Objects[0].Raw)
	// Output:
	// kind: ConfigMap
	// metadata: {name: hello}
	// data: {replicas: "3"}
}

// Scripts of charts run if Config.Scripts is set. Here they run in the program itself, for
// trusted charts; package script/worker runs them in a subprocess.
func ExampleTemplate_scripts() {
	config := &action.Config{Scripts: func() action.ScriptRunner {
		return &script.Host{Start: func(ctx context.Context, l wire.Limits) (script.Process, error) { return engine.InProcess(ctx, l) }}
	}}
	out, err := action.Template{Config: config}.Run(context.Background(), action.TemplateRequest{Chart: hello(), Name: "web"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(out.Objects[0].Raw)
	// Output:
	// kind: ConfigMap
	// metadata: {name: hello}
	// data: {replicas: "2"}
}
