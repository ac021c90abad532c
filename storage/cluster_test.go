// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

// kubeconfigVar names an admin's kubeconfig of a cluster that tests may fill.
const kubeconfigVar = "MOONHELM_TEST_KUBECONFIG"

var resource = schema.GroupResource{Resource: "records"}

// api is the least that a driver needs: it is not the product's client, so
// that the suite does not depend on another package being right.
type api struct {
	base   string
	client *http.Client
}

func cluster(t *testing.T) api {
	t.Helper()
	path := os.Getenv(kubeconfigVar)
	if path == "" {
		t.Skip("needs a cluster: set " + kubeconfigVar + " to an admin's kubeconfig (see test/cluster)")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return api{strings.TrimSuffix(config.Host, "/"), client}
}

func (a api) Call(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = apierrors.NewGenericServerResponse(resp.StatusCode, method, resource, "", string(text), 0, true)
		if resp.StatusCode == http.StatusConflict && bytes.Contains(text, []byte(`"AlreadyExists"`)) {
			err = apierrors.NewAlreadyExists(resource, "")
		}
	}
	return text, err
}

// namespaces makes two namespaces that are deleted with the test.
func (a api) namespaces(t *testing.T) (string, string) {
	t.Helper()
	names := make([]string, 2)
	for i := range names {
		names[i] = fmt.Sprintf("store-%c-%06x", 'a'+i, rand.Uint32()&0xffffff)
		body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + names[i] + `"}}`
		if _, err := a.Call(t.Context(), http.MethodPost, "/api/v1/namespaces", nil, http.Header{"Content-Type": {"application/json"}}, []byte(body)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = a.Call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+names[i], nil, nil, nil)
		})
	}
	return names[0], names[1]
}

func TestSecretsOfACluster(t *testing.T)    { testCluster(t, "secrets", storage.Secrets) }
func TestConfigMapsOfACluster(t *testing.T) { testCluster(t, "configmaps", storage.ConfigMaps) }

func testCluster(t *testing.T, resource string, driver func(storage.API, string) *storage.Cluster) {
	c := cluster(t)
	a, b := c.namespaces(t)
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

// Whoever deletes a record's Secret by hand leaves no parts behind.
func TestAClusterRemovesThePartsWithTheRecord(t *testing.T) {
	c := cluster(t)
	ns, _ := c.namespaces(t)
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
