// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Cluster returns the cluster that the settings name. Nothing is connected
// before the first request; a kubeconfig that cannot be used is an error now.
func (f *Factory) Cluster() (*kube.Client, error) {
	if f.kube.cluster != nil {
		return f.kube.cluster, nil
	}
	config, err := f.RESTConfig()
	if err != nil {
		return nil, err
	}
	f.kube.cluster = kube.New(kube.Options{
		REST:      constant(config),
		CacheDir:  filepath.Join(f.Settings.CacheHome, "discovery"),
		Progress:  f.Report(),
		UserAgent: config.UserAgent,
		Allow:     lock.Check,
	})
	return f.kube.cluster, nil
}

// Config is what operations on the releases of the namespace in force need: the cluster
// as the flags want it written to, the records, and a locker that waits for its turn up
// to timeout. The caller may change it.
func (f *Factory) Config(s ScriptFlags, a ApplyFlags, timeout time.Duration) (*action.Config, error) {
	thrifty()
	config, err := f.Offline(s)
	if err != nil {
		return nil, err
	}
	cluster, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	records, err := f.Records(f.Namespace())
	if err != nil {
		return nil, err
	}
	config.Cluster, config.Releases = action.NewCluster(cluster, a.ClusterOptions()), records
	config.Locker = lock.New(cluster, records, f.Namespace(), lock.Options{Timeout: timeout, Progress: f.Report()})
	config.ConfirmHooks = f.confirmHooks(s.Yes)
	return config, nil
}

// thrifty has the garbage collector run sooner, unless GOGC says how often. An
// operation on a cluster mostly waits for the server: this takes a tenth less memory
// (an upgrade of 800 objects: 43 MB for 47), a fifth more CPU time and no more time.
func thrifty() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// Offline is what operations without a cluster need. The caller may change it.
func (f *Factory) Offline(s ScriptFlags) (*action.Config, error) {
	events, err := f.traced(s)
	if err != nil {
		return nil, err
	}
	scripts, err := f.hosts(s)
	return &action.Config{Events: events, Scripts: scripts, Progress: f.Report(), Now: f.Now}, err
}
