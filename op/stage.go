// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/render"
)

// operation is what the events of one operation tell about it.
func operation(command string, dryRun bool, rel render.Release, caps *render.Capabilities, lookup lookupFunc) *event.Operation {
	op := &event.Operation{
		Command: command, DryRun: dryRun,
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: releaseService,
		IsInstall: rel.IsInstall, IsUpgrade: rel.IsUpgrade,
		Lookup: lookup,
	}
	if caps != nil {
		op.HelmVersion = caps.HelmVersion.Version
		op.KubeVersion = caps.KubeVersion.String()
		op.APIVersions = caps.APIVersions
	}
	return op
}

// lookupFunc reads from the cluster; nil finds nothing.
type lookupFunc = func(apiVersion, kind, namespace, name string) (map[string]any, error)

// load emits what every operation that runs a chart begins with: who prepares
// for the chart does so, then chart-loaded. It returns the chart and the values
// that handlers leave.
func load(ctx context.Context, bus *event.Bus, op *event.Operation, c *chart.Chart, vals map[string]any) (event.Scene, error) {
	scene := event.Scene{Operation: op, Chart: c, Values: vals}
	resolved := &event.ChartResolved{Scene: scene}
	if err := bus.Emit(ctx, resolved); err != nil {
		return scene, err
	}
	loaded := &event.ChartLoaded{Scene: scene}
	err := bus.Emit(ctx, loaded)
	return loaded.Scene, err
}
