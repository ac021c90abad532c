// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// serviceAccount is the directory in which the kubelet mounts the service account's token, CA
// certificates and namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// pod is the pod that helm runs in.
type pod struct {
	server string // URL of the cluster's API server
	dir    string // directory of the service account's files
}

// detectPod returns the pod that helm runs in, and whether there is one, from the variables that
// the kubelet sets and the files in dir.
func detectPod(getenv func(string) string, dir string) (pod, bool) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	p := pod{server: "https://" + net.JoinHostPort(host, port), dir: dir}
	info, err := os.Stat(filepath.Join(dir, "token"))
	return p, host != "" && port != "" && err == nil && info.Mode().IsRegular()
}

// config returns the configuration for the pod's cluster, with overrides. A token in overrides
// replaces the pod's.
func (p pod) config(overrides *clientcmd.ConfigOverrides) clientcmd.ClientConfig {
	const name = "pod"
	cluster, user := clientapi.NewCluster(), clientapi.NewAuthInfo()
	cluster.Server = p.server
	if ca := filepath.Join(p.dir, "ca.crt"); exists(ca) {
		cluster.CertificateAuthority = ca
	}
	if overrides.AuthInfo.Token == "" {
		user.TokenFile = filepath.Join(p.dir, "token") // client-go reads it again when it changes
	}
	config := clientapi.NewConfig()
	config.Clusters[name], config.AuthInfos[name] = cluster, user
	config.Contexts[name] = &clientapi.Context{Cluster: name, AuthInfo: name}
	return clientcmd.NewNonInteractiveClientConfig(*config, name, overrides, nil)
}

// namespace returns the pod's namespace: POD_NAMESPACE, as for other clients, else the file's
// content.
func (p pod) namespace(getenv func(string) string) string {
	if ns := getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	data, _ := os.ReadFile(filepath.Join(p.dir, "namespace"))
	if ns := strings.TrimSpace(string(data)); ns != "" {
		return ns
	}
	return "default"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// contextName returns the name of the current context.
func (s *Settings) contextName(config clientapi.Config) string {
	if s.KubeContext != "" {
		return s.KubeContext
	}
	return config.CurrentContext
}

// namesCluster reports whether config or a flag names a cluster. It returns an error if they name a
// context that does not exist.
func (s *Settings) namesCluster(config clientapi.Config) (bool, error) {
	if s.APIServer != "" {
		return true, nil
	}
	name := s.contextName(config)
	context := config.Contexts[name]
	switch {
	case context != nil:
		cluster := config.Clusters[context.Cluster]
		return cluster != nil && cluster.Server != "", nil
	case name != "":
		return false, &ContextError{Name: name, Contexts: slices.Sorted(maps.Keys(config.Contexts))}
	}
	return false, nil
}
