// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helmDiffModule is the version of helm-diff whose flags the built-in diff has.
const helmDiffModule = "github.com/databus23/helm-diff/v3@v3.15.11"

// helmDiff is a directory of plugins with helm-diff in it. MOONHELM_HELM_DIFF names
// the plugin's binary, or is "build" to have it built through the Go module proxy: not
// every proxy gives it out, and one that does not is not to be asked by every run.
func helmDiff(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("MOONHELM_HELM_DIFF")
	switch bin {
	case "":
		t.Skip("MOONHELM_HELM_DIFF names no binary of helm-diff (MOONHELM_HELM_DIFF=build builds " + helmDiffModule + ")")
	case "build":
		dir := t.TempDir()
		build := exec.Command("go", "install", helmDiffModule)
		build.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-buildvcs=false")
		build.Dir = dir // outside of any module
		if out, err := build.CombinedOutput(); err != nil {
			t.Skipf("%s cannot be built here: %v\n%s", helmDiffModule, err, out)
		}
		bin = filepath.Join(dir, "helm-diff")
	}
	plugins := t.TempDir()
	writeFile(t, filepath.Join(plugins, "diff", "plugin.yaml"), fmt.Sprintf(
		"name: diff\nversion: \"3.15.11\"\nusage: helm-diff\ndescription: helm-diff\nignoreFlags: false\ncommand: %q\n", bin))
	return plugins
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// diffChart is the chart whose diffs are compared.
func diffChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
	writeFile(t, filepath.Join(dir, "values.yaml"), "replicas: 1\npassword: old\nname: one\nextra: false\nlineEnd: \"\\n\"\ncomment: first\n")
	writeFile(t, filepath.Join(dir, "templates", "all.yaml"), `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  # {{ .Values.comment }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {same: c2FtZQ==, password: {{ .Values.password | b64enc }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Values.name }}}
data:
  a: "1"
  b: "2"
  c: "3"
  kube: {{ .Capabilities.KubeVersion.Version }}
  has: {{ .Capabilities.APIVersions.Has "example.com/v1" | quote }}
{{ if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: {{ .Release.Namespace }}}
data: {a: b}
{{ end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Namespace }}-reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: setup, annotations: {helm.sh/hook: pre-upgrade}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: setup, image: busybox, args: [{{ .Values.replicas | quote }}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: smoke, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: smoke, image: busybox, args: [{{ .Values.replicas | quote }}]}]}
`)
	writeFile(t, filepath.Join(dir, "templates", "end.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: end}\ndata:\n  text: |\n    one{{ .Values.lineEnd }}    two")
	writeFile(t, filepath.Join(dir, "crds", "gadget.yaml"), `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.helmdiff.moonhelm.test}
spec:
  group: helmdiff.moonhelm.test
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	return dir
}

// sum is the last line of the built-in's text, which helm-diff does not have.
var sum = regexp.MustCompile(`(?m)^(Plan|Difference|Plan of the rollback|Difference from revision)[^:\n]*: \d+ to add, .*\n`)

// blocks are the parts of a diff, a heading and its lines each, in one order.
func blocks(text string) []string {
	var out []string
	for _, line := range strings.Split(sum.ReplaceAllString(text, ""), "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case line == "" || line == "-" || strings.HasPrefix(line, "  # ") && !strings.HasPrefix(line, "  # Source: "):
		case strings.HasPrefix(line, "..."):
			out[max(0, len(out)-1)] += "...\n"
		case regexp.MustCompile(`^\S+, \S+, \S+ \(`).MatchString(line):
			out = append(out, line+"\n")
		case len(out) == 0:
			out = append(out, line+"\n")
		default:
			out[len(out)-1] += line + "\n"
		}
	}
	slices.Sort(out)
	return out
}

// TestHelmDiff runs helm-diff as a plugin of Helm 4 and of Helm 3, and the built-in
// command beside them, on recorded manifests: the same text, and the same exit code.
func TestHelmDiff(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make cluster-tests brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	plugins := helmDiff(t)
	chart, home := diffChart(t), t.TempDir()
	namespace := "helmdiff"
	must(t, ours(t), home, "install", "web", chart, "-n", namespace, "--create-namespace")
	t.Cleanup(func() { run(t, ours(t), home, "uninstall", "web", "-n", namespace) })
	must(t, ours(t), home, "upgrade", "web", chart, "-n", namespace, "--set", "replicas=2,comment=second", "--no-hooks")
	upgrade := func(more ...string) []string {
		return append([]string{"diff", "upgrade", "web", chart, "--context", "-1", "--detailed-exitcode"}, more...)
	}
	for name, args := range map[string][]string{
		"unchanged":         upgrade("--reuse-values"),
		"changed":           upgrade("--set", "replicas=3"),
		"added":             upgrade("--set", "extra=true"),
		"renamed":           upgrade("--set", "name=two"),
		"renames found":     upgrade("--set", "name=two", "-D", "0.5"),
		"secrets":           upgrade("--set", "password=new"),
		"secrets shown":     upgrade("--set", "password=new", "--show-secrets"),
		"secrets decoded":   upgrade("--set", "password=new", "--show-secrets-decoded"),
		"secrets left out":  upgrade("--set", "password=new", "-q"),
		"a kind left out":   upgrade("--set", "replicas=3", "--suppress", "Deployment"),
		"lines left out":    upgrade("--set", "replicas=3", "--suppress-output-line-regex", "replicas"),
		"context":           upgrade("--set", "replicas=3", "-C", "1"),
		"tests":             upgrade("--set", "replicas=3", "--include-tests"),
		"no hooks":          upgrade("--set", "replicas=3", "--no-hooks"),
		"carriage returns":  upgrade("--set", "lineEnd=\r\n", "--strip-trailing-cr"),
		"comments":          upgrade("--reuse-values", "--set", "comment=third"),
		"normalized":        upgrade("--reuse-values", "--set", "comment=third", "--normalize-manifests"),
		"kube version":      upgrade("--kube-version", "1.30.0", "--api-versions", "example.com/v1"),
		"reset values":      upgrade("--reset-values"),
		"simple":            upgrade("--set", "replicas=3", "--output", "simple"),
		"json":              upgrade("--set", "replicas=3", "--output", "json"),
		"dyff":              upgrade("--set", "replicas=3", "--output", "dyff"),
		"a new release":     {"diff", "upgrade", "other", chart, "--allow-unreleased", "--detailed-exitcode"},
		"definitions":       {"diff", "upgrade", "other", chart, "--install", "--include-crds"},
		"no release":        {"diff", "upgrade", "other", chart},
		"rollback":          {"diff", "rollback", "web", "1", "-C", "-1", "--detailed-exitcode"},
		"revisions":         {"diff", "revision", "web", "1", "2", "-C", "-1", "--detailed-exitcode"},
		"the same revision": {"diff", "revision", "web", "2", "2", "--detailed-exitcode"},
		"local":             {"diff", "local", chart, chart, "--detailed-exitcode"},
	} {
		t.Run(name, func(t *testing.T) {
			args = append(args, "--namespace", namespace)
			got := runWith(t, ours(t), home, []string{"HELM_DIFF_THREE_WAY_MERGE=false", "HELM_PLUGINS=" + t.TempDir()}, args...)
			if name == "changed" && got.code() != 2 {
				t.Errorf("nothing is compared: %d\n%s", got.code(), got.stderr)
			}
			for _, helm := range []string{helm4, helm3} {
				want := runWith(t, peer(t, helm), home, []string{"HELM_PLUGINS=" + plugins}, args...)
				if g, w := blocks(got.stdout), blocks(want.stdout); !slices.Equal(g, w) || got.code() != want.code() {
					t.Errorf("helm %s\n%s: %d\n%s%s\nours: %d\n%s%s", strings.Join(args, " "), helm,
						want.code(), strings.Join(w, "\n"), indent(want.stderr), got.code(), strings.Join(g, "\n"), indent(got.stderr))
				}
			}
		})
	}
}

// runWith is run with more variables.
func runWith(t *testing.T, bin, home string, env []string, args ...string) result {
	t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Env = append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "KUBECONFIG=" + os.Getenv("MOONHELM_TEST_KUBECONFIG"),
	}, env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return result{stdout.String(), stderr.String(), err}
}
