// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"path/filepath"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Cluster is the cluster in force, as packages op and hook call it.
type Cluster struct {
	*kube.Client
	client *kube.Client
	// records is the resource that keeps releases' records, "" where they are
	// kept elsewhere.
	records string
}

// Cluster returns the cluster that the settings name. Nothing is connected
// before the first request; a kubeconfig that cannot be used is an error now.
func (e *Env) Cluster() (*Cluster, error) {
	if e.kube.cluster != nil {
		return e.kube.cluster, nil
	}
	config, err := e.RESTConfig()
	if err != nil {
		return nil, err
	}
	e.kube.cluster = &Cluster{records: e.recordsResource()}
	e.kube.cluster.use(kube.New(kube.Options{
		REST:      constant(config),
		CacheDir:  filepath.Join(e.Settings.CacheHome, "discovery"),
		Progress:  e.Report(),
		UserAgent: config.UserAgent,
		Allow:     lock.Check,
	}))
	return e.kube.cluster, nil
}

func (c *Cluster) use(client *kube.Client) { c.Client, c.client = client, client }

// Lenient is the same cluster, for which fields that the server does not know
// are warnings.
func (c *Cluster) Lenient() *Cluster {
	out := &Cluster{records: c.records}
	out.use(c.client.Lenient())
	return out
}

// Unvalidated is the same cluster, to which objects are written as they are: only
// the server says what is wrong with them.
func (c *Cluster) Unvalidated() *Cluster {
	out := &Cluster{records: c.records}
	out.use(c.client.Unvalidated())
	return out
}

// WaitGone implements action.Deleter.
func (c *Cluster) WaitGone(ctx context.Context, objects []*manifest.Object, owner action.Owner) error {
	return c.client.WaitGone(ctx, objects, kube.Owner(owner))
}

// Delete implements action.Deleter.
func (c *Cluster) Delete(ctx context.Context, objects []*manifest.Object, owner action.Owner, cascade action.Cascade) error {
	return c.client.Delete(ctx, objects, kube.Owner(owner), kube.Cascade(cascade))
}

// Live implements action.LiveReader.
func (c *Cluster) Live(ctx context.Context, objects []*manifest.Object, namespace string) ([]action.LiveObject, error) {
	rows, err := c.client.Rows(ctx, objects, namespace)
	if err != nil {
		return nil, err
	}
	out := make([]action.LiveObject, len(rows))
	for i, r := range rows {
		out[i] = action.LiveObject(r)
	}
	return out, nil
}
