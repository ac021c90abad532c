// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// Plan implements action.Changer.
func (c *Cluster) Plan(ctx context.Context, r action.ChangeRequest) (*plan.Plan, error) {
	if err := kube.CheckReadiness(r.Hooks); err != nil {
		return nil, err
	}
	return c.client.Plan(ctx, kube.ChangeRequest{
		Owner: kube.Owner(r.Owner), New: r.New, Old: r.Old, Orphans: r.Orphans, Hooks: r.Hooks,
		TakeOwnership: r.TakeOwnership, ServerSide: r.ServerSide, Conflicts: r.Conflicts, ReportConflicts: r.ReportConflicts,
		Replace: r.Replace, Predict: r.Predict,
		Running: r.Running, HooksFirst: r.HooksFirst, Definitions: r.Definitions, Checked: r.Checked, Also: c.recording(r.Owner.Namespace, r.Records),
	})
}

// CheckRights implements action.Deleter and hook.Runner.
func (c *Cluster) CheckRights(ctx context.Context, verb string, objects []*manifest.Object, namespace string, records ...string) error {
	return c.client.CheckRights(ctx, verb, objects, namespace, c.recording(namespace, records)...)
}

// recording are the rights to do what verbs say to a release's records.
func (c *Cluster) recording(namespace string, verbs []string) []kube.Right {
	if c.records == "" {
		return nil
	}
	var out []kube.Right
	for _, verb := range verbs {
		out = append(out, kube.Right{Verb: verb, Resource: c.records, Namespace: namespace})
	}
	return out
}

// Await implements action.Waiter.
func (c *Cluster) Await(ctx context.Context, r action.WaitRequest) error {
	return c.client.Await(ctx, kube.WaitRequest(r))
}

// recordsResource is the kind of object that keeps releases' records, "" where
// they are not kept in the cluster.
func (e *Env) recordsResource() string {
	switch e.Settings.Driver {
	case "", "secret", "secrets":
		return "secrets"
	case "configmap", "configmaps":
		return "configmaps"
	}
	return ""
}
