// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// drivers are the ways to keep records that need nothing but a cluster.
var drivers = []struct {
	name string
	open func(*action.Config) storage.Driver
}{
	{"Secrets", func(c *action.Config) storage.Driver { return storage.Secrets(c.Client(), "default") }},
	{"ConfigMaps", func(c *action.Config) storage.Driver { return storage.ConfigMaps(c.Client(), "default") }},
	{"Memory", func(*action.Config) storage.Driver { return storage.NewMemory("default") }},
}

// An operation outlives many heartbeats, wherever its records are kept: these go to where
// the records are.
func TestALongOperationWithRecordsElsewhere(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver.name, func(t *testing.T) {
			cluster := kubetest.Start() // outside the bubble, for it listens
			defer cluster.Close()
			synctest.Test(t, func(t *testing.T) {
				config := action.NewConfigFor(cluster.Direct(), "default")
				config.Releases = storage.New(driver.open(config), "default")
				config.Events = &event.Bus{}
				event.On(config.Events, "slow", event.DefaultPriority, func(ctx context.Context, _ *event.PostInstall) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(2 * time.Minute):
						return nil
					}
				})
				rel, err := action.Install{Config: config}.Run(t.Context(), action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "default"})
				if err != nil {
					t.Fatal(err)
				}
				if rel.Info.Status != release.Deployed {
					t.Errorf("the release is %s, want deployed", rel.Info.Status)
				}
				stored, err := config.Releases.Get(t.Context(), "web", 0)
				if err != nil || stored.Info.Status != release.Deployed {
					t.Errorf("got record %+v, %v; want it deployed", stored, err)
				}
			})
		})
	}
}

// A Config for another namespace records with the same driver.
func TestInNamespaceKeepsTheDriver(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	for _, driver := range drivers {
		t.Run(driver.name, func(t *testing.T) {
			config := action.NewConfigFor(cluster.Config(), "default")
			config.Releases = storage.New(driver.open(config), "default")
			other := config.InNamespace("other")
			if got, want := other.Releases.Resource(), config.Releases.Resource(); got != want {
				t.Errorf("records are kept in %q, want %q", got, want)
			}
			request := action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "other"}
			if _, err := (action.Install{Config: other}).Run(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			all := storage.New(driver.open(config), "default").In("other")
			if driver.name == "Memory" {
				all = config.Releases.(*storage.Storage).In("other")
			}
			if _, err := all.Get(t.Context(), "web", 1); err != nil {
				t.Error(err)
			}
			if _, err := (action.Uninstall{Config: other}).Run(t.Context(), action.UninstallRequest{Name: "web"}); err != nil {
				t.Error(err)
			}
		})
	}
}
