// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/worker"
)

// The program of this test runs the scripts of its examples. Another program calls
// worker.Main in main.
func TestMain(m *testing.M) {
	worker.Main()
	os.Exit(m.Run())
}

// doubling is a chart with a script, as loader.Load reads it from a directory.
func doubling() *chart.Chart {
	c, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		{Name: "values.yaml", Data: []byte("replicas: 2\n")},
		{Name: "templates/cm.yaml", Data: []byte("kind: ConfigMap\nmetadata: {name: web}\ndata: {replicas: \"{{ .Values.replicas }}\"}\n")},
		{Name: "ext/lua/chart.lua", Data: []byte("events.on('pre-render', function(ctx) ctx.values.replicas = ctx.values.replicas * 2 end)\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// A program runs the scripts of charts in a process that is itself, confined.
func Example() {
	config := &action.Config{} // action.NewConfig's, to install
	config.Scripts = func() action.ScriptRunner {
		return &script.Host{
			Start:   worker.Start,
			Approve: script.Policy{}.Approve, // permissions (files, programs, network) are refused
		}
	}
	out, err := action.Template{Config: config}.Run(context.Background(), action.TemplateRequest{Chart: doubling(), Name: "web"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.Objects[0].Raw)
	// Output:
	// kind: ConfigMap
	// metadata: {name: web}
	// data: {replicas: "4"}
}
