// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/storage"
)

// Operations return a ConfigError that names the missing field.
func TestMissingConfigFields(t *testing.T) {
	records := storage.New(storage.NewMemory("ns"), "ns")
	noCluster := &action.Config{Releases: records}
	for _, test := range []struct {
		name  string
		field string // "" for an operation without required fields
		run   func(context.Context) error
	}{
		{"install", "Releases", func(ctx context.Context) error {
			_, err := action.Install{}.Run(ctx, action.InstallRequest{Chart: greeting(), Name: "web"})
			return err
		}},
		{"install without a cluster", "Cluster", func(ctx context.Context) error {
			_, err := action.Install{Config: noCluster}.Run(ctx, action.InstallRequest{Chart: greeting(), Name: "web"})
			return err
		}},
		{"plan of an install", "", func(ctx context.Context) error {
			_, _, err := action.Install{}.Plan(ctx, action.InstallRequest{Chart: greeting(), Name: "web"})
			return err
		}},
		{"upgrade", "Releases", func(ctx context.Context) error {
			_, err := action.Upgrade{}.Run(ctx, action.UpgradeRequest{Chart: greeting(), Name: "web"})
			return err
		}},
		{"plan of an upgrade", "Releases", func(ctx context.Context) error {
			_, _, err := action.Upgrade{}.Plan(ctx, action.UpgradeRequest{Chart: greeting(), Name: "web"})
			return err
		}},
		{"rollback", "Releases", func(ctx context.Context) error {
			_, err := action.Rollback{}.Run(ctx, action.RollbackRequest{Name: "web"})
			return err
		}},
		{"plan of a rollback", "Releases", func(ctx context.Context) error {
			_, err := action.Rollback{}.Plan(ctx, action.RollbackRequest{Name: "web"})
			return err
		}},
		{"uninstall", "Releases", func(ctx context.Context) error {
			_, err := action.Uninstall{}.Run(ctx, action.UninstallRequest{Name: "web"})
			return err
		}},
		{"uninstall without a cluster", "Cluster", func(ctx context.Context) error {
			_, err := action.Uninstall{Config: noCluster}.Run(ctx, action.UninstallRequest{Name: "web"})
			return err
		}},
		{"plan of an uninstall", "Releases", func(ctx context.Context) error {
			_, err := action.Uninstall{}.Plan(ctx, action.UninstallRequest{Name: "web"})
			return err
		}},
		{"test", "Releases", func(ctx context.Context) error {
			_, err := action.Test{}.Run(ctx, action.TestRequest{Name: "web"})
			return err
		}},
		{"template", "", func(ctx context.Context) error {
			_, err := action.Template{}.Run(ctx, action.TemplateRequest{Chart: greeting(), Name: "web"})
			return err
		}},
		{"list", "Releases", func(ctx context.Context) error {
			_, err := action.List{}.Run(ctx, action.ListRequest{})
			return err
		}},
		{"status", "Releases", func(ctx context.Context) error {
			_, err := action.Status{}.Run(ctx, "web", 0)
			return err
		}},
		{"status without a cluster", "Cluster", func(ctx context.Context) error {
			_, err := action.Status{Releases: records}.Run(ctx, "web", 0)
			return err
		}},
		{"history", "Releases", func(ctx context.Context) error {
			_, err := action.History{}.Run(ctx, "web", 0)
			return err
		}},
		{"diff of revisions", "Releases", func(ctx context.Context) error {
			_, err := action.Diff{}.Revisions(ctx, "web", 1, 2)
			return err
		}},
		{"diff of releases", "Releases", func(ctx context.Context) error {
			_, err := action.Diff{}.Between(ctx, "web", nil, "other")
			return err
		}},
		{"lint", "", func(ctx context.Context) error {
			_, err := action.Lint{}.Run(ctx, action.LintRequest{Chart: greeting()})
			return err
		}},
		{"package", "", func(ctx context.Context) error {
			_, err := action.Package{}.Run(ctx, action.PackageRequest{Chart: greeting(), Directory: t.TempDir()})
			return err
		}},
		{"create", "", func(ctx context.Context) error {
			_, err := action.Create{}.Run(ctx, nil)
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.run(t.Context())
			var missing *action.ConfigError
			switch {
			case test.field == "" && err != nil:
				t.Errorf("got %v", err)
			case test.field != "" && (!errors.As(err, &missing) || missing.Field != test.field):
				t.Errorf("got %v, want a ConfigError for %s", err, test.field)
			}
		})
	}
}
