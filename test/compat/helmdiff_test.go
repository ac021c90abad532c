// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// helmDiff returns a directory of plugins with helm-diff: the binary of MOONHELM_HELM_DIFF, or
// else the newest version of the Go module proxy.
func helmDiff(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("MOONHELM_HELM_DIFF")
	if bin == "" {
		var err error
		if bin, err = peertest.HelmDiff(); err != nil {
			t.Fatal(err)
		}
	}
	plugins := t.TempDir()
	filetest.WriteFile(t, filepath.Join(plugins, "diff", "plugin.yaml"), fmt.Sprintf(
		"name: diff\nversion: \"3.0.0\"\nusage: helm-diff\ndescription: helm-diff\nignoreFlags: false\ncommand: %q\n", bin))
	return plugins
}

// diffChart is the chart whose diffs are compared.
func diffChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
	filetest.WriteFile(t, filepath.Join(dir, "values.yaml"), "replicas: 1\npassword: old\nname: one\nextra: false\nlineEnd: \"\\n\"\ncomment: first\n")
	filetest.WriteFile(t, filepath.Join(dir, "templates", "all.yaml"), `apiVersion: apps/v1
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
	filetest.WriteFile(t, filepath.Join(dir, "templates", "end.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: end}\ndata:\n  text: |\n    one{{ .Values.lineEnd }}    two")
	filetest.WriteFile(t, filepath.Join(dir, "crds", "gadget.yaml"), `apiVersion: apiextensions.k8s.io/v1
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

// sum matches the last line of our text output, which helm-diff does not have.
var sum = regexp.MustCompile(`(?m)^(Plan|Difference|Plan of the rollback|Difference from revision)[^:\n]*: \d+ to add, .*\n`)

// heading matches the first line of helm-diff's output for an object.
var heading = regexp.MustCompile(`^\S+, \S+, \S+ \(`)

// blocks returns the sorted parts of a diff, a heading and its lines each, without the
// differences of docs/diff.md.
func blocks(text string) []string {
	text = sum.ReplaceAllString(text, "")
	text = regexp.MustCompile(`(["'])([^"'\n]* # \(\d+ bytes\))["']`).ReplaceAllString(text, `"$2"`)
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case line == "" || line == "-" || line == "+" || strings.HasPrefix(line, "  # ") && !strings.HasPrefix(line, "  # Source: "):
		case strings.HasPrefix(line, "..."):
			out[max(0, len(out)-1)] += "...\n"
		case heading.MatchString(line):
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

// items returns the sorted elements of a JSON array.
func items(text string) []string {
	var list []any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return []string{text}
	}
	var out []string
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	slices.Sort(out)
	return out
}

// paragraphs returns the sorted paragraphs of a text.
func paragraphs(text string) []string {
	return slices.Sorted(strings.SplitSeq(strings.TrimSpace(text), "\n\n"))
}

// diffCase is a command line of helm-diff.
type diffCase struct {
	name   string
	args   []string
	env    []string
	parts  func(string) []string // the default is blocks
	noHook bool                  // helm-diff does not compare hooks
}

// diffCases are the command lines to compare. CHART stands for the chart.
func diffCases() []diffCase {
	upgrade := func(name, args string, env ...string) diffCase {
		return diffCase{name: name, args: strings.Fields("upgrade web CHART -C -1 --detailed-exitcode " + args), env: env}
	}
	as := func(parts func(string) []string, c diffCase) diffCase {
		c.parts = parts
		return c
	}
	records := func(name, args string) diffCase {
		return diffCase{name: name, args: strings.Fields(args + " -C -1 --detailed-exitcode"), noHook: true}
	}
	const several = "--set replicas=3,password=new,name=two,extra=true "
	return []diffCase{
		upgrade("unchanged", "--reuse-values"), upgrade("changed", "--set replicas=3"), upgrade("added", "--set extra=true"),
		upgrade("renamed", "--set name=two"), upgrade("renames found", "--set name=two -D 0.5"), upgrade("too much for a rename", several+"-D 0.01"),
		upgrade("several", several), upgrade("secrets", "--set password=new"), upgrade("secrets shown", "--set password=new --show-secrets"),
		upgrade("secrets decoded", "--set password=new --show-secrets-decoded"), upgrade("secrets left out", "--set password=new -q"),
		upgrade("a kind left out", several+"--suppress Deployment"), upgrade("two kinds left out", several+"--suppress Deployment --suppress ConfigMap --output simple"),
		as(items, upgrade("kinds left out in JSON", several+"--suppress Deployment -q --output json")),
		upgrade("lines left out", several+"--suppress-output-line-regex replicas"),
		upgrade("all lines left out", "--set replicas=3 --suppress-output-line-regex replicas|second|first|args"),
		as(items, upgrade("all lines left out in JSON", "--set replicas=3 --suppress-output-line-regex replicas|second|first|args --output json")),
		upgrade("tests", "--set replicas=3 --include-tests"), upgrade("no hooks", "--set replicas=3 --no-hooks"),
		{name: "carriage returns", args: []string{"upgrade", "web", "CHART", "-C", "-1", "--set", "lineEnd=\r\n", "--strip-trailing-cr"}},
		upgrade("comments", "--reuse-values --set comment=third"), upgrade("normalized", "--reuse-values --set comment=third --normalize-manifests"),
		upgrade("normalized by the variable", "--reuse-values --set comment=third", "HELM_DIFF_NORMALIZE_MANIFESTS=true"),
		upgrade("kube version", "--disable-validation --kube-version 1.30.0 --api-versions example.com/v1"),
		upgrade("reset values", "--reset-values"), upgrade("no validation by schema", several+"--disable-openapi-validation"),
		upgrade("simple", several+"--output simple"), upgrade("simple and unchanged", "--reuse-values --output simple"),
		as(items, upgrade("json", several+"--output json")), as(items, upgrade("json of renames", several+"-D 0.9 --output json")),
		as(items, upgrade("json and unchanged", "--reuse-values --output json")),
		upgrade("template", several+"--output template", "HELM_DIFF_TPL=TEMPLATE"),
		as(paragraphs, upgrade("dyff", "--set replicas=3,password=new --output dyff")),
		upgrade("a dry run without a cluster", "--dry-run --output simple"), upgrade("a dry run of the server", several+"--dry-run=server"),
		upgrade("no context", several+"--output simple", "HELM_DIFF_OUTPUT_CONTEXT=0"),
		upgrade("colour by the variable", several+"--output simple", "HELM_DIFF_COLOR=false"),
		upgrade("an upgrade's dry run", several, "HELM_DIFF_USE_UPGRADE_DRY_RUN=true"),
		upgrade("a dry run of the server by the variable", several, "HELM_DIFF_USE_INSECURE_SERVER_SIDE_DRY_RUN=true"),
		upgrade("unknown flags", "--reuse-values --surely-unknown", "HELM_DIFF_IGNORE_UNKNOWN_FLAGS=true"),
		upgrade("an unknown flag", "--surely-unknown"), {name: "an unknown chart", args: strings.Fields("upgrade web no-such-chart")},
		{name: "a new release", args: strings.Fields("upgrade other CHART --allow-unreleased --detailed-exitcode --namespace helmdiff-new")},
		{name: "a new release as an install", args: strings.Fields("upgrade other CHART --install --output simple --namespace helmdiff-new")},
		{name: "definitions", args: strings.Fields("upgrade other CHART --install --include-crds --namespace helmdiff-new")},
		{name: "no release", args: strings.Fields("upgrade other CHART")},
		{name: "without the word upgrade", args: strings.Fields("web CHART --output simple --detailed-exitcode --set replicas=3")},
		{name: "flags before the word", args: strings.Fields("--output simple -C 2 --no-color --detailed-exitcode --install upgrade web CHART --set replicas=3")},
		{name: "flags before another word", args: strings.Fields("--output simple revision web 1 2"), noHook: true},
		{name: "another's flag before the word", args: strings.Fields("--install revision web 1 2")},
		records("rollback", "rollback web 1"), records("rollback to the same", "rollback web 2"), records("rollback to what is not there", "rollback web 77"),
		records("revisions", "revision web 1 2"), {name: "a revision and the newest", args: strings.Fields("revision web 1 -C -1"), noHook: true}, records("the same revision", "revision web 2 2"),
		records("no such revision", "revision web 77"), records("simple revisions", "revision web 1 2 --output simple"),
		records("releases", "release web helmdiff/web"), records("no such release", "release web nobody"),
		{name: "local", args: strings.Fields("local CHART CHART --detailed-exitcode")},
	}
}

// TestHelmDiff compares the text and the exit code of the built-in command with those of
// helm-diff, as a plugin of Helm 3, and of Helm 4 if it supports the flags with which this
// version calls it. It compares recorded manifests.
func TestHelmDiff(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make cluster-tests brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	plugins, none := helmDiff(t), t.TempDir()
	chart, home, namespace := diffChart(t), t.TempDir(), "helmdiff"
	list := filepath.Join(t.TempDir(), "list.tpl")
	filetest.WriteFile(t, list, "{{ range . }}{{ .Namespace }}, {{ .Name }}, {{ .Kind }} ({{ .API }}) {{ .Change }}\n{{ end }}")
	for _, ns := range []string{namespace, "helmdiff-new"} {
		must(t, ours(t), home, "install", "web", chart, "-n", ns, "--create-namespace", "--set", "name="+ns)
		t.Cleanup(func() { run(t, ours(t), home, "uninstall", "web", "-n", ns) })
	}
	must(t, ours(t), home, "uninstall", "web", "-n", "helmdiff-new") // the namespace stays
	must(t, ours(t), home, "upgrade", "web", chart, "-n", namespace, "--set", "replicas=2,comment=second,name=one", "--no-hooks")
	for _, c := range diffCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"diff"}
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "CHART", chart))
			}
			if !slices.Contains(args, "--namespace") {
				args = append(args, "--namespace", namespace)
			}
			var env []string
			for _, v := range c.env {
				env = append(env, strings.ReplaceAll(v, "TEMPLATE", list))
			}
			parts := c.parts
			if parts == nil {
				parts = blocks
			}
			own := args
			if c.noHook && !slices.Contains(args, "--no-hooks") {
				own = append(slices.Clone(args), "--no-hooks")
			}
			got := runWith(t, ours(t), home, append(env, "HELM_DIFF_THREE_WAY_MERGE=false", "HELM_PLUGINS="+none), own...)
			if c.name == "changed" && got.code() != 2 {
				t.Errorf("nothing is compared: %d\n%s", got.code(), got.stderr)
			}
			for _, helm := range []string{helm3, helm4} {
				want := runWith(t, peer(t, helm), home, append(env, "HELM_PLUGINS="+plugins), args...)
				switch {
				case strings.Contains(want.stderr, "[dry-run validate] were all set"):
					continue // Helm 4 no longer accepts this combination of flags
				case !strings.Contains(strings.Join(args, " "), "surely-unknown") && lacks.MatchString(want.stderr):
					t.Skipf("this helm-diff has no such thing: %s", lacks.FindString(want.stderr))
				}
				got.stdout, want.stdout = emptied.Replace(got.stdout), emptied.Replace(want.stdout)
				want.stdout = banner.ReplaceAllString(want.stdout, "")
				if g, w := parts(got.stdout), parts(want.stdout); !slices.Equal(g, w) || got.code() != want.code() {
					t.Errorf("helm %s\n%s: %d\n%s%s\nours: %d\n%s%s", strings.Join(args, " "), helm,
						want.code(), strings.Join(w, "\n"), indent(want.stderr), got.code(), strings.Join(g, "\n"), indent(got.stderr))
				}
			}
		})
	}
}

