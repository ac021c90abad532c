// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestReleasesGoBothWays installs with one binary, and shows and removes the release with the
// other, for Helm 3 and 4, on a real API server.
func TestReleasesGoBothWays(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	moonhelm := ours(t)
	for _, module := range []string{helm4, helm3} {
		helm := peer(t, module)
		_, version, _ := strings.Cut(module, "@")
		t.Run("ours to "+version, func(t *testing.T) { exchange(t, moonhelm, helm) })
		t.Run(version+" to ours", func(t *testing.T) { exchange(t, helm, moonhelm) })
	}
}

// exchange installs with maker and runs all other commands with reader.
func exchange(t *testing.T, maker, reader string) {
	home := t.TempDir()
	chart := filepath.Join(root(t), "examples", "hello")
	namespace := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(t.Name()))
	if len(namespace) > 60 {
		namespace = namespace[len(namespace)-60:]
	}
	namespace = strings.Trim(namespace, "-")
	in := func(args ...string) []string { return append(args, "--namespace", namespace) }

	must(t, maker, home, in("install", "web", chart, "--create-namespace", "--set", "replicas=3", "--description", "made by the other")...)

	t.Run("list", func(t *testing.T) {
		var releases []map[string]string
		decode(t, must(t, reader, home, in("list", "-o", "json")...), &releases)
		if len(releases) != 1 {
			t.Fatalf("list shows %v", releases)
		}
		delete(releases[0], "updated")
		want := map[string]string{"name": "web", "namespace": namespace, "revision": "1", "status": "deployed", "chart": "hello-1.0.0", "app_version": "1.29"}
		if !reflect.DeepEqual(releases[0], want) {
			t.Errorf("list shows %v, want %v", releases[0], want)
		}
	})
	t.Run("status", func(t *testing.T) {
		wantIn(t, "status", must(t, reader, home, in("status", "web")...), "STATUS: deployed", "REVISION: 1", "Hello from the moon")
		wantIn(t, "history", must(t, reader, home, in("history", "web")...), "made by the other")
	})
	t.Run("the same record", func(t *testing.T) {
		for _, args := range [][]string{{"get", "manifest", "web"}, {"get", "hooks", "web"}, {"get", "notes", "web"}, {"get", "values", "web", "-o", "json"}, {"history", "web", "-o", "json"}, {"list", "-o", "json"}, {"get", "values", "web", "--all", "-o", "yaml"}} {
			a, b := must(t, maker, home, in(args...)...), must(t, reader, home, in(args...)...)
			if strings.TrimSpace(a) != strings.TrimSpace(b) {
				t.Errorf("%s: the maker prints\n%s\nand the reader\n%s", strings.Join(args, " "), indent(a), indent(b))
			}
		}
	})
	t.Run("its own name is taken", func(t *testing.T) {
		if r := run(t, reader, home, in("install", "web", chart)...); r.err == nil || !strings.Contains(r.stderr, "a name that is still in use") {
			t.Errorf("a second install: %v, %s", r.err, r.stderr)
		}
	})
	t.Run("uninstall", func(t *testing.T) {
		wantIn(t, "uninstall", must(t, reader, home, in("uninstall", "web", "--keep-history", "--wait")...), `release "web" uninstalled`)
		var releases []map[string]string
		decode(t, must(t, maker, home, in("list", "--uninstalled", "-o", "json")...), &releases)
		if len(releases) != 1 || releases[0]["status"] != "uninstalled" {
			t.Errorf("after uninstall --keep-history the maker lists %v", releases)
		}
		must(t, maker, home, in("uninstall", "web")...)
		if out := must(t, reader, home, in("list", "-q")...); strings.TrimSpace(out) != "" {
			t.Errorf("after uninstall the reader lists %s", out)
		}
	})
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}
