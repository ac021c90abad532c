// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"

	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/storage"
)

// newDeployment returns the deployment for req. It sets an empty req.Namespace. doing is
// "install" or "upgrade".
func newDeployment(c *Config, doing string, req *DeployRequest) *deployment {
	c = c.forOperation()
	req.Namespace = cmp.Or(req.Namespace, c.namespace())
	wait := req.WaitOptions
	wait.Wait = wait.Wait || req.Atomic // Atomic also undoes a deployment that does not become ready
	return &deployment{
		config: c, name: req.Name, doing: doing,
		wait: wait, applyOptions: req.ApplyOptions, noHooks: req.NoHooks, maxHistory: req.MaxHistory,
		invalid: cmp.Or(requireChart(req.Chart, doing), c.checkNamespace(req.Namespace, doing),
			storage.CheckLabels(req.Labels)),
		undo: req.CleanupOnFail || req.Atomic, undoCancelled: req.UndoCancelled,
		keeping: keeping{keep: req.Keep, options: deployOptions(*req), source: req.Chart},
	}
}

// renderChart renders the chart of an install or an upgrade. Templates see the kinds of those of its
// crds/ that will be written as served.
func (d *deployment) renderChart(ctx context.Context, req DeployRequest, resolved *values.Resolved) (err error) {
	var past []engine.PastRelease
	if d.doing == "upgrade" {
		if past, err = d.history.past(ctx, d.config.Releases, req.TemplateHistory, resolved); err != nil {
			return err
		}
	}
	d.crds = crdWork{policy: req.CRDs, install: d.doing == "install", dryRun: d.dryRun}
	if !req.TakeOwnership {
		d.crds.owner = kube.Owner{Release: req.Name, Namespace: req.Namespace}
	}
	d.rendered, err = d.crds.render(ctx, d.config.Cluster, rendering{
		Config:   d.config,
		events:   d.events,
		command:  d.doing,
		dryRun:   d.dryRun,
		resolved: resolved,
		release: engine.Release{
			Name: req.Name, Namespace: req.Namespace, Service: releaseService, Revision: d.history.nextRevision(),
			IsInstall: d.doing == "install", IsUpgrade: d.doing == "upgrade",
			History: past,
		},
		lookupHost: req.LookupHost,
		skipSchema: req.SkipSchema,
		subNotes:   req.SubchartNotes,
		preview:    d.preview,
		check:      valueCheck{ValueCheck: req.ValueCheck, chart: req.Chart, user: req.Values},
		patches:    req.PatchOptions,
	})
	if err != nil {
		return err
	}
	d.payload = d.rendered.payload
	return nil
}

// runDryChart takes the steps of an install or an upgrade up to the first that writes, and
// returns the changes to the chart's CRDs.
func (d *deployment) runDryChart(ctx context.Context, req DeployRequest) (crds *plan.Plan, err error) {
	d.serverDryRun, d.preview = req.ServerDryRun, req.Preview
	if err := d.runDry(ctx); err != nil {
		return nil, err
	}
	d.rendered.setObjects(d.payload.Objects) // as handlers have left them
	crds, err = d.crds.preview()
	if crds != nil {
		for _, s := range crds.Steps {
			if s.Action == plan.Keep {
				d.config.warn(s.String() + " is left alone: " + s.Reason)
			}
		}
	}
	return crds, err
}
