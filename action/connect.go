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

// KubeSettings select a cluster and a namespace as kubectl's flags do. The zero value
// selects the current context of the user's kubeconfig, or, in a pod without one, the
// pod's cluster.
type KubeSettings struct {
	// Kubeconfig is the path of the kubeconfig file; "" means $KUBECONFIG, or
	// ~/.kube/config if that is not set.
	Kubeconfig string
	// Context is the name of a kubeconfig context; "" means the current context.
	Context string
	// Namespace is the namespace of the releases; "" means the context's namespace.
	Namespace string
}

// NewConfig returns a Config for the cluster and namespace of s. Releases are recorded in
// Secrets and locked by Leases, and Events is an empty bus. NewConfig reads the kubeconfig,
// and makes no request.
func NewConfig(s KubeSettings) (*Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: s.Context}
	overrides.Context.Namespace = s.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
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

// NewConfigFor is like [NewConfig], but connects with a REST configuration. config must
// not change afterwards; if it is nil, every request fails with a [*ConfigError].
// NewConfigFor makes no request.
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

// connect sets the fields of c for the releases of a namespace, with records in Secrets if
// records is nil.
func (c *Config) connect(client *kube.Client, records *storage.Storage, namespace string) {
	report := func(e progress.Event) { c.Progress.Send(e) } // the caller may set Progress later
	c.client = client.WithProgress(report)
	c.secrets = nil
	if records == nil {
		records = storage.New(storage.Secrets(c.client, namespace), namespace)
		c.secrets = records
	}
	if c.applier == nil {
		c.applier = apply.New(c.client, apply.Options{})
	}
	c.applier = c.applier.WithClient(c.client)
	c.Cluster, c.Releases = newKubeCluster(c.client, c.applier), records
	c.Locker = lock.New(c.client, records, namespace, lock.Options{Progress: report})
}

// Client returns the connection to the cluster, for drivers of package storage that keep
// records there. It returns nil if c was not created by [NewConfig] or [NewConfigFor].
func (c *Config) Client() *kube.Client { return c.client }

// InNamespace returns a copy of c for the releases of another namespace, recorded by the
// same driver and locked by Leases there. Both share the connection and the discovery
// cache, so that a program with releases in many namespaces has one of each. InNamespace
// panics if c was not created by [NewConfig] or [NewConfigFor], or if c.Releases has been
// set to a value other than a [*storage.Storage]. The handlers of c.Events handle the
// copy's events too; handlers added to the copy do not handle c's.
func (c *Config) InNamespace(namespace string) *Config {
	if c.client == nil {
		panic("action: InNamespace: the Config was not created by NewConfig")
	}
	records, ok := c.Releases.(*storage.Storage)
	switch {
	case !ok || records == nil:
		panic("action: InNamespace: Config.Releases is not a *storage.Storage")
	case records == c.secrets:
		records = nil // connect opens them again, with the copy's Progress
	default:
		records = records.In(namespace)
	}
	other := *c
	other.Events = c.Events.Fork()
	other.connect(c.client, records, namespace)
	return &other
}
