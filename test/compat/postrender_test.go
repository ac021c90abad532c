// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// postRenderers are shell scripts by their effect.
var postRenderers = map[string]string{
	"nothing":   "cat",
	"images":    `sed 's#image: nginx#image: mirror.example.com/nginx#'`,
	"labels":    `sed 's/^  name: \(.*\)/  name: \1\n  labels: {team: shop}/'`,
	"names":     `sed 's/^  name: /  name: dev-/'`,
	"reversed":  `awk 'BEGIN { RS = "---\n" } NF { doc[++n] = $0 } END { for (i = n; i > 0; i--) printf "---\n%s", doc[i] }'`,
	"fewer":     `awk 'BEGIN { RS = "---\n" } NF && !/kind: Service\n/ { printf "---\n%s", $0 }'`,
	"more":      `cat; printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: zz\n'`,
	"elsewhere": `cat; printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: aa\n  annotations:\n    postrenderer.helm.sh/postrender-filename: app/templates/service.yaml\n'`,
	"comments":  `sed '/^ *#/d'`,
}

// rendererOf writes a post-renderer: a plugin for Helm 4 with a shell script that also works
// with Helm 3. It writes its input to the file seen.
func rendererOf(t *testing.T, command string) (plugins, script, seen string) {
	t.Helper()
	plugins = filepath.Join(t.TempDir(), "plugins")
	script, seen = filepath.Join(plugins, "render", "render.sh"), filepath.Join(plugins, "seen")
	for name, text := range map[string]string{
		filepath.Join("render", "plugin.yaml"): "apiVersion: v1\nname: render\ntype: postrenderer/v1\nversion: 0.1.0\nruntime: subprocess\n" +
			"runtimeConfig:\n  platformCommand:\n  - command: ${HELM_PLUGIN_DIR}/render.sh\n",
		filepath.Join("render", "render.sh"): "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + seen + ".args'\ntee '" + seen + "' | " + command + "\n",
	} {
		path := filepath.Join(plugins, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return plugins, script, seen
}

// appChart is a chart with several objects in a template, hooks, comments, a subchart and
// annotations.
func appChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app")
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml":                     "apiVersion: v2\nname: app\nversion: 0.1.0\n",
		"templates/deploy.yaml":          "# the server\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web # its name\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: nginx:1.29\n        args:\n        - |\n          one\n\n          two\n",
		"templates/service.yaml":         "apiVersion: v1\nkind: Service\nmetadata:\n  name: front\n  annotations:\n    a: b\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata: {a: \"1\"}\n",
		"templates/hook.yaml":            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    helm.sh/hook: pre-install\nspec: {}\n",
		"templates/test.yaml":            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: probe\n  annotations:\n    helm.sh/hook: test\nspec: {}\n",
		"charts/db/Chart.yaml":           "apiVersion: v2\nname: db\nversion: 0.1.0\n",
		"charts/db/templates/conf.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\n",
		"charts/db/templates/third.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: db\n",
	})
	return dir
}

// The output with a post-renderer is the same as Helm 4's, including sources and order, and so
// is the post-renderer's input.
func TestPostRenderersOfHelm4(t *testing.T) {
	chart := appChart(t)
	for what, command := range postRenderers {
		t.Run(what, func(t *testing.T) {
			plugins, _, seen := rendererOf(t, command)
			all := pluginHelms(t, false)
			var outputs []string
			var inputs []map[string]document
			for _, h := range all {
				h.plugins = plugins
				r := h.run(t, "", "template", "r", chart, "--post-renderer", "render", "--post-renderer-args", "a,b c", "--post-renderer-args", "-x")
				if r.err != nil {
					t.Fatalf("%s: %v\n%s", h.name, r.err, r.stderr)
				}
				if r.stderr != "" {
					t.Errorf("%s says %s", h.name, r.stderr)
				}
				outputs = append(outputs, r.stdout)
				inputs = append(inputs, piped(t, seen))
				if args, err := os.ReadFile(seen + ".args"); err != nil || string(args) != "a,b c\n-x\n" {
					t.Errorf("%s gives the arguments %q, %v", h.name, args, err)
				}
			}
			compareOutput(t, outputs[0], outputs[1])
			if !reflect.DeepEqual(inputs[0], inputs[1]) {
				t.Errorf("the program reads\n%v\nfrom Helm\n%v", inputs[1], inputs[0])
			}
		})
	}
}

