// SPDX-License-Identifier: Apache-2.0

package env

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
)

// lazyKube is the kubeconfig, read when somebody first asks.
type lazyKube struct {
	loaded  clientcmd.ClientConfig
	cluster *Cluster
}

func constant(c *rest.Config) func() (*rest.Config, error) {
	return func() (*rest.Config, error) { return c, nil }
}

// kubeconfig is the user's configuration with the global flags laid over it.
func (e *Env) kubeconfig() clientcmd.ClientConfig {
	if e.kube.loaded != nil {
		return e.kube.loaded
	}
	s := e.Settings
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.KubeConfig
	over := &clientcmd.ConfigOverrides{
		CurrentContext: s.KubeContext,
		AuthInfo:       clientapi.AuthInfo{Token: s.Token, Impersonate: s.AsUser, ImpersonateGroups: s.AsGroups},
		ClusterInfo: clientapi.Cluster{
			Server:                s.APIServer,
			CertificateAuthority:  s.CAFile,
			InsecureSkipTLSVerify: s.SkipTLS,
			TLSServerName:         s.TLSName,
		},
	}
	e.kube.loaded = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, over)
	return e.kube.loaded
}

// readKubeconfig has the files read. The client's library waits without end for a pipe
// that no one writes to; this waits until the command ends.
func (e *Env) readKubeconfig() error {
	config := e.kubeconfig()
	if !slices.ContainsFunc(config.ConfigAccess().GetLoadingPrecedence(), isPipe) {
		return nil // it is read when it is needed
	}
	_, err := term.Until(e.Context, config.RawConfig)
	if e.Context.Err() != nil {
		return e.Context.Err()
	}
	return err
}

func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// maxKubeconfig is the largest kubeconfig file that is read, in bytes.
const maxKubeconfig = 16 << 20

// checkKubeconfig refuses files that the client's library would read without
// end. Pipes pass: shells make them of <(...).
func (e *Env) checkKubeconfig() error {
	for _, path := range e.kubeconfig().ConfigAccess().GetLoadingPrecedence() {
		info, err := os.Stat(path)
		switch {
		case err != nil: // the library tells, once somebody needs the file
		case info.IsDir():
			return &KubeconfigError{Path: path, Err: errors.New("it is a folder")}
		case info.Mode()&os.ModeDevice != 0 && path != os.DevNull:
			return &KubeconfigError{Path: path, Err: errors.New("it is a device, not a file")}
		case info.Size() > maxKubeconfig:
			return &KubeconfigError{Path: path, Err: fmt.Errorf("it is larger than %d MiB", maxKubeconfig>>20)}
		}
	}
	return nil
}

// Namespace is the one in force: -n or HELM_NAMESPACE, else the kubeconfig
// context's, else "default". A kubeconfig that cannot be read gives "default";
// [Env.RESTConfig] reports it.
func (e *Env) Namespace() string {
	if e.Settings.Namespace != "" {
		return e.Settings.Namespace
	}
	if e.readKubeconfig() != nil {
		return "default"
	}
	if ns, _, err := e.kubeconfig().Namespace(); err == nil && ns != "" {
		return ns
	}
	return "default"
}

// RESTConfig is how to reach the API server.
func (e *Env) RESTConfig() (*rest.Config, error) {
	err := e.readKubeconfig()
	if e.Context.Err() != nil {
		return nil, e.Context.Err()
	}
	var cfg *rest.Config
	if err == nil {
		cfg, err = e.kubeconfig().ClientConfig()
	}
	if err != nil {
		return nil, &KubeconfigError{Path: e.Settings.KubeConfig, Places: e.kubeconfig().ConfigAccess().GetLoadingPrecedence(), Err: err}
	}
	cfg.UserAgent = "Helm/moonhelm"
	// The API server's own flow control decides; see DESIGN.md.
	cfg.QPS, cfg.Burst = -1, -1
	return cfg, nil
}

// Contexts lists the names of the kubeconfig's contexts, sorted, for completion.
func (e *Env) Contexts() []string {
	if e.readKubeconfig() != nil {
		return nil
	}
	raw, err := e.kubeconfig().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// KubeconfigError tells that no usable kubeconfig was found.
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
		return "no cluster is configured: there is no kubeconfig file, or it names no current context" + looked
	}
	if e.Path != "" {
		return fmt.Sprintf("read kubeconfig %s: %s", e.Path, e.Err)
	}
	return fmt.Sprintf("read kubeconfig: %s", e.Err)
}

func (e *KubeconfigError) Unwrap() error { return e.Err }
