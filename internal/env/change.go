// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/op"
	"github.com/moonhelm/moonhelm/plan"
)

// Plan implements op.Changer.
func (c *Cluster) Plan(ctx context.Context, r op.ChangeRequest) (*plan.Plan, error) {
	if err := kube.CheckReadiness(r.Hooks); err != nil {
		return nil, err
	}
	return c.client.Plan(ctx, kube.ChangeRequest{
		Owner: kube.Owner(r.Owner), New: r.New, Old: r.Old, Orphans: r.Orphans,
		TakeOwnership: r.TakeOwnership, ServerSide: r.ServerSide, ForceConflicts: r.ForceConflicts,
		Replace: r.Replace, Predict: r.Predict, Also: c.recording(r.Owner.Namespace),
	})
}

// recording are the rights that writing a release's records takes.
func (c *Cluster) recording(namespace string) []kube.Right {
	if c.records == "" {
		return nil
	}
	var out []kube.Right
	for _, verb := range []string{"create", "update"} {
		out = append(out, kube.Right{Verb: verb, Resource: c.records, Namespace: namespace})
	}
	return out
}

// Await implements op.Waiter.
func (c *Cluster) Await(ctx context.Context, r op.WaitRequest) error {
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
