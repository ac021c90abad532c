// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/internal/term"
)

// podCA is the CA certificate of a service account.
const podCA = `-----BEGIN CERTIFICATE-----
CERT
-----END CERTIFICATE-----
`

// newPod returns a Factory in a pod in the namespace "podns", with environment variables, flags,
// and the text of a kubeconfig file.
func newPod(t *testing.T, vars map[string]string, kubeconfig string, flags ...string) *Factory {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "pods-token", "ca.crt": podCA, "namespace": "podns\n", "other.crt": podCA} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "kubeconfig")
	if kubeconfig != "" {
		if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", path)
	all := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
	for name, value := range vars {
		all[name] = strings.ReplaceAll(value, "DIR", dir)
	}
	f := New(term.Streams{Getenv: from(all)})
	f.kube.podDir = dir
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Settings.Bind(fs)
	for i := range flags {
		flags[i] = strings.ReplaceAll(flags[i], "DIR", dir)
	}
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return f
}

// connection returns the server and the credentials of a configuration.
func connection(c *rest.Config) string {
	tls := c.TLSClientConfig
	return fmt.Sprintf("%s token=%s file=%s ca=%s insecure=%t name=%s as=%s/%s", c.Host, c.BearerToken, base(c.BearerTokenFile),
		base(tls.CAFile), tls.Insecure, tls.ServerName, c.Impersonate.UserName, strings.Join(c.Impersonate.Groups, ","))
}

func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

const (
	noCluster   = "apiVersion: v1\nkind: Config\nclusters: []\n"
	goneCluster = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: gone, namespace: shop}}]\n"
	named       = `
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: c, user: u, namespace: shop}}]
clusters: [{name: c, cluster: {server: "https://named:6443"}}]
users: [{name: u, user: {token: named-token}}]
`
)

func TestPodConnection(t *testing.T) {
	type flags []string
	const pods = "https://10.0.0.1:443 token=pods-token file=token ca=ca.crt insecure=false name= as=/"
	for _, test := range []struct {
		name       string
		vars       map[string]string
		kubeconfig string
		flags      flags
		want       string
	}{
		{"no kubeconfig", nil, "", nil, pods},
		{"a kubeconfig without clusters", nil, noCluster, nil, pods},
		{"a context whose cluster is not there", nil, goneCluster, nil, pods},
		{"as another user", nil, "", flags{"--kube-as-user=bob", "--kube-as-group=g", "--kube-as-group=h"}, strings.Replace(pods, "as=/", "as=bob/g,h", 1)},
		{"as another user, where the context's cluster is not there", nil, goneCluster, flags{"--kube-as-user=bob"}, strings.Replace(pods, "as=/", "as=bob/", 1)},
		{"as another user, by variables", map[string]string{"HELM_KUBEASUSER": "bob", "HELM_KUBEASGROUPS": "g"}, "", nil, strings.Replace(pods, "as=/", "as=bob/g", 1)},
		{"a token", nil, "", flags{"--kube-token=mine"}, strings.Replace(pods, "token=pods-token file=token", "token=mine file=", 1)},
		{"a token, by its variable", map[string]string{"HELM_KUBETOKEN": "mine"}, "", nil, strings.Replace(pods, "token=pods-token file=token", "token=mine file=", 1)},
		{"authorities", nil, "", flags{"--kube-ca-file=DIR/other.crt"}, strings.Replace(pods, "ca=ca.crt", "ca=other.crt", 1)},
		{"authorities, by their variable", map[string]string{"HELM_KUBECAFILE": "DIR/other.crt"}, "", nil, strings.Replace(pods, "ca=ca.crt", "ca=other.crt", 1)},
		{"no verification", nil, "", flags{"--kube-insecure-skip-tls-verify"}, strings.Replace(pods, "ca=ca.crt insecure=false", "ca= insecure=true", 1)},
		{"no verification, by its variable", map[string]string{"HELM_KUBEINSECURE_SKIP_TLS_VERIFY": "1"}, "", nil, strings.Replace(pods, "ca=ca.crt insecure=false", "ca= insecure=true", 1)},
		{"a server's name", nil, "", flags{"--kube-tls-server-name=n"}, strings.Replace(pods, "name=", "name=n", 1)},
		{"a server's name, by its variable", map[string]string{"HELM_KUBETLS_SERVER_NAME": "n"}, "", nil, strings.Replace(pods, "name=", "name=n", 1)},
		{"IPv6", map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1"}, "", nil, strings.Replace(pods, "10.0.0.1", "[fd00::1]", 1)},
		{"another server gets nothing of the pod's", nil, "", flags{"--kube-apiserver=https://other"}, "https://other token= file= ca= insecure=false name= as=/"},
		{"another server, by its variable", map[string]string{"HELM_KUBEAPISERVER": "https://other"}, "", nil, "https://other token= file= ca= insecure=false name= as=/"},
		{"a kubeconfig is stronger", nil, named, nil, "https://named:6443 token=named-token file= ca= insecure=false name= as=/"},
		{"a kubeconfig, with flags", nil, named, flags{"--kube-context=b", "--kube-as-user=bob"}, "https://named:6443 token=named-token file= ca= insecure=false name= as=bob/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config, err := newPod(t, test.vars, test.kubeconfig, test.flags...).RESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			if got := connection(config); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNoConnection(t *testing.T) {
	outside := map[string]string{"KUBERNETES_SERVICE_HOST": ""}
	for _, test := range []struct {
		name, kubeconfig, flag, want string
		vars                         map[string]string
	}{
		{"outside a pod", "", "--debug", "no cluster is configured", outside},
		{"outside a pod, with a flag", "", "--kube-ca-file=x", "no cluster is configured", outside},
		{"outside a pod, as another user", goneCluster, "--kube-as-user=bob", "no cluster is configured", outside},
		{"a context that is not there", named, "--kube-context=nosuch", `context "nosuch" does not exist`, nil},
		{"a current context that is not there", "current-context: nosuch\n", "--debug", `context "nosuch" does not exist`, nil},
		{"a broken file", "{{{", "--debug", "error loading config file", nil},
		{"a file that is not there", "", "--kubeconfig=nosuch", "nosuch: no such file", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			config, err := newPod(t, test.vars, test.kubeconfig, test.flag).RESTConfig()
			var want *KubeconfigError
			if !errors.As(err, &want) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want %s", config, err, test.want)
			}
		})
	}
}

func TestPodNamespace(t *testing.T) {
	for _, test := range []struct {
		name, kubeconfig, flag, want string
		vars                         map[string]string
	}{
		{"the pod's", "", "--debug", "podns", nil},
		{"what the downward API says", "", "--debug", "down", map[string]string{"POD_NAMESPACE": "down"}},
		{"outside a pod", "", "--debug", "default", map[string]string{"KUBERNETES_SERVICE_PORT": ""}},
		{"the flag's", "", "--namespace=flag", "flag", nil},
		{"the variable's", "", "--debug", "variable", map[string]string{"HELM_NAMESPACE": "variable"}},
		{"the context's", named, "--kube-context=b", "shop", nil},
		{"the context's, whose cluster is not there", goneCluster, "--debug", "shop", nil},
		{"the pod's, where the context has none", named, "--debug", "podns", nil},
		{"a context that is not there", named, "--kube-context=nosuch", "default", nil},
		{"a broken file", "{{{", "--debug", "default", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := newPod(t, test.vars, test.kubeconfig, test.flag).Namespace(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
