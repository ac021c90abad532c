// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	_ "github.com/moonhelm/moonhelm/internal/subprocess" // these tests run charts' scripts with their own binary
)

// site is the address of a web server with the files that examples/network fetches. It runs until
// the tests end.
var site = sync.OnceValue(func() string {
	pages := map[string]string{
		"/ranges.json": `{"ranges": ["192.0.2.0/24", "2001:db8::/32"]}`,
		"/lies.json":   `{"ranges": ["anybody"]}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, page)
	})).URL
})

// TestScaffoldedScript creates a chart with a script, which has no effect, and then uncomments all
// its examples.
func TestScaffoldedScript(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dir := t.TempDir()
	run := func(line string) string {
		t.Helper()
		return shown{line: line}.run(t, dir)
	}
	run("helm create --with-scripts web")
	if out := run("helm lint --strict web"); strings.Contains(out, "WARNING") || strings.Contains(out, "ERROR") {
		t.Error(out)
	}
	if out := run("helm template x web --trace-events"); strings.Contains(out, "chart.lua") {
		t.Errorf("the script has an effect:\n%s", out)
	}

	path := filepath.Join(dir, "web", "ext", "lua", "chart.lua")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	paragraphs := strings.Split(string(text), "\n\n")
	for i, p := range paragraphs {
		words, code, ok := strings.Cut(p, "\n--\n")
		if ok {
			examples++
			code = strings.ReplaceAll("\n"+strings.TrimSpace(code), "\n-- ", "\n")
			paragraphs[i] = words + code
		}
	}
	if examples < 5 {
		t.Errorf("found %d examples", examples)
	}
	for name, text := range map[string]string{
		"web/ext/lua/chart.lua":   strings.Join(paragraphs, "\n\n"),
		"web/ext/lua/names.lua":   "return {}",
		"web/values/mysql.yaml":   "mysql: {}",
		"web/templates/said.yaml": `{kind: ConfigMap, apiVersion: v1, metadata: {name: said}, data: {said: {{ shout "hello" }}}}`,
	} {
		filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), text+"\n")
	}
	out := run("helm template x web -f web/values/mysql.yaml --trace-events")
	for _, want := range []string{
		"[web] affinity: {}",
		"objects.Deployment/x-web.metadata.annotations: + {\"example.com/chart\":\"web-0.1.0\"}",
		"values.mysql.port: + 3307",
		"said: HELLO!",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out := run("helm template x web -f web/values/mysql.yaml --set replicaCount=0"); !strings.Contains(out, "replicaCount is 0, must be 1 or more") {
		t.Error(out)
	}
}
