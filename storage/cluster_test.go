// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/storagetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

func TestSecretsOnCluster(t *testing.T)    { testCluster(t, "secrets", storage.Secrets) }
func TestConfigMapsOnCluster(t *testing.T) { testCluster(t, "configmaps", storage.ConfigMaps) }

func testCluster(t *testing.T, resource string, driver func(storage.API, string) *storage.Cluster) {
	c := storagetest.Open(t, apiserver.Kubeconfig)
	a, b := c.Namespaces(t)
	storetest.Run(t, a, b, func(t *testing.T) storetest.Open {
		for _, ns := range []string{a, b} {
			query := url.Values{"labelSelector": {"owner=helm"}}
			if _, err := c.Call(t.Context(), http.MethodDelete, "/api/v1/namespaces/"+ns+"/"+resource, query, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		return func(namespace string) storage.Driver { return driver(c, namespace) }
	})
}

// After a record's Secret was deleted by hand, no parts remain.
func TestPartsAreGarbageCollected(t *testing.T) {
	c := storagetest.Open(t, apiserver.Kubeconfig)
	ns := c.Namespace(t)
	rec := storetest.Large(t, storetest.Release(ns, "web", 1, release.Deployed), 5<<19)
	if err := storetest.Create(t.Context(), storage.Secrets(c, ns), rec); err != nil {
		t.Fatal(err)
	}
	secrets, query := "/api/v1/namespaces/"+ns+"/secrets", url.Values{"labelSelector": {"owner=moonhelm"}}
	parts := func() int {
		body, err := c.Call(t.Context(), http.MethodGet, secrets, query, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(body, []byte(`"helm.sh/release-part.v1"`))
	}
	if n := parts(); n != 2 {
		t.Fatalf("%d further parts, wanted 2", n)
	}
	if _, err := c.Call(t.Context(), http.MethodDelete, secrets+"/sh.helm.release.v1.web.v1", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); parts() > 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d parts are still there", parts())
		}
	}
}
