// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// cluster is the API server of the tests, asked directly.
type cluster struct {
	base, token string
	transport   *http.Transport
}

// kubeconfig is the part of such a file that the control plane writes.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `yaml:"server"`
			CA     string `yaml:"certificate-authority-data"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		User struct {
			Token string `yaml:"token"`
		} `yaml:"user"`
	} `yaml:"users"`
}

func connect(t *testing.T) *cluster {
	t.Helper()
	path := os.Getenv("MOONHELM_TEST_KUBECONFIG")
	if path == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var k kubeconfig
	if err := yaml.Unmarshal(text, &k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		t.Fatalf("read %s: %v", path, err)
	}
	pem, err := base64.StdEncoding.DecodeString(k.Clusters[0].Cluster.CA)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("read %s: the certificate authority: %v", path, err)
	}
	return &cluster{
		base: strings.TrimSuffix(k.Clusters[0].Cluster.Server, "/"), token: k.Users[0].User.Token,
		transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
	}
}

func (c *cluster) call(ctx context.Context, method, path, contentType, body string) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", contentType)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return text, resp.StatusCode, err
}

// namespace makes one that is deleted with the test.
func (c *cluster) namespace(t *testing.T) space {
	t.Helper()
	s := space{c, fmt.Sprintf("compat-%08x", rand.Uint32())}
	text, code, err := c.call(t.Context(), http.MethodPost, "/api/v1/namespaces", "application/json", `{"metadata":{"name":"`+s.name+`"}}`)
	if err != nil || code != http.StatusCreated {
		t.Fatalf("create namespace %s: %d %s, %v", s.name, code, text, err)
	}
	t.Cleanup(func() {
		_, _, _ = c.call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+s.name, "application/json", "")
	})
	return s
}

// space is a namespace.
type space struct {
	*cluster
	name string
}

// path leads to the objects of a kind, or to one of them.
func (s space) path(kind, name string) string {
	at := map[string]string{
		"ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
		"Service": "/api/v1/namespaces/%s/services", "Pod": "/api/v1/namespaces/%s/pods",
		"Deployment": "/apis/apps/v1/namespaces/%s/deployments",
	}[kind]
	return strings.TrimSuffix(fmt.Sprintf(at, s.name)+"/"+name, "/")
}

// object is nil where there is none.
func (s space) object(t *testing.T, kind, name string) map[string]any {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path(kind, name), "", "")
	var o map[string]any
	switch {
	case err == nil && code == http.StatusNotFound:
		return nil
	case err != nil || code != http.StatusOK || json.Unmarshal(text, &o) != nil:
		t.Fatalf("get %s/%s: %d %s, %v", kind, name, code, text, err)
	}
	return o
}

// patch changes an object as one who is no helm.
func (s space) patch(t *testing.T, kind, name, body string) {
	t.Helper()
	path := s.path(kind, name) + "?fieldManager=" + url.QueryEscape("somebody-else")
	text, code, err := s.call(t.Context(), http.MethodPatch, path, "application/strategic-merge-patch+json", body)
	if err != nil || code != http.StatusOK {
		t.Fatalf("patch %s/%s: %d %s, %v", kind, name, code, text, err)
	}
}

// records are the statuses of all revisions of a release, oldest first.
func (s space) records(t *testing.T, release string) []string {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path("Secret", "")+"?labelSelector="+url.QueryEscape("owner=helm,name="+release), "", "")
	var list struct {
		Items []struct {
			Metadata struct{ Labels map[string]string }
		}
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("list the records: %d %s, %v", code, text, err)
	}
	slices.SortFunc(list.Items, func(a, b struct {
		Metadata struct{ Labels map[string]string }
	}) int {
		x, _ := strconv.Atoi(a.Metadata.Labels["version"]) // what is no number stands in front
		y, _ := strconv.Atoi(b.Metadata.Labels["version"])
		return x - y
	})
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Metadata.Labels["version"]+" "+o.Metadata.Labels["status"])
	}
	return out
}

// secrets are the names of all Secrets, of records and their parts.
func secrets(t *testing.T, s space) []string {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path("Secret", ""), "", "")
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("list Secrets: %d %s, %v", code, text, err)
	}
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Metadata.Name)
	}
	return out
}

// at is what stands at a path of keys and indices, nil where nothing does.
func at(o any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := o.(map[string]any)
			o = m[p]
		case int:
			l, _ := o.([]any)
			if p >= len(l) {
				return nil
			}
			o = l[p]
		}
	}
	return o
}

// eventually waits for what somebody else does.
func eventually(holds func() bool) bool {
	for range 300 {
		if holds() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
