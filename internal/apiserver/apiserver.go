// SPDX-License-Identifier: Apache-2.0

// Package apiserver is a client of the API server of test/cluster for tests, independent of
// the code that they test:
//
//	server := apiserver.Connect(t)
//	text, status, err := server.Call(t.Context(), http.MethodGet, "/api/v1/namespaces", "", "")
//
// It supports only the kubeconfigs that test/cluster writes, and does not need client-go, so
// that every module of this repository can use it.
package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Environment variables with the paths of kubeconfigs of a disposable cluster: an
// administrator's, and one of a user without permissions. test/with-cluster.sh sets them.
const (
	Kubeconfig           = "MOONHELM_TEST_KUBECONFIG"
	RestrictedKubeconfig = "MOONHELM_TEST_RESTRICTED_KUBECONFIG"
)

const namespaces = "/api/v1/namespaces"

// Client is a client of an API server. It is safe for concurrent use.
type Client struct {
	Base, Token string
	CA          []byte // PEM
	Transport   *http.Transport
}

// kubeconfig is the part of a kubeconfig that is used.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Token string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

// Connect returns a client for the kubeconfig in [Kubeconfig]. It skips the test if the
// variable is not set.
func Connect(t testing.TB) *Client {
	t.Helper()
	path := os.Getenv(Kubeconfig)
	if path == "" {
		t.Skip("no cluster: test/with-cluster.sh starts one (" + Kubeconfig + ")")
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Open returns a client for a kubeconfig of test/cluster.
func Open(path string) (*Client, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var k kubeconfig
	if err := yaml.Unmarshal(text, &k); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, fmt.Errorf("read %s: want one cluster and one user, got %d and %d", path, len(k.Clusters), len(k.Users))
	}
	cluster, user := k.Clusters[0].Cluster, k.Users[0].User
	c := &Client{Base: strings.TrimSuffix(cluster.Server, "/"), Token: user.Token, CA: cluster.CA}
	if strings.HasPrefix(c.Base, "http://") { // in memory
		c.Transport = &http.Transport{}
		return c, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.CA) {
		return nil, fmt.Errorf("read %s: invalid certificate authority", path)
	}
	c.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	return c, nil
}

// Namespace creates a namespace that is deleted after the test. Its name is random and begins
// with prefix.
func (c *Client) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	name := fmt.Sprintf("%s-%08x", prefix, rand.Uint32())
	text, status, err := c.Call(t.Context(), http.MethodPost, namespaces, "", `{"metadata":{"name":"`+name+`"}}`)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create namespace %s: %d %s, %v", name, status, text, err)
	}
	t.Cleanup(func() {
		_, _, _ = c.Call(context.Background(), http.MethodDelete, namespaces+"/"+name, "", "")
	})
	return name
}

// Eventually reports whether holds returns true within half a minute.
func Eventually(holds func() bool) bool {
	for range 300 {
		if holds() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// Call makes a request and returns the body and the status of the response. Without a
// contentType the body is JSON, for a PATCH a JSON merge patch.
func (c *Client) Call(ctx context.Context, method, path, contentType, body string) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	switch {
	case contentType != "":
	case method == http.MethodPatch:
		contentType = "application/merge-patch+json"
	default:
		contentType = "application/json"
	}
	req.Header.Set("Content-Type", contentType)
	return c.Do(req)
}

// Do sends req with the credentials of the client.
func (c *Client) Do(req *http.Request) ([]byte, int, error) {
	req.Header.Set("Authorization", "Bearer "+c.Token)
	resp, err := c.Transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return text, resp.StatusCode, err
}
