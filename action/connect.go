// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moonhelm/moonhelm/kube"
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
// that s names: releases are recorded in Secrets and locked by Leases. It reads the
// kubeconfig, and makes no request.
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
// must not change afterwards. It makes no request.
func NewConfigFor(config *rest.Config, namespace string) *Config {
	c := &Config{}
	c.connect(kube.New(kube.Options{
		REST:      func() (*rest.Config, error) { return config, nil },
		UserAgent: config.UserAgent,
		Allow:     lock.Check,
	}), namespace)
	return c
}

// connect makes c one for the releases of a namespace.
func (c *Config) connect(client *kube.Client, namespace string) {
	report := func(e progress.Event) { c.Progress.Send(e) } // whatever the caller sets later
	c.client = client.WithProgress(report)
	records := storage.New(storage.Secrets(c.client, namespace), namespace).Guarded(lock.Check)
	c.Cluster, c.Releases = c.client, records
	c.Locker = lock.New(c.client, records, namespace, lock.Options{Progress: report})
}

// InNamespace returns a copy of c for the releases of another namespace, recorded in
// Secrets and locked by Leases there. Both share the connection and what is known of the
// cluster's kinds, so that a program with releases in many namespaces holds it once. c
// must be made by [NewConfig] or [NewConfigFor]; InNamespace panics if it is not.
func (c *Config) InNamespace(namespace string) *Config {
	if c.client == nil {
		panic("action: InNamespace of a Config that NewConfig has not made")
	}
	other := *c
	other.connect(c.client, namespace)
	return &other
}
