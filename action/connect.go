// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// KubeSettings name a cluster and a namespace as kubectl does. The zero value is the
// current context of the user's kubeconfig, or, in a pod without one, the pod's cluster.
type KubeSettings struct {
	// Kubeconfig is the path of the file; "" is what $KUBECONFIG names, else
	// ~/.kube/config.
	Kubeconfig string
	// Context is one of the file's; "" is its current one.
	Context string
	// Namespace is that of the releases; "" is the context's.
	Namespace string
}

// NewConfig returns what operations on the releases of a namespace need, for the cluster
// that s names: releases are recorded in Secrets and locked by Leases, and Events are ready
// for handlers. It reads the kubeconfig, and makes no request.
func NewConfig(s KubeSettings) (*Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	over := &clientcmd.ConfigOverrides{CurrentContext: s.Context}
	over.Context.Namespace = s.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, over)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return NewConfigFor(config, namespace), nil
}

// NewConfigFor is [NewConfig] for a cluster that the caller knows how to reach. config
// must not change afterwards; with nil every request fails with a [*ConfigError]. It makes
// no request.
func NewConfigFor(config *rest.Config, namespace string) *Config {
	options := kube.Options{Allow: lock.Check, REST: func() (*rest.Config, error) { return config, nil }}
	if config == nil {
		options.REST = func() (*rest.Config, error) {
			return nil, &ConfigError{Operation: "connect", Field: "rest.Config"}
		}
	} else {
		options.UserAgent = config.UserAgent
	}
	c := &Config{Events: &event.Bus{}}
	c.connect(kube.New(options), nil, namespace)
	return c
}

// connect makes c one for the releases of a namespace, with records in Secrets where
// records is nil.
func (c *Config) connect(client *kube.Client, records *storage.Storage, namespace string) {
	report := func(e progress.Event) { c.Progress.Send(e) } // whatever the caller sets later
	c.client = client.WithProgress(report)
	c.secrets = nil
	if records == nil {
		records = storage.New(storage.Secrets(c.client, namespace), namespace)
		c.secrets = records
	}
	if c.applier == nil {
		c.applier = apply.New(c.client, apply.Options{})
	}
	c.applier = c.applier.On(c.client)
	c.Cluster, c.Releases = newKubeCluster(c.client, c.applier), records
	c.Locker = lock.New(c.client, records, namespace, lock.Options{Progress: report})
}

// Client returns the connection to the cluster, for drivers of package storage that keep
// records there. It is nil where neither [NewConfig] nor [NewConfigFor] has made c.
func (c *Config) Client() *kube.Client { return c.client }

// InNamespace returns a copy of c for the releases of another namespace, recorded by the
// same driver and locked by Leases there. Both share the connection and what is known of
// the cluster's kinds, so that a program with releases in many namespaces holds it once. c
// must be made by [NewConfig] or [NewConfigFor], and c.Releases, where it was set, must be
// a [*storage.Storage]; InNamespace panics if it is not. The handlers of c.Events answer
// the copy's events too, and those that the copy gets do not answer c's.
func (c *Config) InNamespace(namespace string) *Config {
	if c.client == nil {
		panic("action: InNamespace of a Config that NewConfig has not made")
	}
	records, ok := c.Releases.(*storage.Storage)
	switch {
	case !ok || records == nil:
		panic("action: InNamespace of a Config whose Releases are not a *storage.Storage")
	case records == c.secrets:
		records = nil // opened again, for the copy's progress
	default:
		records = records.In(namespace)
	}
	other := *c
	other.Events = c.Events.Fork()
	other.connect(c.client, records, namespace)
	return &other
}
