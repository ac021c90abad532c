// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/release"
)

// cancelTransport cancels a context once the server has handled request number at, before the
// client gets the response.
type cancelTransport struct {
	next http.RoundTripper
	at   atomic.Int32
	end  context.CancelFunc
}

func (c *cancelTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if c.at.Add(-1) == 0 {
		c.end()
		if r.Context().Err() != nil {
			resp.Body.Close()
			return nil, r.Context().Err()
		}
	}
	return resp, err
}

// Canceling an operation at any request leaves no record in progress, and no lock.
func TestCancelAtEachRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	req := action.DeployRequest{Chart: greeting(), Name: "web", Namespace: "default"}
	for verb, run := range map[string]func(ctx context.Context, c *action.Config) error{
		"install": func(ctx context.Context, c *action.Config) error {
			_, err := action.Install{Config: c}.Run(ctx, req)
			return err
		},
		"upgrade": func(ctx context.Context, c *action.Config) error {
			_, err := action.Upgrade{Config: c}.Run(ctx, req)
			return err
		},
		"uninstall": func(ctx context.Context, c *action.Config) error {
			_, err := action.Uninstall{Config: c}.Run(ctx, action.UninstallRequest{Name: "web"})
			return err
		},
	} {
		t.Run(verb, func(t *testing.T) {
			cut := 0
			for at := 1; at <= 100; at++ {
				err := cancelAt(t, at, verb != "install", run)
				if err != nil {
					cut++
				}
				if t.Failed() {
					t.Fatalf("canceled at request %d: %v", at, err)
				}
			}
			if cut < 5 {
				t.Errorf("%d canceled operations failed, want more", cut)
			}
		})
	}
}

func cancelAt(t *testing.T, at int, installed bool, run func(context.Context, *action.Config) error) error {
	t.Helper()
	cluster := kubetest.Start()
	defer cluster.Close()
	plain := action.NewConfigFor(cluster.Config(), "default")
	if installed {
		if _, err := (action.Install{Config: plain}).Run(t.Context(), action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	settings := cluster.Config()
	settings.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		c := &cancelTransport{next: next, end: cancel}
		c.at.Store(int32(at))
		return c
	}
	failed := run(ctx, action.NewConfigFor(settings, "default"))
	found, err := action.List{Releases: plain.Releases}.Run(t.Context(), action.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		if r.Status != release.Deployed && r.Status != release.Failed {
			t.Errorf("the record's status is %s: %s", r.Status, r.Description)
		}
	}
	if lease := cluster.Get("/apis/coordination.k8s.io/v1/namespaces/default/leases/moonhelm.v1.web"); lease != nil {
		if holder := fmt.Sprint(lease["spec"].(map[string]any)["holderIdentity"]); strings.Trim(holder, "<nil>") != "" {
			t.Errorf("the lease is held by %s", holder)
		}
	}
	return failed
}