// TestHelmDiffOfDrift compares live objects that another client has changed, which helm-diff
// does with --three-way-merge and the built-in command by default.
func TestHelmDiffOfDrift(t *testing.T) {
	plugins, none := helmDiff(t), t.TempDir()
	s := connect(t).namespace(t)
	chart, home := diffChart(t), t.TempDir()
	must(t, ours(t), home, "install", "web", chart, "-n", s.name)
	s.patch(t, "Deployment", "web", `{"spec": {"replicas": 7, "paused": true}}`)
	s.patch(t, "ConfigMap", "one", `{"data": {"a": "other", "more": "theirs"}, "metadata": {"labels": {"x": "y"}}}`)
	s.patch(t, "Secret", "keys", `{"data": {"password": "b3RoZXI="}}`)
	source := regexp.MustCompile(`(?m)^  # Source: .*\n`)
	for name, more := range map[string]string{
		"nothing new": "", "replicas too": "--set replicas=3", "as it is": "--set replicas=7", "names": "--set name=two --output simple",
		"added": "--set extra=true --output simple", "secrets": "--set password=new --show-secrets", "secrets hidden": "--set password=new",
		"kinds left out": "--suppress ConfigMap -q", "drift as JSON": "--output json",
	} {
		t.Run(name, func(t *testing.T) {
			parts := blocks
			if strings.Contains(more, "json") {
				parts = items
			}
			args := strings.Fields("diff upgrade web " + chart + " -C 0 --detailed-exitcode --no-hooks -n " + s.name + " " + more)
			got := runWith(t, ours(t), home, []string{"HELM_PLUGINS=" + none}, args...)
			want := runWith(t, peer(t, helm3), home, []string{"HELM_PLUGINS=" + plugins}, append(args, "--three-way-merge")...)
			g, w := parts(source.ReplaceAllString(got.stdout, "")), parts(source.ReplaceAllString(want.stdout, ""))
			for i := range g { // only ours has the path of a change
				g[i] = strings.TrimSpace(g[i])
			}
			for i := range w {
				w[i] = strings.TrimSpace(w[i])
			}
			if !slices.Equal(g, w) || got.code() != want.code() {
				t.Errorf("helm %s\nhelm-diff: %d\n%s%s\nours: %d\n%s%s", strings.Join(args, " "),
					want.code(), strings.Join(w, "\n"), indent(want.stderr), got.code(), strings.Join(g, "\n"), indent(got.stderr))
			}
		})
	}
}

var (
	// lacks matches the message of an earlier helm-diff about a newer feature.
	lacks = regexp.MustCompile(`unknown flag: --(show-secrets-decoded|include-crds)|This command needs 2 arguments`)
	// banner matches the lines of helm-diff about a missing release and about a variable.
	banner = regexp.MustCompile(`(?s)^\*{20}\n.*?\n\*{20}\n|^Enabled normalize manifests via the envvar\n`)
	// emptied matches the line of later versions for objects whose changes are all hidden.
	emptied = strings.NewReplacer("MODIFY_SUPPRESSED", "MODIFY",
		" has changed, but diff is empty after suppression.", " has changed:", ", but diff is empty after suppression.", ".")
)

// runWith is like run with additional variables.
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
