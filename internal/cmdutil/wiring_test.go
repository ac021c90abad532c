// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
)

// kubeconfig writes a kubeconfig with two contexts and selects it.
func kubeconfig(t *testing.T, server string) *Factory {
	t.Helper()
	path := written(t, "config", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: shop
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: shop, context: {cluster: c, user: u, namespace: shop-ns}}
- {name: plain, context: {cluster: c, user: u}}
`, server))
	f := New(term.Streams{Err: &bytes.Buffer{}})
	f.Settings.KubeConfig = path
	f.Settings.CacheHome = t.TempDir()
	return f
}

func TestNamespace(t *testing.T) {
	for _, test := range []struct {
		name, flag, context, want string
	}{
		{"the context's", "", "", "shop-ns"},
		{"the flag's", "mine", "", "mine"},
		{"of a context without one", "", "plain", "default"},
		{"of a context that is not there", "", "nowhere", "default"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := kubeconfig(t, "https://127.0.0.1:1")
			f.Settings.Namespace, f.Settings.KubeContext = test.flag, test.context
			if got := f.Namespace(); got != test.want {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
		})
	}
}

func TestFlagsOverrideKubeconfig(t *testing.T) {
	f := kubeconfig(t, "https://127.0.0.1:1")
	s := &f.Settings
	s.APIServer, s.Token, s.AsUser, s.AsGroups, s.SkipTLS, s.TLSName = "https://other:6443", "mine", "anna", []string{"g"}, true, "name"
	cfg, err := f.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://other:6443" || cfg.BearerToken != "mine" || cfg.Impersonate.UserName != "anna" || !slices.Equal(cfg.Impersonate.Groups, []string{"g"}) || !cfg.Insecure || cfg.ServerName != "name" {
		t.Errorf("%s", cfg)
	}
}

func TestUnusableKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nowhere"))
	for _, test := range []struct {
		name   string
		change func(*Factory)
		want   string
	}{
		{"there is none", func(f *Factory) { f.Settings.KubeConfig = "" }, "no cluster is configured"},
		{"the file is not there", func(f *Factory) { f.Settings.KubeConfig = "nowhere" }, "read kubeconfig nowhere"},
		{"the context is not there", func(f *Factory) { f.Settings.KubeContext = "nowhere" }, `context "nowhere" does not exist`},
		{"the file is not a kubeconfig", func(f *Factory) { f.Settings.KubeConfig = written(t, "bad", "a: b: c") }, "read kubeconfig"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := kubeconfig(t, "https://127.0.0.1:1")
			test.change(f)
			_, err := f.Cluster()
			var config *KubeconfigError
			if !errors.As(err, &config) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", test.name, err)
			}
			if _, err := f.Records("ns"); err == nil {
				t.Errorf("%s: Records returned no error", test.name)
			}
		})
	}
}

// The client connects at the first request.
func TestClusterIsLazy(t *testing.T) {
	f := kubeconfig(t, "https://127.0.0.1:1")
	a, err := f.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := f.Cluster(); a != b {
		t.Error("two clusters")
	}
}

func TestDrivers(t *testing.T) {
	for driver, good := range map[string]bool{"": true, "secret": true, "secrets": true, "configmap": true, "configmaps": true, "memory": true, "sql": true, "disk": false} {
		f := kubeconfig(t, "https://127.0.0.1:1")
		f.Settings.Driver = driver
		if _, err := f.Records("ns"); (err == nil) != good || !good && !strings.Contains(err.Error(), "HELM_DRIVER") {
			t.Errorf("%q: %v", driver, err)
		}
	}
}

func TestCompletionWithoutCluster(t *testing.T) {
	f := kubeconfig(t, "http://127.0.0.1:1")
	if got, _ := f.CompleteContexts(nil, nil, "s"); !slices.Equal(got, []string{"shop\tc"}) {
		t.Error(got)
	}
	if got := f.Contexts(); len(got) != 2 || got[0].Name != "plain" || got[1].Name != "shop" {
		t.Errorf("contexts are not sorted: %v", got)
	}
	for name, fn := range map[string]cobra.CompletionFunc{"releases": f.CompleteReleases(1), "namespaces": f.CompleteNamespaces} {
		t.Run(name, func(t *testing.T) {
			if got, d := fn(nil, nil, ""); got != nil || d != cobra.ShellCompDirectiveNoFileComp {
				t.Errorf("%s: %v, %d", name, got, d)
			}
		})
	}
	if got, _ := f.CompleteReleases(1)(nil, []string{"web"}, ""); got != nil {
		t.Errorf("completed a second name: %v", got)
	}
}

// A CRD that exists already does not make its hook fail.
func TestCRDHookKeepsExisting(t *testing.T) {
	var posts int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		switch {
		case r.Method == http.MethodPost && r.URL.Path == path:
			posts++
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`)
		case strings.HasPrefix(r.URL.Path, path):
			const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"tabs.x.io","resourceVersion":"1"},"status":{"conditions":[{"type":"Established","status":"True"}]}}`
			if strings.HasSuffix(r.URL.Path, "/tabs.x.io") {
				fmt.Fprint(w, crd)
				return
			}
			fmt.Fprint(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinitionList","metadata":{"resourceVersion":"1"},"items":[`+crd+`]}`)
		case r.URL.Path == "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
				{"metadata":{"name":"apiextensions.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"customresourcedefinitions","responseKind":{"group":"apiextensions.k8s.io","version":"v1","kind":"CustomResourceDefinition"},"scope":"Cluster","singularResource":"customresourcedefinition","verbs":["create","get","list","watch"]}]}]},
				{"metadata":{"name":"x.io"},"versions":[{"version":"v1","resources":[{"resource":"tabs","responseKind":{"group":"x.io","version":"v1","kind":"Tab"},"scope":"Namespaced","singularResource":"tab","verbs":["create"]}]}]}]}`)
		case r.URL.Path == "/api":
			fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	defer server.Close()
	cluster, err := kubeconfig(t, server.URL).Cluster()
	if err != nil {
		t.Fatal(err)
	}
	objs, err := manifest.Parse("h.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tabs.x.io}
spec: {group: x.io, names: {kind: Tab, plural: tabs}, versions: [{name: v1, served: true}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apply.New(cluster, apply.Options{}).CreateHook(t.Context(), objs[0], "ns"); err != nil || posts != 1 {
		t.Errorf("%v, after %d requests", err, posts)
	}
}

func TestCharts(t *testing.T) {
	f := New(term.Streams{})
	dir := filepath.Join(t.TempDir(), "web")
	if err := os.MkdirAll(filepath.Join(dir, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := f.Chart(t.Context(), dir, nil)
	if err != nil || c.Name() != "web" {
		t.Fatal(err)
	}
	path, err := loader.Save(c, t.TempDir(), loader.Options{Version: "2.0.0", AppVersion: "9"})
	if err != nil || filepath.Base(path) != "web-2.0.0.tgz" {
		t.Fatal(path, err)
	}
	if c, err := f.Chart(t.Context(), path, nil); err != nil || c.Version() != "2.0.0" || c.AppVersion() != "9" {
		t.Error(c, err)
	}
	for ref, want := range map[string]string{"./nowhere": "no such file or directory"} {
		t.Run(ref, func(t *testing.T) {
			var notFound *action.ChartNotFoundError
			if _, err := f.Chart(t.Context(), ref, nil); !errors.As(err, &notFound) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", ref, err)
			}
		})
	}
}

func TestLookupHost(t *testing.T) {
	f := New(term.Streams{})
	if got := f.LookupHost("127.0.0.1"); got != "127.0.0.1" {
		t.Error(got)
	}
	if got := f.LookupHost("nowhere.invalid"); got != "" && net.ParseIP(got) == nil {
		t.Error(got)
	}
}

// --no-scripts is for a release whose scripts cannot run: invalid flags for scripts must not
// prevent its uninstall.
func TestNoScripts(t *testing.T) {
	f := kubeconfig(t, "http://127.0.0.1:1")
	f.Getenv = func(name string) string { return map[string]string{"HELM_SCRIPT_MEMORY": "much"}[name] }
	for _, off := range []bool{false, true} {
		config, err := f.Config(ScriptFlags{Off: off, CPU: time.Second}, ApplyFlags{}, 0)
		if (err == nil) != off || off && config.Scripts != nil {
			t.Errorf("off %t: got %v, %v, want an error with scripts, and no error without", off, config, err)
		}
	}
}
