// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/scaffold"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestFiles checks that the chart loads and has the files that users of "helm create" expect.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	overwritten, err := create(dir, "web", "")
	if err != nil || len(overwritten) > 0 {
		t.Fatal(overwritten, err)
	}
	c, err := loader.Load(filepath.Join(dir, "web"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "web" || c.Version() != "0.1.0" || c.AppVersion() != "1.16.0" || c.Metadata.APIVersion != "v2" {
		t.Errorf("metadata %+v", c.Metadata)
	}
	var names []string
	for _, f := range c.Raw {
		names = append(names, f.Name)
		if bytes.Contains(f.Data, []byte("CHARTNAME")) {
			t.Errorf("%s: the placeholder is still there", f.Name)
		}
	}
	want := []string{
		".helmignore", "Chart.yaml", "templates/NOTES.txt", "templates/_helpers.tpl", "templates/deployment.yaml", "templates/hpa.yaml",
		"templates/httproute.yaml", "templates/ingress.yaml", "templates/service.yaml", "templates/serviceaccount.yaml",
		"templates/tests/test-connection.yaml", "values.yaml",
	}
	if !slices.Equal(names, want) {
		t.Errorf("files %v", names)
	}
	if info, err := os.Stat(filepath.Join(dir, "web", "charts")); err != nil || !info.IsDir() {
		t.Errorf("charts/: %v", err)
	}
	for _, key := range []string{
		"replicaCount", "image", "imagePullSecrets", "nameOverride", "fullnameOverride", "serviceAccount", "podAnnotations", "podLabels",
		"podSecurityContext", "securityContext", "service", "ingress", "httpRoute", "resources", "livenessProbe", "readinessProbe",
		"autoscaling", "volumes", "volumeMounts", "nodeSelector", "tolerations", "affinity",
	} {
		t.Run(key, func(t *testing.T) {
			if _, ok := c.Values[key]; !ok {
				t.Errorf("values.yaml has no %s", key)
			}
		})
	}
	helpers := string(c.File("templates/_helpers.tpl").Data)
	for _, h := range []string{"name", "fullname", "chart", "labels", "selectorLabels", "serviceAccountName"} {
		t.Run(h, func(t *testing.T) {
			if !strings.Contains(helpers, `define "web.`+h+`"`) {
				t.Errorf("no helper web.%s", h)
			}
		})
	}
}

// TestFilesQuotesName checks that the chart has exactly the given name.
func TestFilesQuotesName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"on", "1", "1e3", "0x1", "null", "y", "a.b", "A_b", "-x"} {
		t.Run(name, func(t *testing.T) {
			if _, err := create(dir, name, ""); err != nil {
				t.Error(err)
				return
			}
			if c, err := loader.Load(filepath.Join(dir, name)); err != nil || c.Name() != name {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestValidateName(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "...", "../x", "a/b", `a\b`, "a b", "é", "a\x00", strings.Repeat("a", 251)} {
		var bad *scaffold.NameError
		if _, err := create(inner, name, ""); !errors.As(err, &bad) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, d := range []string{dir, inner} {
		if entries, _ := os.ReadDir(d); len(entries) > 1 || d == inner && len(entries) > 0 {
			t.Errorf("something was written into %s: %v", d, entries)
		}
	}
}

// TestWriteExistingChart checks that files are overwritten and reported, and others kept.
func TestWriteExistingChart(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "web")
	filetest.Write(t, web, map[string]string{"values.yaml": "old", "mine.txt": "mine"})
	overwritten, err := create(dir, "web", "")
	if err != nil || !slices.Equal(overwritten, []string{filepath.Join(web, "values.yaml")}) {
		t.Errorf("%v, %v", overwritten, err)
	}
	if data, _ := os.ReadFile(filepath.Join(web, "mine.txt")); string(data) != "mine" {
		t.Error("another file was touched")
	}
	if data, _ := os.ReadFile(filepath.Join(web, "values.yaml")); string(data) == "old" {
		t.Error("values.yaml was not written")
	}
}

// TestWriteSymbolicLinks checks that links that lead out of the directory are not followed.
func TestWriteSymbolicLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "web"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "web", "templates")); err != nil {
		t.Fatal(err)
	}
	if _, err := create(dir, "web", ""); err == nil {
		t.Error("wrote through a link")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("outside: %v", entries)
	}
}

