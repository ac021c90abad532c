// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// serviceAccount is where the kubelet puts a pod's token, the cluster's certificate
// authorities and the namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// pod is the pod that helm runs in.
type pod struct {
	server string // the address of the cluster's API server
	dir    string // of the service account's files
}

// inPod returns the pod that helm runs in, by the variables that the kubelet sets and
// the files in dir.
func inPod(getenv func(string) string, dir string) (pod, bool) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	p := pod{server: "https://" + net.JoinHostPort(host, port), dir: dir}
	info, err := os.Stat(filepath.Join(dir, "token"))
	return p, host != "" && port != "" && err == nil && info.Mode().IsRegular()
}

// config is how the pod reaches its cluster, with over laid over it. A token of the
// flags replaces the pod's.
func (p pod) config(over *clientcmd.ConfigOverrides) clientcmd.ClientConfig {
	const name = "pod"
	cluster, user := clientapi.NewCluster(), clientapi.NewAuthInfo()
	cluster.Server = p.server
	if ca := filepath.Join(p.dir, "ca.crt"); exists(ca) {
		cluster.CertificateAuthority = ca
	}
	if over.AuthInfo.Token == "" {
		user.TokenFile = filepath.Join(p.dir, "token") // which is read again when it changes
	}
	config := clientapi.NewConfig()
	config.Clusters[name], config.AuthInfos[name] = cluster, user
	config.Contexts[name] = &clientapi.Context{Cluster: name, AuthInfo: name}
	return clientcmd.NewNonInteractiveClientConfig(*config, name, over, nil)
}

// namespace is the pod's: what POD_NAMESPACE says, as for other clients, else the file.
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

// contextName is the name of the context in force.
func (s *Settings) contextName(config clientapi.Config) string {
	if s.KubeContext != "" {
		return s.KubeContext
	}
	return config.CurrentContext
}

// namesCluster reports whether config or a flag names a cluster. An error is returned
// where they name a context that does not exist.
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
		return false, fmt.Errorf("context %q does not exist", name)
	}
	return false, nil
}
