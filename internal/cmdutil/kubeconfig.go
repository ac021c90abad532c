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

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube"
)

// lazyKube holds the kubeconfig and the client, which are loaded at the first use.
type lazyKube struct {
	loaded  clientcmd.ClientConfig
	cluster *kube.Client
	podDir  string // directory of the service account's files, "" for serviceAccount
}

func (k *lazyKube) serviceAccount() string {
	if k.podDir != "" {
		return k.podDir
	}
	return serviceAccount
}

func staticConfig(c *rest.Config) func() (*rest.Config, error) {
	return func() (*rest.Config, error) { return c, nil }
}

// kubeconfig returns the user's configuration overridden by the global flags.
func (f *Factory) kubeconfig() clientcmd.ClientConfig {
	if f.kube.loaded == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = f.Settings.KubeConfig
		f.kube.loaded = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, f.Settings.overrides())
	}
	return f.kube.loaded
}

// overrides returns the global flags that override the kubeconfig.
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

// readKubeconfig reads the kubeconfig files. A named pipe without a writer blocks client-go
// forever; readKubeconfig stops when the command's context ends.
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

// maxKubeconfig is the size of the largest kubeconfig file, in bytes.
const maxKubeconfig = 16 << 20

// checkKubeconfig rejects files that client-go would read without end. It accepts pipes, which
// shells create for <(...).
func (f *Factory) checkKubeconfig() error {
	for _, path := range f.kubeconfig().ConfigAccess().GetLoadingPrecedence() {
		info, err := os.Stat(path)
		switch {
		case err != nil: // client-go reports it if the file is needed
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

// Namespace returns the current namespace: --namespace or HELM_NAMESPACE, else the kubeconfig
// context's, else the pod's, else "default". It returns "default" too if the kubeconfig cannot be
// read; [Factory.RESTConfig] returns that error.
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
	if p, ok := detectPod(f.Getenv, f.kube.serviceAccount()); ok {
		return p.namespace(f.Getenv)
	}
	return "default"
}

// RESTConfig returns the configuration for the API server that the kubeconfig or --kube-apiserver
// names, else for the cluster of the pod that helm runs in.
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
	// No client-side limits: the API server has priority and fairness.
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
	// client-go's in-cluster configuration ignores most flags, such as --kube-as-user.
	if p, ok := detectPod(f.Getenv, f.kube.serviceAccount()); ok {
		return p.config(f.Settings.overrides()).ClientConfig()
	}
	return nil, clientcmd.ErrEmptyCluster
}

// Contexts returns the kubeconfig's contexts, sorted by name, for completion.
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

// Context is a context of the kubeconfig and the name of its cluster.
type Context struct{ Name, Cluster string }

// A KubeconfigError is returned if there is no usable kubeconfig.
type KubeconfigError struct {
	Path   string   // "" for the default paths
	Places []string // the paths that were tried
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

// Hint says how to select another kubeconfig, or another context of it.
func (e *KubeconfigError) Hint() string {
	if unknown, ok := errors.AsType[*ContextError](e.Err); ok {
		return unknown.Hint()
	}
	return "set KUBECONFIG or --kubeconfig to your cluster's file, or select a context with --kube-context"
}

// A ContextError is returned if the kubeconfig has no context Name.
type ContextError struct {
	Name     string
	Contexts []string // those that it has
}

func (e *ContextError) Error() string { return fmt.Sprintf("context %q does not exist", e.Name) }

// Hint suggests a similar context, and lists those that there are.
func (e *ContextError) Hint() string {
	const most = 20
	var hints []string
	if near := suggest.Nearest(e.Contexts, e.Name); len(near) > 0 {
		hints = append(hints, "did you mean "+Enumerate(near, "or")+"?")
	}
	switch n := len(e.Contexts); {
	case n == 0:
		hints = append(hints, "the kubeconfig has no contexts: set KUBECONFIG or --kubeconfig to your cluster's file")
	case n == 1:
		hints = append(hints, "the only context is "+e.Contexts[0])
	case n > most:
		hints = append(hints, fmt.Sprintf("the contexts are %s and %d more", strings.Join(e.Contexts[:most], ", "), n-most))
	default:
		hints = append(hints, "the contexts are "+Enumerate(e.Contexts, "and"))
	}
	return strings.Join(hints, "\n")
}

// Enumerate joins words as in a sentence, with a conjunction before the last: "a", "a or b", "a, b or c".
func Enumerate(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
