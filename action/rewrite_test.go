// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
)

// loadPackage loads the chart in an archive.
func loadPackage(t *testing.T, path string) *chart.Chart {
	t.Helper()
	c, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// loadChart loads a chart from files.
func loadChart(t *testing.T, files ...string) *chart.Chart {
	t.Helper()
	list := []*chart.File{{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")}}
	for i := 0; i < len(files); i += 2 {
		f := &chart.File{Name: files[i], Data: []byte(files[i+1])}
		if f.Name == chart.FileMetadata {
			list = list[1:]
		}
		list = append(list, f)
	}
	c, err := loader.LoadFiles(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fileOf(t *testing.T, c *chart.Chart, name string) string {
	t.Helper()
	f := c.File(name)
	if f == nil {
		t.Fatalf("chart %s has no %s", c.Name(), name)
	}
	return string(f.Data)
}

func TestPackageHandlerChanges(t *testing.T) {
	c := loadChart(t,
		"values.yaml", "# How many.\nreplicas: 1 # at least one\nimage: nginx\n",
		"charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/db/values.yaml", "port: 5432\nuser: me\n",
		"templates/a.yaml", "a: 1\n")
	bus := &event.Bus{}
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PrePackage) error {
		if e.Operation.Command != "package" || e.Chart.Version() != "9.0.0" {
			t.Errorf("%+v, version %s", e.Operation, e.Chart.Version())
		}
		e.Values["replicas"] = int64(3)
		delete(e.Values, "image")
		db := e.Values["db"].(map[string]any)
		db["port"] = int64(5433)
		delete(db, "user")
		md := *e.Chart.Metadata
		md.AppVersion = "2.0"
		e.Chart.Metadata = &md
		e.Chart.Templates = []*chart.File{{Name: "templates/b.yaml", Data: []byte("b: 2\n")}}
		return nil
	})
	path, err := Package{Events: bus}.Run(t.Context(), PackageRequest{Chart: c, Version: "9.0.0", Directory: t.TempDir()})
	if err != nil || filepath.Base(path) != "web-9.0.0.tgz" {
		t.Fatal(path, err)
	}
	got := loadPackage(t, path)
	if got.AppVersion() != "2.0" {
		t.Errorf("the packaged appVersion is %q, want 2.0", got.AppVersion())
	}
	want := "# How many.\nreplicas: 3 # at least one\ndb:\n  port: 5433\n  user: null\n"
	if text := fileOf(t, got, "values.yaml"); text != want {
		t.Errorf("packaged values.yaml:\n%s\nwant:\n%s", text, want)
	}
	if ts := got.Templates; len(ts) != 1 || ts[0].Name != "templates/b.yaml" {
		t.Errorf("%v", ts)
	}
	if fileOf(t, c, "values.yaml") != "# How many.\nreplicas: 1 # at least one\nimage: nginx\n" || c.Version() == "9.0.0" || c.Templates[0].Name != "templates/a.yaml" {
		t.Error("the loaded chart was changed")
	}
	if db := got.Dependencies()[0]; fileOf(t, db, "values.yaml") != "port: 5432\nuser: me\n" {
		t.Error("the subchart's own values were changed")
	}
}

// Disabled dependencies are packaged, and their scripts do not run.
func TestPackageDisabledDependencies(t *testing.T) {
	c := loadChart(t,
		"Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.0.0, condition: db.enabled, repository: \"\"}\n",
		"values.yaml", "db: {enabled: false}\n",
		"charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
	bus := &event.Bus{}
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.ChartLoaded) error {
		if len(e.Chart.Dependencies()) != 0 {
			t.Error("handlers got a disabled dependency")
		}
		return nil
	})
	path, err := Package{Events: bus}.Run(t.Context(), PackageRequest{Chart: c, Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(loadPackage(t, path).Dependencies()) != 1 {
		t.Error("the disabled dependency was not packaged")
	}
}

func TestMergeChanges(t *testing.T) {
	m := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	for _, test := range []struct {
		name                     string
		own, before, after, want map[string]any
	}{
		{"nothing changed", m("a", 1.0), m("a", 1.0, "sub", m("x", 1.0)), m("a", 1.0, "sub", m("x", 1.0)), nil},
		{"a value of a subchart", m(), m("sub", m("x", 1.0, "y", 2.0)), m("sub", m("x", 5.0, "y", 2.0)), m("sub", m("x", 5.0))},
		{"an own key goes", m("a", 1.0, "b", 2.0), m("a", 1.0, "b", 2.0), m("b", 2.0), m("b", 2.0)},
		{"a subchart's key goes", m("a", 1.0), m("a", 1.0, "sub", m("x", 1.0)), m("a", 1.0, "sub", m()), m("a", 1.0, "sub", m("x", nil))},
		{"a list is replaced", m("l", []any{1.0}), m("l", []any{1.0}), m("l", []any{1.0, 2.0}), m("l", []any{1.0, 2.0})},
		{"a table becomes a number", m("t", m("x", 1.0)), m("t", m("x", 1.0)), m("t", 7.0), m("t", 7.0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, changed := mergeChanges(test.own, test.before, test.after)
			if changed != (test.want != nil) || changed && !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: got %v, %t, want %v", test.name, got, changed, test.want)
			}
		})
	}
}

// assembler creates scripts as internal/cmdutil does.
func TestCreateEvents(t *testing.T) {
	files := []*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0 # first\n")},
		{Name: "values.yaml", Data: []byte("# yes\na: 1\n")},
		{Name: "templates/a.yaml", Data: []byte("a: 1\n")},
		{Name: ".helmignore", Data: []byte("*.bak\n")},
		{Name: "charts/_notes", Data: []byte("no chart\n")},
	}
	var seen []string
	bus := &event.Bus{}
	event.On(bus, "test", 0, func(_ context.Context, e *event.PreCreate) error {
		if e.Chart != nil {
			t.Error("pre-create has a chart")
		}
		seen = append(seen, e.Name())
		return nil
	})
	event.On(bus, "test", 0, func(_ context.Context, e *event.PostCreate) error {
		seen = append(seen, e.Name()+" "+e.Chart.Name())
		e.Values["a"] = int64(2)
		e.Chart.Files = append(e.Chart.Files[:len(e.Chart.Files):len(e.Chart.Files)], &chart.File{Name: "LICENSE", Data: []byte("mine\n")})
		e.Chart.Templates = nil
		return nil
	})
	out, err := Create{Events: bus}.Run(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range out {
		got = append(got, f.Name+": "+strings.TrimSpace(string(f.Data)))
	}
	want := []string{"Chart.yaml: apiVersion: v2\nname: web\nversion: 1.0.0 # first", "values.yaml: # yes\na: 2", ".helmignore: *.bak", "charts/_notes: no chart", "LICENSE: mine"}
	if !reflect.DeepEqual(got, want) || strings.Join(seen, ", ") != "pre-create, post-create web" {
		t.Errorf("%q\nwanted\n%q\nseen %q", got, want, seen)
	}
}
