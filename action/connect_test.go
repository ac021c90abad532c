// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/repo"
	"github.com/moonhelm/moonhelm/storage"
)

// drivers are the drivers that store records in the cluster.
var drivers = []struct {
	name string
	open func(*action.Config) storage.Driver
}{
	{"Secrets", func(c *action.Config) storage.Driver { return storage.Secrets(c.Client(), "default") }},
	{"ConfigMaps", func(c *action.Config) storage.Driver { return storage.ConfigMaps(c.Client(), "default") }},
	{"Memory", func(*action.Config) storage.Driver { return storage.NewMemory("default") }},
}

// Heartbeats are written to the operation's records, whatever driver stores them, so a long
// operation keeps its lock.
func TestHeartbeatWithOtherRecords(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver.name, func(t *testing.T) {
			cluster := kubetest.Start() // outside the bubble: it listens
			defer cluster.Close()
			synctest.Test(t, func(t *testing.T) {
				config := action.NewConfigFor(cluster.Direct(), "default")
				config.Releases = storage.New(driver.open(config), "default")
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

// InNamespace stores records with the same driver.
func TestInNamespaceKeepsTheDriver(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	for _, driver := range drivers {
		t.Run(driver.name, func(t *testing.T) {
			config := action.NewConfigFor(cluster.Config(), "default")
			config.Releases = storage.New(driver.open(config), "default")
			other := config.InNamespace("other")
			if got, want := other.Releases.Resource(), config.Releases.Resource(); got != want {
				t.Errorf("records are stored in %q, want %q", got, want)
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

// Handlers of a Config handle the events of its copies for other namespaces; handlers of the
// copies do not handle those of the Config.
func TestInNamespaceEvents(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	other := config.InNamespace("other")
	var all, some []string
	note := func(into *[]string) func(context.Context, *event.PostInstall) error {
		return func(_ context.Context, e *event.PostInstall) error {
			*into = append(*into, e.Operation.Namespace)
			return nil
		}
	}
	event.On(config.Events, "all", event.DefaultPriority, note(&all))
	event.On(other.Events, "some", event.DefaultPriority, note(&some))
	for _, c := range []*action.Config{config, other} {
		if _, err := (action.Install{Config: c}).Run(t.Context(), action.InstallRequest{Chart: greeting(), Name: "web"}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"default", "other"}; !slices.Equal(all, want) {
		t.Errorf("the handler of all namespaces got %q, want %q", all, want)
	}
	if want := []string{"other"}; !slices.Equal(some, want) {
		t.Errorf("the handler of one namespace got %q, want %q", some, want)
	}
}

// A request without a namespace uses that of the Config.
func TestRequestDefaultNamespace(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	request := action.InstallRequest{Chart: greeting(), Name: "web"}
	if change, _, err := (action.Install{Config: config}).Plan(t.Context(), request); err != nil || change.To.Namespace != "default" {
		t.Errorf("got plan %+v, %v; want one for default", change, err)
	}
	for _, run := range []func() (*release.Release, error){
		func() (*release.Release, error) { return action.Install{Config: config}.Run(t.Context(), request) },
		func() (*release.Release, error) { return action.Upgrade{Config: config}.Run(t.Context(), request) },
		func() (*release.Release, error) {
			return action.Rollback{Config: config}.Run(t.Context(), action.RollbackRequest{Name: "web"})
		},
	} {
		rel, err := run()
		if err != nil {
			t.Fatal(err)
		}
		if rel.Namespace != "default" {
			t.Errorf("revision %d is in namespace %q, want default", rel.Revision, rel.Namespace)
		}
	}
	if cluster.Get("/api/v1/namespaces/default/configmaps/greeting") == nil {
		t.Error("the object is not in the namespace")
	}
}

// A request for a namespace other than the Config's fails before anything is written.
func TestRequestOtherNamespace(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	request := action.InstallRequest{Chart: greeting(), Name: "web", Namespace: "other", CreateNamespace: true}
	for name, run := range map[string]func() error{
		"install": func() error { _, err := action.Install{Config: config}.Run(t.Context(), request); return err },
		"plan":    func() error { _, _, err := action.Install{Config: config}.Plan(t.Context(), request); return err },
		"upgrade": func() error { _, err := action.Upgrade{Config: config}.Run(t.Context(), request); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var wrong *action.NamespaceError
			if err := run(); !errors.As(err, &wrong) || wrong.Namespace != "other" || wrong.Records != "default" {
				t.Errorf("%s: got %v, want a NamespaceError", name, err)
			}
		})
	}
	if writes := cluster.Writes(); len(writes) > 0 {
		t.Errorf("wrote %q, want nothing", writes)
	}
}

// Required fields that are nil are named in the error.
func TestNilFields(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	directory, err := loader.OpenDirectory(lists(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, field string
		run         func(context.Context) error
	}{
		{"install", "Chart", func(ctx context.Context) error {
			_, err := action.Install{Config: config}.Run(ctx, action.InstallRequest{Name: "web"})
			return err
		}},
		{"plan of an install", "Chart", func(ctx context.Context) error {
			_, _, err := action.Install{}.Plan(ctx, action.InstallRequest{Name: "web"})
			return err
		}},
		{"upgrade", "Chart", func(ctx context.Context) error {
			_, err := action.Upgrade{Config: config}.Run(ctx, action.UpgradeRequest{Name: "web"})
			return err
		}},
		{"template", "Chart", func(ctx context.Context) error {
			_, err := action.Template{}.Run(ctx, action.TemplateRequest{})
			return err
		}},
		{"package", "Chart", func(ctx context.Context) error {
			_, err := action.Package{}.Run(ctx, action.PackageRequest{})
			return err
		}},
		{"dependency update", "Directory", func(ctx context.Context) error {
			return action.DependencyUpdate{}.Run(ctx, action.DependencyRequest{})
		}},
		{"dependency build", "Directory", func(ctx context.Context) error {
			return action.DependencyBuild{}.Run(ctx, action.DependencyRequest{})
		}},
		{"dependency update without a resolver", "Resolver", func(ctx context.Context) error {
			return action.DependencyUpdate{}.Run(ctx, action.DependencyRequest{Directory: directory})
		}},
		{"compare", "to", func(context.Context) error { _, err := action.Compare(nil, nil); return err }},
		{"compare definitions of charts", "Chart", func(context.Context) error { _, err := action.CompareChartCRDs(nil, nil); return err }},
		{"compare definitions", "Chart", func(context.Context) error { _, err := action.CompareCRDs(&release.Release{}, nil); return err }},
		{"connect", "rest.Config", func(ctx context.Context) error {
			_, err := action.Install{Config: action.NewConfigFor(nil, "default")}.Run(ctx, action.InstallRequest{Chart: greeting(), Name: "web"})
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.run(t.Context())
			var request *action.RequestError
			var config *action.ConfigError
			switch {
			case errors.As(err, &request) && request.Field == test.field:
			case errors.As(err, &config) && config.Field == test.field:
			default:
				t.Errorf("got %v, want an error that names %s", err, test.field)
			}
		})
	}
}

// lists returns the directory of a chart with a dependency.
func lists(t *testing.T) string {
	dir := t.TempDir()
	text := "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.x, repository: https://charts.example}\n"
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Downloads work without a client of the caller.
func TestDownloadDefaultClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}]}\n")
	}))
	defer server.Close()
	for name, collection := range map[string]repo.Collection{
		"no Getter": {}, "Getter without a client": {HTTP: &action.IndexGetter{}},
	} {
		t.Run(name, func(t *testing.T) {
			finder := &fetch.Finder{Cache: &fetch.Cache{Dir: t.TempDir()}, Repositories: action.NewRepositories(collection, nil)}
			_, err := finder.Find(t.Context(), fetch.Ref{Name: "web", Repo: server.URL})
			var damaged *fetch.EntryError // of the archive, which is not an archive
			if !errors.As(err, &damaged) {
				t.Errorf("got %v, want the index to be read", err)
			}
		})
	}
}

// Invalid labels are an error before anything is written.
func TestInvalidLabels(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	request := action.InstallRequest{Chart: greeting(), Name: "web", Labels: map[string]string{"owner": "me"}}
	_, err := action.Install{Config: config}.Run(t.Context(), request)
	if !errors.As(err, new(*storage.LabelError)) {
		t.Errorf("Install with the label owner: got %v, want a *storage.LabelError", err)
	}
	if writes := cluster.Writes(); len(writes) > 0 {
		t.Errorf("wrote %q, want nothing", writes)
	}
}
