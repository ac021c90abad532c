// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// cluster is a client of the API server, independent of the code under test.
type cluster struct{ *apiserver.Client }

func connect(t *testing.T) *cluster { t.Helper(); return &cluster{apiserver.Connect(t)} }

// kubeconfig writes a kubeconfig for server with the cluster's credentials.
func (c *cluster) kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	ca := ""
	if strings.HasPrefix(server, "https:") {
		ca = ", certificate-authority-data: " + base64.StdEncoding.EncodeToString(c.CA)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "%s"%s}}]
users: [{name: x, user: {token: %s}}]
`, server, ca, c.Token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// object has the fields that the tests compare.
type object struct {
	Metadata struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
	Type string            `json:"type"`
}

func (c *cluster) call(ctx context.Context, method, path, body string) ([]byte, int, error) {
	return c.Call(ctx, method, path, "", body)
}

func (c *cluster) list(t *testing.T, path string) []object {
	t.Helper()
	text, code, err := c.call(t.Context(), http.MethodGet, path, "")
	var list struct {
		Items []object `json:"items"`
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("list %s: %d %s, %v", path, code, text, err)
	}
	return list.Items
}

// kinds are the kinds of objects in the test's chart.
var kinds = map[string]string{
	"ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
	"Service": "/api/v1/namespaces/%s/services", "ServiceAccount": "/api/v1/namespaces/%s/serviceaccounts",
	"Deployment": "/apis/apps/v1/namespaces/%s/deployments", "Job": "/apis/batch/v1/namespaces/%s/jobs",
}

// objects returns the objects of the chart's kinds in a namespace by Kind/name, with the value
// of their label colour.
func (c *cluster) objects(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for kind, path := range kinds {
		for _, o := range c.list(t, fmt.Sprintf(path, namespace)) {
			if o.Metadata.Name != "kube-root-ca.crt" && o.Metadata.Name != "default" && o.Type != "helm.sh/release.v1" {
				out[kind+"/"+o.Metadata.Name] = o.Metadata.Labels["colour"]
			}
		}
	}
	return out
}

// records returns the statuses of all revisions of release web, oldest first. It fails the test
// if a revision is missing or there is an additional Secret.
func (c *cluster) records(t *testing.T, namespace string) []string {
	t.Helper()
	byRevision := map[int]string{}
	for _, o := range c.list(t, fmt.Sprintf("/api/v1/namespaces/%s/secrets", namespace)) {
		if o.Type != "helm.sh/release.v1" {
			continue
		}
		n, err := strconv.Atoi(o.Metadata.Labels["version"])
		if _, twice := byRevision[n]; err != nil || twice || o.Metadata.Name != fmt.Sprintf("sh.helm.release.v1.web.v%d", n) {
			t.Errorf("a Secret too many: %s %v", o.Metadata.Name, o.Metadata.Labels)
		}
		byRevision[n] = o.Metadata.Labels["status"]
		if o.Metadata.Annotations["moonhelm.github.io/holder"] != "" && !strings.HasPrefix(o.Metadata.Labels["status"], "pending-") {
			t.Errorf("someone is said to be at work on revision %d, which is %s", n, o.Metadata.Labels["status"])
		}
	}
	numbers := slices.Sorted(maps.Keys(byRevision))
	var out []string
	for i, n := range numbers {
		if n != numbers[0]+i {
			t.Errorf("revisions have a gap: %v", numbers)
		}
		out = append(out, byRevision[n])
	}
	return out
}

// locks returns the names of the Leases that lock releases.
func (c *cluster) locks(t *testing.T, namespace string) []string {
	t.Helper()
	var out []string
	for _, o := range c.list(t, fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", namespace)) {
		out = append(out, o.Metadata.Name)
	}
	return out
}
