// SPDX-License-Identifier: Apache-2.0

// Package apiserver asks the API server of the tests directly, past the programs that
// are compared.
package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Client is safe for concurrent use.
type Client struct {
	Base, Token string
	Transport   *http.Transport
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

// Open makes a client of a kubeconfig as test/cluster writes it.
func Open(path string) (*Client, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var k kubeconfig
	if err := yaml.Unmarshal(text, &k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, fmt.Errorf("read %s: it is not a kubeconfig of test/cluster: %w", path, err)
	}
	pem, err := base64.StdEncoding.DecodeString(k.Clusters[0].Cluster.CA)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read %s: invalid certificate authority: %w", path, err)
	}
	return &Client{
		Base: strings.TrimSuffix(k.Clusters[0].Cluster.Server, "/"), Token: k.Users[0].User.Token,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
	}, nil
}

// Call makes a request, and returns the body and the status of the answer.
func (c *Client) Call(ctx context.Context, method, path, contentType, body string) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", contentType)
	resp, err := c.Transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return text, resp.StatusCode, err
}
