// SPDX-License-Identifier: Apache-2.0

package env

import (
	"path/filepath"
	"time"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Cluster returns the cluster that the settings name. Nothing is connected
// before the first request; a kubeconfig that cannot be used is an error now.
func (e *Env) Cluster() (*kube.Client, error) {
	if e.kube.cluster != nil {
		return e.kube.cluster, nil
	}
	config, err := e.RESTConfig()
	if err != nil {
		return nil, err
	}
	e.kube.cluster = kube.New(kube.Options{
		REST:      constant(config),
		CacheDir:  filepath.Join(e.Settings.CacheHome, "discovery"),
		Progress:  e.Report(),
		UserAgent: config.UserAgent,
		Allow:     lock.Check,
	})
	return e.kube.cluster, nil
}

// Locker keeps others from changing the releases of records. It waits for its
// turn up to patience.
func (e *Env) Locker(cluster *kube.Client, records *storage.Storage, patience time.Duration) *lock.Locker {
	return lock.New(cluster, records, e.Namespace(), lock.Options{Patience: patience, Progress: e.Report()})
}