// piped returns the documents of a post-renderer's input by name, because their order may
// differ.
func piped(t *testing.T, seen string) map[string]document {
	t.Helper()
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]document{}
	for _, part := range strings.Split("\n"+string(text), "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		part = strings.TrimLeft(part, "\n") + "\n"
		if !strings.HasPrefix(part, "# Source: ") {
			part = "# Source: ?\n" + part
		}
		d := parse(t, "what it read", part)[0]
		object := d.data.(map[string]any)
		metadata := object["metadata"].(map[string]any)
		out[object["kind"].(string)+"/"+metadata["name"].(string)] = document{data: d.data}
	}
	return out
}

// Helm 3 runs programs by their path, with "# Source:" comments and without hooks, so only
// programs that do not change hooks are compared.
func TestPostRenderersOfHelm3(t *testing.T) {
	chart := appChart(t)
	for _, what := range []string{"nothing", "images", "comments"} {
		t.Run(what, func(t *testing.T) {
			_, script, seen := rendererOf(t, postRenderers[what])
			var outputs []string
			for _, bin := range []string{peer(t, helm3), ours(t)} {
				outputs = append(outputs, must(t, bin, t.TempDir(), "template", "r", chart, "--post-renderer", script, "--post-renderer-args", "x"))
				text, err := os.ReadFile(seen)
				if err != nil {
					t.Fatal(err)
				}
				wantIn(t, "what it reads", string(text), "---\n# Source: app/templates/deploy.yaml\n# the server\n", "---\n# Source: app/charts/db/templates/conf.yaml\n")
			}
			if what == "comments" { // Helm 3 drops the sources too
				outputs[0] = outputs[1]
			}
			compareOutput(t, outputs[0], outputs[1])
		})
	}
	t.Run("by its name in the PATH", func(t *testing.T) {
		_, script, _ := rendererOf(t, postRenderers["images"])
		t.Setenv("PATH", filepath.Dir(script)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		for _, bin := range []string{peer(t, helm3), ours(t)} {
			wantIn(t, "output", must(t, bin, t.TempDir(), "template", "r", chart, "--post-renderer", "render.sh"), "image: mirror.example.com/nginx:1.29")
		}
	})
}

// The same errors occur in both.
func TestPostRenderersThatFail(t *testing.T) {
	chart := appChart(t)
	for what, command := range map[string]string{
		"it fails": "exit 3", "it prints nothing": "cat > /dev/null", "it prints no YAML": "echo 'a: b: c'", "it prints words": "echo hello",
	} {
		plugins, _, _ := rendererOf(t, command)
		for _, h := range pluginHelms(t, false) {
			h.plugins = plugins
			if r := h.run(t, "", "template", "r", chart, "--post-renderer", "render"); r.code() != 1 || r.stdout != "" || !strings.Contains(r.stderr, "render") {
				t.Errorf("%s: %s: %d\n%s%s", what, h.name, r.code(), r.stdout, r.stderr)
			}
		}
	}
}

// Helm reports that it does not support a plugin in Lua and ignores it. Other plugins and
// commands still work.
func TestHelmLeavesPluginsInLuaAlone(t *testing.T) {
	plugins, _, _ := rendererOf(t, "cat")
	lua := filepath.Join(root(t), "examples", "plugins", "chart-stats")
	if err := os.CopyFS(filepath.Join(plugins, "chart-stats"), os.DirFS(lua)); err != nil {
		t.Fatal(err)
	}
	chart := appChart(t)
	for _, h := range pluginHelms(t, false) {
		h.plugins = plugins
		r := h.run(t, "", "template", "r", chart, "--post-renderer", "render")
		if r.err != nil {
			t.Errorf("%s: %v\n%s", h.name, r.err, r.stderr)
		}
		if h.name == "helm4" {
			wantIn(t, "the warning", r.stderr, `unsupported plugin runtime type: \"lua\"`)
		} else if r = h.run(t, "", "chart-stats", chart); r.err != nil || !strings.Contains(r.stdout, "nginx:1.29  1") {
			t.Errorf("%v\n%s%s", r.err, r.stdout, r.stderr)
		}
	}
}
