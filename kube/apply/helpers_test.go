// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
)

// Client has the methods of the packages below kube, so that changes are tested together with
// waiting and reading.
type Client struct {
	*kube.Client
	*Applier
	*wait.Waiter
	*status.Reader
	connection kube.Options
}

func newClient(o kube.Options) *Client { return clientWith(kube.New(o), Options{}, wait.Grace{}, o) }

func clientWith(c *kube.Client, a Options, g wait.Grace, o kube.Options) *Client {
	return &Client{Client: c, Applier: New(c, a), Waiter: wait.New(c, g), Reader: status.New(c), connection: o}
}

// DryRun returns a copy of c that persists nothing.
func (c *Client) DryRun() *Client {
	return clientWith(c.Client.DryRun(), c.Applier.options, wait.Grace{}, c.connection)
}

// with returns a copy of c with other options.
func (c *Client) with(o Options) *Client { return clientWith(c.Client, o, wait.Grace{}, c.connection) }

func client(t testing.TB) (*Client, *apitest.Recorder) {
	t.Helper()
	config := apitest.RESTConfig(t)
	rec := &apitest.Recorder{}
	return newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, Progress: rec.Record}), rec
}

// targets returns objects with their API resources.
func (c *Client) targets(ctx context.Context, objects []*manifest.Object, namespace string) ([]*api.Target, error) {
	return c.api.Targets(ctx, objects, namespace)
}

// serve returns a client of a fake server.
func serve(t *testing.T, prefix, cache string, f *apitest.Fake) (*Client, *apitest.Recorder) {
	t.Helper()
	s := httptest.NewServer(http.StripPrefix(prefix, f))
	t.Cleanup(s.Close)
	rec := &apitest.Recorder{}
	return newClient(kube.Options{
		REST:     func() (*rest.Config, error) { return &rest.Config{Host: s.URL + prefix}, nil },
		CacheDir: cache, Progress: rec.Record,
	}), rec
}
