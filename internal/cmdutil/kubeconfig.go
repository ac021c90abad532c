// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube"
)

// lazyKube is the kubeconfig, read when first asked for.
type lazyKube struct {
	loaded  clientcmd.ClientConfig
	cluster *kube.Client
	podDir  string // of the service account's files; "" is where the kubelet puts them
}

func (k *lazyKube) serviceAccount() string {
	if k.podDir != "" {
		return k.podDir
	}
	return serviceAccount
}

func constant(c *rest.Config) func() (*rest.Config, error) {
	return func() (*rest.Config, error) { return c, nil }
}

// kubeconfig is the user's configuration with the global flags laid over it.
func (f *Factory) kubeconfig() clientcmd.ClientConfig {
	if f.kube.loaded == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = f.Settings.KubeConfig
		f.kube.loaded = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, f.Settings.overrides())
	}
	return f.kube.loaded
}

// overrides are the global flags that say something about the cluster.
func (s *Settings) overrides() *clientcmd.ConfigOverrides {
	return &clientcmd.ConfigOverrides{
		CurrentContext: s.KubeContext,
		AuthInfo:       clientapi.AuthInfo{Token: s.Token, Impersonate: s.AsUser, ImpersonateGroups: s.AsGroups},
		ClusterInfo: clientapi.Cluster{
			Server:                s.APIServer,
			CertificateAuthority:  s.CAFile,
			InsecureSkipTLSVerify: s.SkipTLS,
			TLSServerName:         s.TLSName,
		},
	}
}

// readKubeconfig reads the files. The client's library waits without end for a pipe
// that no one writes to; this waits until the command ends.
func (f *Factory) readKubeconfig() (clientapi.Config, error) {
	if err := f.checkKubeconfig(); err != nil {
		return clientapi.Config{}, err
	}
	config := f.kubeconfig()
	if !slices.ContainsFunc(config.ConfigAccess().GetLoadingPrecedence(), isPipe) {
		return config.RawConfig()
	}
	read, err := term.Until(f.Context, config.RawConfig)
	if f.Context.Err() != nil {
		return read, f.Context.Err()
	}
	return read, err
}

func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// maxKubeconfig is the largest kubeconfig file that is read, in bytes.
const maxKubeconfig = 16 << 20

// checkKubeconfig refuses files that the client's library would read without
// end. Pipes pass: shells make them of <(...).
func (f *Factory) checkKubeconfig() error {
	for _, path := range f.kubeconfig().ConfigAccess().GetLoadingPrecedence() {
		info, err := os.Stat(path)
		switch {
		case err != nil: // the library tells, once the file is needed
		case info.IsDir():
			return &KubeconfigError{Path: path, Err: errors.New("it is a directory")}
		case info.Mode()&os.ModeDevice != 0 && path != os.DevNull:
			return &KubeconfigError{Path: path, Err: errors.New("it is a device, not a file")}
		case info.Size() > maxKubeconfig:
			return &KubeconfigError{Path: path, Err: fmt.Errorf("it is larger than %d MiB", maxKubeconfig>>20)}
		}
	}
	return nil
}

// Namespace is the one in force: -n or HELM_NAMESPACE, else the kubeconfig
// context's, else the pod's, else "default". A kubeconfig that cannot be read gives
// "default"; [Factory.RESTConfig] reports it.
func (f *Factory) Namespace() string {
	if f.Settings.Namespace != "" {
		return f.Settings.Namespace
	}
	config, err := f.readKubeconfig()
	if err != nil {
		return "default"
	}
	name := f.Settings.contextName(config)
	context := config.Contexts[name]
	switch {
	case context != nil && context.Namespace != "":
		return context.Namespace
	case context == nil && name != "":
		return "default"
	}
	if p, ok := inPod(f.Getenv, f.kube.serviceAccount()); ok {
		return p.namespace(f.Getenv)
	}
	return "default"
}

// RESTConfig is how to reach the API server: the one that the kubeconfig or
// --kube-apiserver names, else the one of the pod that helm runs in.
func (f *Factory) RESTConfig() (*rest.Config, error) {
	cfg, err := f.restConfig()
	var bad *KubeconfigError
	switch {
	case f.Context.Err() != nil:
		return nil, f.Context.Err()
	case errors.As(err, &bad):
		return nil, err
	case err != nil:
		return nil, &KubeconfigError{Path: f.Settings.KubeConfig,
			Places: f.kubeconfig().ConfigAccess().GetLoadingPrecedence(), Err: err}
	}
	cfg.UserAgent = "Helm/moonhelm"
	// No limit on the client's side: the API server's own flow control decides.
	cfg.QPS, cfg.Burst = -1, -1
	return cfg, nil
}

func (f *Factory) restConfig() (*rest.Config, error) {
	read, err := f.readKubeconfig()
	if err != nil {
		return nil, err
	}
	named, err := f.Settings.namesCluster(read)
	if err != nil {
		return nil, err
	}
	if named {
		return f.kubeconfig().ClientConfig()
	}
	// The library's own way into a pod's cluster drops most flags, --kube-as-user too.
	if p, ok := inPod(f.Getenv, f.kube.serviceAccount()); ok {
		return p.config(f.Settings.overrides()).ClientConfig()
	}
	return nil, clientcmd.ErrEmptyCluster
}

// Contexts lists the kubeconfig's contexts by name, for completion.
func (f *Factory) Contexts() []Context {
	config, err := f.readKubeconfig()
	if err != nil {
		return nil
	}
	var out []Context
	for _, name := range slices.Sorted(maps.Keys(config.Contexts)) {
		out = append(out, Context{Name: name, Cluster: config.Contexts[name].Cluster})
	}
	return out
}

// Context is a context of the kubeconfig, with the name of its cluster.
type Context struct{ Name, Cluster string }

// A KubeconfigError is returned when no usable kubeconfig was found.
type KubeconfigError struct {
	Path   string   // "" for the default places
	Places []string // where it was looked for
	Err    error
}

func (e *KubeconfigError) Error() string {
	if clientcmd.IsEmptyConfig(e.Err) || errors.Is(e.Err, clientcmd.ErrEmptyCluster) {
		looked := ""
		if len(e.Places) > 0 {
			looked = " (looked at " + strings.Join(e.Places, ", ") + ")"
		}
		return "Kubernetes cluster unreachable: no cluster is configured: there is no kubeconfig file, or it " +
			"names no current context" + looked
	}
	if e.Path != "" {
		return fmt.Sprintf("Kubernetes cluster unreachable: read kubeconfig %s: %s", e.Path, e.Err)
	}
	return fmt.Sprintf("Kubernetes cluster unreachable: read kubeconfig: %s", e.Err)
}

func (e *KubeconfigError) Unwrap() error { return e.Err }

// Hint says how to name another kubeconfig.
func (e *KubeconfigError) Hint() string {
	return "point KUBECONFIG or --kubeconfig at your cluster's file, or choose a context with --kube-context"
}
