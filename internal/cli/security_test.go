// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// The tests in this file run commands on hostile input, each in its own process: it must end with
// an error message, soon, with little memory. Stack overflows and lack of memory are fatal in Go,
// so that only a process can show them.

const (
	mostTime   = 30 * time.Second // for a loaded machine; seconds otherwise
	mostMemory = 800 << 20
)

// attack is a working directory, and the limits of helm in it.
type attack struct {
	t   *testing.T
	dir string
	env []string
}

func newAttack(t *testing.T) *attack {
	dir := t.TempDir()
	return &attack{t: t, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "KUBECONFIG=" + filepath.Join(dir, "none"),
	}}
}

const (
	harmless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	manifest = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
)

// chart writes a chart and returns its directory.
func (a *attack) chart(files map[string]string) string {
	a.t.Helper()
	dir, err := os.MkdirTemp(a.dir, "chart")
	if err != nil {
		a.t.Fatal(err)
	}
	if files["Chart.yaml"] == "" {
		files["Chart.yaml"] = manifest
	}
	filetest.Write(a.t, dir, files)
	return dir
}

// run runs helm and checks its limits.
func (a *attack) run(args ...string) (stdout, stderr string, ok bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), mostTime)
	defer cancel()
	var out, err strings.Builder
	cmd := exec.CommandContext(ctx, "helm", args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = a.dir, a.env, &out, &err
	runErr := cmd.Run()
	line := strings.Join(args, " ")
	if len(line) > 100 {
		line = line[:100] + "…"
	}
	switch code := cmd.ProcessState.ExitCode(); {
	case ctx.Err() != nil:
		a.t.Errorf("helm %s: did not end within %v", line, mostTime)
	case code != 0 && code != 1:
		a.t.Errorf("helm %s: exit code %d: %.300s", line, code, err.String())
	case code == 1 && !strings.HasPrefix(err.String(), "Error: "):
		a.t.Errorf("helm %s: no error message: %.300s", line, err.String())
	case strings.Contains(err.String(), "goroutine ") || strings.Contains(err.String(), "runtime error"):
		a.t.Errorf("helm %s: crashed: %.300s", line, err.String())
	case err.Len() > 100_000:
		a.t.Errorf("helm %s: an error of %d bytes", line, err.Len())
	}
	if usage, isUsage := cmd.ProcessState.SysUsage().(*syscall.Rusage); isUsage && runtime.GOOS == "linux" {
		if used := int64(usage.Maxrss) << 10; used > mostMemory {
			a.t.Errorf("helm %s: took %d MiB", line, used>>20)
		}
	}
	return out.String(), err.String(), runErr == nil
}

func (a *attack) refused(want string, args ...string) {
	a.t.Helper()
	if _, err, ok := a.run(args...); ok || !strings.Contains(err, want) {
		a.t.Errorf("helm %.100s: want an error with %q, got %.300s", strings.Join(args, " "), want, err)
	}
}