func TestWriteTargetIsFile(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{"web": "a file"})
	if _, err := create(dir, "web", ""); err == nil {
		t.Error("wrote into a file")
	}
	if _, err := create(filepath.Join(dir, "missing"), "web", ""); err == nil {
		t.Error("made a parent directory")
	}
}

// TestStarter checks that a starter's files get the new name and a new Chart.yaml, with its
// dependencies.
func TestStarter(t *testing.T) {
	dir := t.TempDir()
	starter := filepath.Join(dir, "starter")
	filetest.Write(t, starter, map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: starter\nversion: 9.9.9\ndependencies: [{name: db, version: 1.0.0, repository: ''}]\n",
		"values.yaml":           "name: <CHARTNAME> # <CHARTNAME>\n",
		"README.md":             "<CHARTNAME>\n",
		"logo.png":              "\xff\xfe<CHARTNAME>",
		"templates/x.yaml":      "{{ include \"<CHARTNAME>.x\" . }}",
		"charts/db/Chart.yaml":  "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/db/values.yaml": "x: <CHARTNAME>\n",
	})
	if _, err := create(dir, "web", starter); err != nil {
		t.Fatal(err)
	}
	c, err := loader.Load(filepath.Join(dir, "web"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "web" || c.Version() != "0.1.0" || len(c.Metadata.Dependencies) != 1 || len(c.Dependencies()) != 1 {
		t.Errorf("metadata %+v", c.Metadata)
	}
	for name, want := range map[string]string{
		"values.yaml": "name: web # web\n", "README.md": "web\n", "logo.png": "\xff\xfe<CHARTNAME>", "templates/x.yaml": "{{ include \"web.x\" . }}",
	} {
		t.Run(name, func(t *testing.T) {
			if f := c.File(name); f == nil || string(f.Data) != want {
				t.Errorf("%s: %v", name, f)
			}
		})
	}
	if f := c.Dependencies()[0].File("values.yaml"); string(f.Data) != "x: <CHARTNAME>\n" {
		t.Error("a subchart was changed")
	}
	if _, err := create(dir, "web2", filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a starter that is not there")
	}
	if err := os.WriteFile(filepath.Join(starter, "values.yaml"), []byte("a: ["), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := create(dir, "web3", starter); err == nil {
		t.Error("a broken starter")
	}
	if _, err := os.Stat(filepath.Join(dir, "web3")); err == nil {
		t.Error("something was written for a broken starter")
	}
}

// TestFilesRoundTrip checks that the files are the same after an event handler has parsed them.
func TestFilesRoundTrip(t *testing.T) {
	files, err := scaffold.Chart{Name: "web"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	again, err := loader.Flatten(c)
	if err != nil {
		t.Fatal(err)
	}
	byName := func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(files, byName)
	if !slices.EqualFunc(files, again, func(a, b *chart.File) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) }) {
		t.Error("the files changed on their way through a chart")
	}
}

func TestStarterMissing(t *testing.T) {
	dir := t.TempDir()
	starter := filepath.Join(dir, "nope")
	_, err := create(dir, "web", starter)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "could not load "+starter) {
		t.Errorf("the error is %v", err)
	}
}

// create writes a chart like `helm create`.
func create(dir, name, starter string) (overwritten []string, err error) {
	files, err := scaffold.Chart{Name: name, Starter: starter}.Files()
	if err != nil {
		return nil, err
	}
	return scaffold.Write(filepath.Join(dir, name), files)
}
