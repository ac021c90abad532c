// SPDX-License-Identifier: Apache-2.0

// Package storagetest provides API servers for tests of storage and locks: one in memory
// ([API]), and a client of a real one ([Cluster]).
package storagetest

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// A Cluster is a client of a real API server. It does not use package kube, so that tests do
// not depend on it.
type Cluster struct{ server *apiserver.Client }

// Open returns a client for the kubeconfig in the environment variable. It skips the test if
// the variable is not set.
func Open(t *testing.T, variable string) Cluster {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skip("no cluster: test/with-cluster.sh starts one (" + variable + ")")
	}
	c, err := Connect(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Connect returns a client for a kubeconfig.
func Connect(kubeconfig string) (Cluster, error) {
	server, err := apiserver.Open(kubeconfig)
	return Cluster{server}, err
}

// Call implements storage.API.
func (c Cluster) Call(ctx context.Context, method, path string, query url.Values, header http.Header,
	body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server.Base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	text, status, err := c.server.Do(req)
	if err == nil && status >= 300 {
		resource := schema.GroupResource{Resource: "objects"}
		err = apierrors.NewGenericServerResponse(status, method, resource, "", string(text), 0, true)
		if status == http.StatusConflict && bytes.Contains(text, []byte(`"AlreadyExists"`)) {
			err = apierrors.NewAlreadyExists(resource, "")
		}
	}
	return text, err
}

// Namespace creates a namespace that is deleted after the test.
func (c Cluster) Namespace(t *testing.T) string { t.Helper(); return c.server.Namespace(t, "storage") }

// Namespaces creates two namespaces and returns their names sorted.
func (c Cluster) Namespaces(t *testing.T) (a, b string) {
	t.Helper()
	a, b = c.Namespace(t), c.Namespace(t)
	return min(a, b), max(a, b)
}