// CVE-2020-11013, CVE-2023-25165, CVE-2025-55199: offline rendering makes no requests.
func TestTemplateMakesNoRequests(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	a := newAttack(t)
	config := filepath.Join(a.dir, "config")
	text := `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}], clusters: [{name: a, cluster: {server: "` + server.URL + `"}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a.env = append(a.env, "KUBECONFIG="+config)
	asking := a.chart(map[string]string{"templates/a.yaml": harmless + `data: {a: "{{ lookup "v1" "Secret" "" "" | len }}{{ getHostByName "localhost" }}"}`})
	for _, args := range [][]string{
		{"template", "web", asking}, {"install", "web", asking, "--dry-run=client"}, {"lint", asking}, {"package", asking, "-d", a.dir}, {"show", "all", asking},
	} {
		out, err, ok := a.run(args...)
		if !ok || strings.Contains(out, "127.0.0.1") || strings.Contains(out, "::1") {
			t.Errorf("helm %s: %s%s", args[0], out, err)
		}
	}
	for _, ref := range []string{server.URL + "/x", "file:///dev/zero", "../../../../../../../dev/zero", "file:///etc/hostname"} {
		schema := a.chart(map[string]string{"templates/a.yaml": harmless, "values.schema.json": `{"$ref":"` + ref + `"}`})
		a.refused("schema", "template", "web", schema)
		a.run("lint", schema)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

// Text that expands to much more, or nests without end, in all places where charts or users may
// provide it.
func TestTextBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	a := newAttack(t)
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	below := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
	}
	for _, text := range []string{aliases.String(), "a: " + strings.Repeat("[", 1_000_000), "a: &a {b: *a}\n"} {
		values := filepath.Join(a.dir, "values.yaml")
		if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		plain := a.chart(map[string]string{"templates/a.yaml": harmless})
		a.run("template", "web", plain, "-f", values)
		for _, files := range []map[string]string{
			{"values.yaml": text},
			{"Chart.yaml": manifest + "annotations:\n" + below(text)},
			{"Chart.yaml": strings.Replace(manifest, "v2", "v1", 1), "requirements.yaml": text},
			{"Chart.lock": text},
			{"values.schema.json": text},
			{"crds/a.yaml": text},
			{"templates/a.yaml": harmless + text},
			{"templates/a.yaml": harmless + "data:\n{{ fromYaml .Values.t | toYaml | indent 2 }}", "values.yaml": "t: |\n" + below(text)},
			{"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n" + below(below(text))},
		} {
			chart := a.chart(files)
			a.run("template", "web", chart, "--include-crds")
			a.run("lint", chart)
		}
	}
}

// CVE-2022-36055, CVE-2022-23524, and endless sources.
func TestHostileValues(t *testing.T) {
	a := newAttack(t)
	chart := a.chart(map[string]string{"templates/a.yaml": harmless})
	for _, args := range [][]string{
		{"--set", "a[99999999]=1"}, {"--set-string", "a[99999999]=1"}, {"--set", "a" + strings.Repeat(".b", 5000) + "=1"},
		{"--set", "a" + strings.Repeat("[0]", 5000) + "=1"}, {"--set-json", "a=" + strings.Repeat("[", 100_000)},
		{"-f", a.dir}, {"-f", "/dev/zero"}, {"--set-file", "a=/dev/zero"}, {"--set-file", "a=" + a.dir},
	} {
		a.refused("", append([]string{"template", "web", chart}, args...)...)
	}
	a.refused("", "template", "web", "/dev/zero")
}

// CVE-2024-25620, CVE-2026-35206: names that lead out of a directory.
func TestPathTraversal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	a := newAttack(t)
	out := filepath.Join(a.dir, "deep", "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", ".", "..", "a/b", "/abs", `a\\b`} {
		chart := a.chart(map[string]string{"Chart.yaml": strings.Replace(manifest, "web", `"`+name+`"`, 1), "templates/a.yaml": harmless})
		a.refused("name", "template", "web", chart, "--output-dir", out)
		a.refused("name", "package", chart, "-d", out)
		a.refused("name", "show", "chart", chart)
	}
	for _, name := range []string{".", ".."} {
		a.refused("", "create", filepath.Join(out)+"/"+name+"/"+name)
	}
	chart := a.chart(map[string]string{"templates/a.yaml": harmless})
	a.refused("version", "package", chart, "-d", out, "--version", "1.0.0/../../x")
	a.refused("name", "template", "../../x", chart, "--output-dir", out, "--release-name")
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("written: %v, %v", left, err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 {
		t.Errorf("written: %v, %v", left, err)
	}
}

// CVE-2019-25210: Secrets are hidden in all places.
func TestHideSecrets(t *testing.T) {
	a := newAttack(t)
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {p: hunter2}\n"
	item := "- " + strings.ReplaceAll(fmt.Sprintf(secret, "c"), "\n", "\n  ")
	chart := a.chart(map[string]string{
		"templates/a.yaml": fmt.Sprintf(secret, "a"),
		"templates/b.yaml": fmt.Sprintf(secret, "b, annotations: {helm.sh/hook: pre-install}"),
		"templates/c.yaml": "apiVersion: v1\nkind: List\nitems:\n" + item,
		"templates/d.yaml": "apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: {name: d}, stringData: {p: hunter2}}\n",
		"templates/e.yaml": "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems:\n" + item,
	})
	for _, format := range []string{"table", "json", "yaml"} {
		t.Run(format, func(t *testing.T) {
			out, err, ok := a.run("install", "web", chart, "--dry-run=client", "--hide-secret", "-o", format)
			if !ok && !strings.Contains(err, "List") || strings.Contains(out+err, "hunter2") {
				t.Errorf("%s: %s%s", format, out, err)
			}
		})
	}
}

// Templates that may exhaust the stack, memory or time.
func TestHostileTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	a := newAttack(t)
	circle := `{{ $x := dict }}{{ $_ := set $x "a" $x }}`
	for _, text := range []string{
		circle + `{{ int $x }}`, circle + `{{ toYaml $x }}`, circle + `{{ mustToJson $x }}`, circle + `{{ urlquery $x }}`,
		`{{ $_ := set .Values "a" .Values }}{{ .Values.YAML }}`,
		strings.Repeat("{{if 1}}", 300_000), "{{" + strings.Repeat("(", 1_000_000),
		`{{ range 1000000000 }}{{ end }}`,
		`{{ define "a" }}{{ if . }}{{ include "a" (sub . 1) }}{{ include "a" (sub . 1) }}{{ end }}{{ end }}{{ include "a" 900 }}`,
		`{{ $l := list }}{{ range until 10000 }}{{ $l = append $l (repeat 30000000 "x") }}{{ end }}`,
		`{{ fail (repeat 30000000 "x") }}`,
	} {
		_, err, _ := a.run("template", "web", a.chart(map[string]string{"templates/a.yaml": text}))
		if strings.Contains(err, "goroutine") {
			t.Errorf("%.80s: %.200s", text, err)
		}
	}
}
