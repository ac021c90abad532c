// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// recorded returns the records of namespaces, in memory: those of releases, which are called
// "namespace/name", or "namespace/name uninstalled".
func recorded(t *testing.T, releases ...string) func(namespace string) (*storage.Storage, error) {
	t.Helper()
	cluster := kubetest.Start()
	t.Cleanup(cluster.Close)
	open := func(namespace string) (*storage.Storage, error) {
		dir := t.TempDir()
		filetest.WriteFile(t, filepath.Join(dir, "config"), kubeconfigFor(cluster.Config().Host))
		f := cmdutil.New(term.Streams{})
		f.Settings.KubeConfig = filepath.Join(dir, "config")
		return f.Records(namespace)
	}
	for _, r := range releases {
		r, uninstalled := strings.CutSuffix(r, " uninstalled")
		namespace, name, _ := strings.Cut(r, "/")
		records, err := open(namespace)
		if err != nil {
			t.Fatal(err)
		}
		rel := &release.Release{Name: name, Namespace: namespace, Revision: 1,
			Info: release.Info{Status: release.Deployed, LastDeployed: time.Now()}}
		if uninstalled {
			rel.Info.Status = release.Uninstalled
		}
		if err := records.Create(t.Context(), rel); err != nil {
			t.Fatal(err)
		}
	}
	return open
}

// kubeconfigFor returns a kubeconfig for the API server at an address.
func kubeconfigFor(address string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: example
contexts: [{name: example, context: {cluster: example, user: ann}}, {name: production, context: {cluster: example, user: ann}}]
clusters: [{name: example, cluster: {server: %q}}]
users: [{name: ann, user: {}}]
`, address)
}

func TestNearby(t *testing.T) {
	records := recorded(t, "ux-list/cross", "b/cross", "b/old uninstalled", "a/customer-facing-app-1", "c/web", "d/web", "e/web",
		"f/web", "g/web", "h/web", "i/only")
	for _, c := range []struct {
		name, namespace, release string
		want                     []string
	}{
		{"in another namespace", "a", "only", []string{"only is installed in namespace i: add --namespace i"}},
		{"in two", "a", "cross", []string{"cross is installed in the namespaces b and ux-list: select one with --namespace"}},
		{"in many", "a", "web",
			[]string{"web is installed in the namespaces c, d, e, f, g and 1 more: select one with --namespace"}},
		{"misspelled", "a", "customer-facing-ap-1", []string{"did you mean customer-facing-app-1?"}},
		{"misspelled, and elsewhere", "b", "web", []string{
			"web is installed in the namespaces c, d, e, f, g and 1 more: select one with --namespace"}},
		{"the beginning of a name", "ux-list", "cros", []string{"did you mean cross?"}},
		{"uninstalled there", "a", "old", nil},
		{"nothing like it", "a", "nosuchthing", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := nearby(t.Context(), records, storage.Key{Namespace: c.namespace, Name: c.release})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNearbyErrors(t *testing.T) {
	unknown := &storage.NotFoundError{Key: storage.Key{Namespace: "a", Name: "web"}}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"a release", unknown, true},
		{"wrapped", fmt.Errorf("uninstall web: %w", unknown), true},
		{"to upgrade", &action.NoReleaseError{Namespace: "a", Name: "web"}, true},
		{"an uninstalled release", &action.NoReleaseError{Namespace: "a", Name: "web", Uninstalled: true}, false},
		{"a revision", &storage.NotFoundError{Key: storage.Key{Namespace: "a", Name: "web", Revision: 3}}, false},
		{"another error", context.Canceled, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := missingRelease(c.err); got != c.want {
				t.Errorf("missingRelease(%v) = %v, want %v", c.err, got, c.want)
			}
		})
	}
}

// A user who may not list other namespaces sees the hints that there were before.
func TestNearbyIsSilentWithoutPermission(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	address, err := url.Parse(cluster.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	var lists []string
	proxy := httputil.NewSingleHostReverseProxy(address)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/secrets") {
			lists = append(lists, r.URL.Path)
		}
		if r.URL.Path == "/api/v1/secrets" {
			http.Error(w, `{"kind": "Status", "reason": "Forbidden", "message": "no", "code": 403}`, http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	filetest.WriteFile(t, filepath.Join(dir, "config"), kubeconfigFor(server.URL))
	var stderr bytes.Buffer
	f := cmdutil.New(term.Streams{Err: &stderr, Getenv: func(name string) string {
		return map[string]string{"HOME": dir, "KUBECONFIG": filepath.Join(dir, "config")}[name]
	}})
	if code := Run(t.Context(), []string{"history", "web", "--kubeconfig", filepath.Join(dir, "config")}, f); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	const want = "Error: release: not found: \"web\" in namespace \"default\"\n" +
		"hint: helm list --all-namespaces shows what is installed; -n chooses the namespace\n"
	if got := stderr.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// One request of the command, and two for the hint.
	if want := []string{"/api/v1/namespaces/default/secrets", "/api/v1/secrets", "/api/v1/namespaces/default/secrets"}; !slices.Equal(lists, want) {
		t.Errorf("lists of %q, want %q", lists, want)
	}
}

// An unknown context of the kubeconfig lists the contexts.
func TestContextHints(t *testing.T) {
	dir := t.TempDir()
	filetest.WriteFile(t, filepath.Join(dir, "config"), kubeconfigFor("http://127.0.0.1:1"))
	for name, want := range map[string][]string{
		"prodution": {"did you mean production?", "the contexts are example and production"},
		"nowhere":   {"the contexts are example and production"},
	} {
		t.Run(name, func(t *testing.T) {
			f := cmdutil.New(term.Streams{})
			f.Settings.KubeConfig, f.Settings.KubeContext = filepath.Join(dir, "config"), name
			_, err := f.RESTConfig()
			if got := hint.Of(err); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
