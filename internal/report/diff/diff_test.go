// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

var update = flag.Bool("update", false, "accept what is printed now")

// object parses YAML as the API server's objects are parsed.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := k8sjson.Unmarshal(raw, &m); err != nil { // integers are int64, as in objects of the API server
		t.Fatal(err)
	}
	return m
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: 1234
  resourceVersion: "77"
  labels:
    app.kubernetes.io/name: web
  annotations:
    note: |
      spec: this is text
      - and no list
spec:
  replicas: 0
  template:
    spec:
      containers:
      - name: web
        image: nginx:1
        args:
        - --one
        - --two
        env:
        - name: A
          value: "1"
      - name: sidecar
        image: proxy:1
      volumes:
      - emptyDir: {}
        name: tmp
status:
  replicas: 0
`

// upgrade returns a plan with a step of each kind.
func upgrade(t *testing.T) Diff {
	live := object(t, deployment)
	after := object(t, strings.NewReplacer("nginx:1", "nginx:2", "replicas: 0", "replicas: 3", "--two", "--three", "and no list", "and a change").Replace(deployment))
	secret := func(value string, more string) map[string]any {
		return object(t, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: tokens\ndata:\n  same: c2FtZQ==\n  token: "+base64.StdEncoding.EncodeToString([]byte(value))+"\n"+more)
	}
	service := object(t, "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  clusterIP: 10.0.0.1\n  ports:\n  - port: 80\n")
	moved := object(t, "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  clusterIP: None\n  ports:\n  - port: 80\n  - port: 443\n")
	old := object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: old\n  namespace: other\ndata:\n  a: b\n")
	ref := func(apiVersion, kind, namespace, name string) plan.Ref {
		return plan.Ref{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	}
	return Diff{
		Release: "web", Namespace: "default", From: 2, To: 3,
		Objects: []Object{
			{Ref: ref("v1", "ConfigMap", "default", "new"), Source: "web/templates/new.yaml", Action: plan.Create, After: object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\ndata:\n  steer: \"\\e[2J\"\n")},
			{Ref: ref("v1", "Secret", "default", "tokens"), Source: "web/templates/s.yaml", Action: plan.Update, Drifted: true,
				Drift:  []plan.Difference{{Path: "data.token", Want: "hunter1", Have: "hunter2", Secret: true}},
				Before: secret("hunter2", "  gone: Z29uZS1zZWNyZXQ=\n"), After: secret("hunter3", "  fresh: ZnJlc2gtc2VjcmV0\n")},
			{Ref: ref("apps/v1", "Deployment", "default", "web"), Source: "web/templates/d.yaml", Action: plan.Update, Drifted: true,
				Drift: []plan.Difference{{Path: "spec.replicas", Want: int64(3), Have: int64(0)}}, Before: live, After: after},
			{Ref: ref("v1", "Service", "default", "web"), Source: "web/templates/svc.yaml", Action: plan.Replace, Reason: "spec.clusterIP cannot be changed", Before: service, After: moved},
			{Ref: ref("v1", "ServiceAccount", "default", "web"), Action: plan.Unchanged, Before: object(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n"), After: object(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n")},
			{Ref: ref("v1", "ConfigMap", "other", "old"), Action: plan.Delete, Before: old},
			{Ref: ref("v1", "PersistentVolumeClaim", "default", "data"), Action: plan.Keep, Reason: "helm.sh/resource-policy: keep", Before: object(t, "kind: PersistentVolumeClaim"), After: object(t, "kind: PersistentVolumeClaim")},
		},
		Hooks: []Object{
			{Ref: ref("batch/v1", "Job", "default", "same"), Action: plan.Unchanged, Before: object(t, "kind: Job"), After: object(t, "kind: Job")},
			{Ref: ref("batch/v1", "Job", "default", "migrate"), Source: "web/templates/job.yaml", Action: plan.Update,
				Before: object(t, "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: pre-upgrade}\nspec:\n  backoffLimit: 1\n"),
				After:  object(t, "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: pre-upgrade}\nspec:\n  backoffLimit: 2\n")},
		},
	}
}

func printDiff(t *testing.T, f Format, color string, d Diff, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(context.Background(), term.Streams{Out: &b, Color: color}, f, d.refine(o), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func printDocument(t *testing.T, f output.Format, d Diff, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDocument(term.Streams{Out: &b}, f, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		name   string
		format Format
		o      Options
	}{
		{"text.txt", Text, Options{}},
		{"text-unchanged.txt", Text, Options{ShowUnchanged: true, Context: NoContext}},
		{"text-secrets.txt", Text, Options{ShowSecrets: true, Context: 1}},
		{"text-decoded.txt", Text, Options{DecodeSecrets: true, Context: 1, SuppressKinds: []string{"Deployment"}}},
		{"text-whole.txt", Text, Options{Context: Whole, SuppressLines: []*regexp.Regexp{regexp.MustCompile("^ *clusterIP|port: 443")}}},
		{"simple.txt", Simple, Options{SuppressLines: []*regexp.Regexp{regexp.MustCompile("^ *clusterIP|port: 443")}}},
		{"names.json", JSON, Options{}},
		{"names.txt", Template, Options{Template: "{{ range $i, $e := . }}{{ .Change }} {{ .API }}/{{ .Kind }} {{ .Namespace }}/{{ .Name }}{{ if not (last $i $) }},{{ end }}\n{{ end }}"}},
		{"structured.json", Structured, Options{SuppressKinds: []string{"Service"}}},
		{"dyff.txt", Dyff, Options{SuppressKinds: []string{"Service"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			filetest.Golden(t, filepath.Join("testdata", test.name), printDiff(t, test.format, "", upgrade(t), test.o), *update)
		})
	}
	colored := printDiff(t, Text, "always", upgrade(t), Options{Context: 1})
	filetest.Golden(t, filepath.Join("testdata", "text-color.txt"), strings.ReplaceAll(colored, "\x1b", "<ESC>"), *update)
}

func TestTemplateWithoutText(t *testing.T) {
	if got, want := printDiff(t, Template, "", upgrade(t), Options{}), printDiff(t, JSON, "", upgrade(t), Options{}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var list []map[string]string
	if err := json.Unmarshal([]byte(printDiff(t, JSON, "", upgrade(t), Options{})), &list); err != nil || len(list) != 6 {
		t.Errorf("%v: %v", err, list)
	}
}

func TestInvalidTemplates(t *testing.T) {
	for text, want := range map[string]string{"{{ range": "parse error at (HELM_DIFF_TPL:1)", "{{ .Nope }}": "execute the template of HELM_DIFF_TPL"} {
		t.Run(text, func(t *testing.T) {
			err := Write(context.Background(), term.Streams{Out: io.Discard}, Template, upgrade(t), Options{Template: text})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", text, err, want)
			}
		})
	}
}

func TestWriteDocument(t *testing.T) {
	for name, o := range map[string]Options{"document.json": {}, "document-unchanged.json": {ShowUnchanged: true}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := json.Indent(&b, []byte(printDocument(t, output.JSON, upgrade(t), o)), "", "  "); err != nil {
				t.Fatal(err)
			}
			filetest.Golden(t, filepath.Join("testdata", name), b.String(), *update)
		})
	}
	if got := printDocument(t, output.YAML, upgrade(t), Options{}); !strings.Contains(got, "\nrelease: web\n") || !strings.Contains(got, "path: spec.template.spec.containers[web].image") {
		t.Error(got)
	}
	var empty map[string]any
	if err := json.Unmarshal([]byte(printDocument(t, output.JSON, Diff{}, Options{})), &empty); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(empty["objects"], empty["hooks"]) != "[] []" {
		t.Errorf("empty lists must not be null: %v", empty)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	d := upgrade(t)
	d.Objects[1].Before["metadata"].(map[string]any)["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"token":"aHVudGVyMg=="}}`}
	delete(d.Objects[1].Before, "kind") // as in items of a list
	d.Hooks = append(d.Hooks, d.Objects[1])
	d.Hooks[2].Action, d.Hooks[2].After = plan.Delete, nil
	for name, show := range map[string]func(Options) string{
		"text":       func(o Options) string { return printDiff(t, Text, "", d, o) },
		"dyff":       func(o Options) string { return printDiff(t, Dyff, "", d, o) },
		"structured": func(o Options) string { return printDiff(t, Structured, "", d, o) },
		"json":       func(o Options) string { return printDocument(t, output.JSON, d, o) },
		"yaml":       func(o Options) string { return printDocument(t, output.YAML, d, o) },
	} {
		t.Run(name, func(t *testing.T) {
			got := show(Options{ShowUnchanged: true})
			for _, secret := range []string{"hunter", "aHVudGVy", "Z29uZS1", "ZnJlc2gt", "c2FtZQ"} {
				if strings.Contains(got, secret) {
					t.Errorf("%s shows %s:\n%s", name, secret, got)
				}
			}
			for _, key := range []string{"token", "gone", "fresh"} {
				if !strings.Contains(got, key) {
					t.Errorf("%s does not show that %s changes", name, key)
				}
			}
			if got := show(Options{ShowSecrets: true}); !strings.Contains(got, "aHVudGVyMg==") {
				t.Errorf("%s redacts despite --show-secrets", name)
			}
			if got := show(Options{DecodeSecrets: true}); !strings.Contains(got, "hunter2") {
				t.Errorf("%s does not decode", name)
			}
		})
	}
}

// TestSuppressedKinds checks for every format that the contents of suppressed kinds are not printed
// even with --show-secrets, and that an object with only suppressed lines prints none of them.
func TestSuppressedKinds(t *testing.T) {
	d := upgrade(t)
	d.Objects[2].Drift = nil
	for i := range d.Objects {
		d.Objects[i].Conflicts = []plan.Conflict{{Path: "data.token", Live: "hunter8", Chart: "hunter9"}}
	}
	for name, show := range map[string]func(Options) string{
		"text":       func(o Options) string { return printDiff(t, Text, "", d, o) },
		"dyff":       func(o Options) string { return printDiff(t, Dyff, "", d, o) },
		"structured": func(o Options) string { return printDiff(t, Structured, "", d, o) },
		"document":   func(o Options) string { return printDocument(t, output.JSON, d, o) },
	} {
		t.Run(name, func(t *testing.T) {
			kinds := []string{"Secret", "ConfigMap", "Deployment", "Service", "ServiceAccount", "PersistentVolumeClaim"}
			got := show(Options{DecodeSecrets: true, ShowUnchanged: true, SuppressKinds: kinds})
			for _, value := range []string{"hunter", "clusterIP: None", "clusterIP\":", "nginx"} {
				if strings.Contains(got, value) {
					t.Errorf("objects of suppressed kinds show %s:\n%s", value, got)
				}
			}
			if !strings.Contains(got, "Secret") {
				t.Errorf("the change of a Secret is missing:\n%s", got)
			}
			if name == "document" { // the document has no lines
				return
			}
			all := regexp.MustCompile("replicas|image|three|two|and")
			if got := show(Options{SuppressLines: []*regexp.Regexp{all}}); strings.Contains(got, "nginx") {
				t.Errorf("suppressed lines are printed:\n%s", got)
			}
		})
	}
}

func TestNoChanges(t *testing.T) {
	d := Diff{Namespace: "ns", Objects: []Object{{Action: plan.Unchanged},
		{Ref: plan.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "kept"}, Action: plan.Keep, Reason: "it is kept"}}, Hooks: []Object{{Action: plan.Unchanged}}}
	for f, want := range map[Format]string{Text: "ns, kept, ConfigMap (v1) is no longer part of the release and stays: it is kept\n\n" +
		"Plan: 0 to add, 0 to change, 0 to destroy, 1 to keep.\n", Simple: "Plan: 0 to add, 0 to change, 0 to destroy.\n", JSON: "[]\n", Structured: "[]\n", Dyff: ""} {
		if got := printDiff(t, f, "", d, Options{}); got != want || d.Changes() {
			t.Errorf("%s: %t, got %q, want %q", f, d.Changes(), got, want)
		}
	}
	d.Hooks[0].Action = plan.Create
	if !d.Changes() {
		t.Error("Changes() = false for a changed hook")
	}
}

// An object that only has moved is reported once, although nothing is written.
func TestOnlyMoved(t *testing.T) {
	o := object(t, deployment)
	ref := plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web"}
	to := ref
	to.Name = "server"
	moved := &plan.MovedObject{From: ref, To: to}
	d := Diff{Namespace: "ns", Objects: []Object{{Ref: ref, Action: plan.Unchanged, Moved: moved, Before: o, After: o}}}
	const note = "ns, web, Deployment (apps) has not changed.\n  # keeps its name; the chart calls it Deployment/server now\n\n"
	if got := printDiff(t, Text, "", d, Options{}); got != note+"Plan: 0 to add, 0 to change, 0 to destroy.\n" || d.Changes() {
		t.Errorf("got %q, changes: %t", got, d.Changes())
	}
	if got := len(d.document(Options{}).Objects); got != 1 {
		t.Errorf("the document has %d objects", got)
	}
	var b strings.Builder
	if err := WriteStat(term.Streams{Out: &b}, d, Options{}); err != nil || !strings.HasPrefix(b.String(), " Deployment/web moved | 0\n") {
		t.Errorf("stat: %q, %v", b.String(), err)
	}
	moved.Known = true
	if got := printDiff(t, Text, "", d, Options{}); got != "" || len(d.document(Options{}).Objects) != 0 {
		t.Errorf("the revision before has it too: %q", got)
	}
}

func TestUpdateWithoutDifference(t *testing.T) {
	o := object(t, deployment)
	d := Diff{Namespace: "ns", Objects: []Object{{Ref: plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Action: plan.Update, Before: o, After: o}}}
	want := "ns, web, Deployment (apps) has changed:\n  # no field changes its value\n\nPlan: 0 to add, 1 to change, 0 to destroy.\n"
	if got := printDiff(t, Text, "", d, Options{}); got != want {
		t.Errorf("got %q", got)
	}
}

// dyff prints the names of objects only if there are several.
func TestDyffSingleObject(t *testing.T) {
	d := upgrade(t)
	d.Objects, d.Hooks = d.Objects[2:3], nil
	got := printDiff(t, Dyff, "", d, Options{})
	if !strings.HasPrefix(got, "default, web, Deployment (apps) has changed:\n") || !strings.Contains(got, "\nspec.replicas\n") {
		t.Error(got)
	}
}

func TestPlanSteps(t *testing.T) {
	live, after := object(t, deployment), object(t, strings.ReplaceAll(deployment, "replicas: 0", "replicas: 3"))
	ref := plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web"}
	old := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(3)}}
	got := objects([]plan.Step{
		{Item: plan.Item{Ref: ref, Source: "web/templates/d.yaml", Live: live, New: after, Old: []map[string]any{old}}, Action: plan.Update, After: after, Drifted: true},
		{Item: plan.Item{Ref: ref, New: after}, Action: plan.Create},
		{Item: plan.Item{Ref: ref, Live: live}, Action: plan.Delete},
	})
	if len(got) != 3 || got[0].Source != "web/templates/d.yaml" || got[0].Before == nil || len(got[0].Drift) != 1 || got[0].Drift[0].Path != "spec.replicas" {
		t.Errorf("%+v", got)
	}
	if got[1].Before != nil || got[1].After == nil || got[2].Before == nil || got[2].After != nil {
		t.Errorf("%+v", got[1:])
	}
}

// compared returns the diff of two manifests.
func compared(t *testing.T, old, now string, o Options) Diff {
	t.Helper()
	read := func(text string) *release.Release {
		rel := release.New("web", "default", 1, &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}})
		rel.Manifest = text
		return rel
	}
	change, err := action.Compare(read(old), read(now))
	if err != nil {
		t.Fatal(err)
	}
	return Of(change, o)
}

func TestStoredManifests(t *testing.T) {
	const config = "---\n# Source: web/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    one\n    two\n"
	for _, test := range []struct {
		name, old, now string
		o              Options
		want           string // lines of simple, without the summary
	}{
		{"the same", config, config, Options{}, ""},
		{"a comment", config, config + "# new\n", Options{}, "default, a, ConfigMap (v1) to be changed.\n"},
		{"a comment, normalized", config, config + "# new\n", Options{Normalize: true}, ""},
		{"a style", config, strings.Replace(config, "{name: a}", "\n  name: a", 1), Options{}, "default, a, ConfigMap (v1) to be changed.\n"},
		{"a style, normalized", config, strings.Replace(config, "{name: a}", "\n  name: a", 1), Options{Normalize: true}, ""},
		{"a template", config, strings.Replace(config, "c.yaml", "d.yaml", 1), Options{}, "default, a, ConfigMap (v1) to be changed.\n"},
		{"carriage returns", config, strings.ReplaceAll(config, "one\n", "one\r\n"), Options{}, "default, a, ConfigMap (v1) to be changed.\n"},
		{"carriage returns, stripped", config, strings.ReplaceAll(strings.ReplaceAll(config, "kind: ConfigMap\n", "kind: ConfigMap\r\n"), "v1\n", "v1\r\n"), Options{StripCR: true}, ""},
		{"no line end", config, strings.TrimSuffix(config, "\n"), Options{}, ""},
		{"renamed", config, strings.Replace(config, "name: a", "name: b", 1), Options{}, "default, b, ConfigMap (v1) to be added.\ndefault, a, ConfigMap (v1) to be removed.\n"},
		{"renamed, found", config, strings.Replace(config, "name: a", "name: b", 1), Options{Renames: 0.3}, "default, a, ConfigMap (v1) to be changed.\n"},
		{"renamed, too far", config, strings.Replace(config, "name: a", "name: b", 1), Options{Renames: 0.1}, "default, b, ConfigMap (v1) to be added.\ndefault, a, ConfigMap (v1) to be removed.\n"},
		{"renamed, a part above 1", config, strings.Replace(config, "name: a", "name: b", 1), Options{Renames: 2}, "default, a, ConfigMap (v1) to be changed.\n"},
		{"another kind", config, strings.Replace(config, "kind: ConfigMap\nmetadata: {name: a}", "kind: Secret\nmetadata: {name: b}", 1), Options{Renames: 1}, "default, b, Secret (v1) to be added.\ndefault, a, ConfigMap (v1) to be removed.\n"},
		{"a version", config, strings.Replace(config, "v1", "v2", 1), Options{}, "default, a, ConfigMap (v2) to be changed.\n"},
		{"an object of the cluster", "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n", Options{}, "default, r, ClusterRole (rbac.authorization.k8s.io) to be added.\n"},
		{"another namespace", "", strings.Replace(config, "{name: a}", "{name: a, namespace: other}", 1), Options{}, "other, a, ConfigMap (v1) to be added.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := compared(t, test.old, test.now, test.o)
			var b bytes.Buffer
			if err := Write(context.Background(), term.Streams{Out: &b}, Simple, d, test.o); err != nil {
				t.Fatal(err)
			}
			got, _, _ := strings.Cut("\n"+b.String(), "\nPlan: ")
			if got = strings.TrimPrefix(got+"\n", "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if d.Changes() != (test.want != "") {
				t.Errorf("changes: %t", d.Changes())
			}
		})
	}
}

func TestHookOptions(t *testing.T) {
	hook := func(name, events string) Object {
		o := object(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: "+name+"\n  annotations: {helm.sh/hook: \""+events+"\"}\n")
		return Object{Ref: plan.Ref{APIVersion: "v1", Kind: "Pod", Name: name}, Action: plan.Create, After: o}
	}
	for events, want := range map[string]bool{"": false, "test": true, "test-success, Test": true, "test,pre-install": false, "pre-install": false} {
		if got := isTest(hook("a", events)); got != want {
			t.Errorf("%s: got %t, want %t", events, got, want)
		}
	}
}

// An annotation of a list makes each item a hook, although the items lack it.
func TestHooksInList(t *testing.T) {
	list := func(events, value string) *release.Release {
		text := "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: " + events + "}}\nitems:\n" +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: item}, data: {a: " + value + "}}\n"
		return &release.Release{Name: "web", Namespace: "default", Hooks: []*release.Hook{{Kind: "List", Manifest: text}}}
	}
	none := &release.Release{Name: "web", Namespace: "default"}
	for _, tc := range []struct {
		name     string
		from, to *release.Release
		o        Options
		want     string // a line of the text, or ""
	}{
		{"a test", list("test", "1"), list("test", "2"), Options{}, ""},
		{"a test that comes", none, list("test", "1"), Options{}, ""},
		{"a test that goes", list("test", "1"), none, Options{}, ""},
		{"a test, asked for", list("test", "1"), list("test", "2"), Options{IncludeTests: true}, "  # a hook: test\n"},
		{"another hook", list("pre-upgrade", "1"), list("pre-upgrade", "2"), Options{}, "  # a hook: pre-upgrade\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			change, err := action.Compare(tc.from, tc.to)
			if err != nil {
				t.Fatal(err)
			}
			got := printDiff(t, Text, "", Of(change, tc.o), tc.o)
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHookWithoutEvent(t *testing.T) {
	d := Diff{Hooks: []Object{{Ref: plan.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "item"}, Action: plan.Create, After: object(t, "kind: ConfigMap")}}}
	if got := printDiff(t, Text, "", d, Options{}); !strings.Contains(got, "  # a hook\n") {
		t.Errorf("got\n%s\nwant the comment that it is a hook", got)
	}
}

func TestYAMLPath(t *testing.T) {
	text := splitLines(`metadata:
  annotations:
    note: |
      spec: this is text

      - and no list
    "quoted.key": x
spec:
  list:
    - a
    - b: 1
      name: "second"
      deep:
      - - one
        - two
  plain: long text that
    goes on
data: {}
`)
	p := &yamlPath{lines: text}
	want := []string{
		"metadata", "metadata", "metadata.annotations", "metadata.annotations.note", "metadata.annotations.note",
		"metadata.annotations.note", "metadata.annotations", "spec", "spec", "spec.list", "spec.list[second]",
		"spec.list[second]", "spec.list[second]", "spec.list[second].deep[0]", "spec.list[second].deep[0]", "spec", "spec.plain", "data",
	}
	for i := range text {
		got := strings.TrimPrefix(strings.Join(p.at(i), ""), ".")
		if i < len(want) && got != want[i] && !(got == "" && want[i] == strings.TrimSuffix(text[i], ":")) {
			t.Errorf("line %d, %q: got %q, want %q", i, text[i], got, want[i])
		}
	}
}

func TestFieldChanges(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"a: 1", "a: 1.0", "[]"},
		{"a: {b: 1}", "a: {b: 2}", `[{"path":"a.b","before":1,"after":2}]`},
		{"a: 1", "b: 1", `[{"path":"a","before":1},{"path":"b","after":1}]`},
		{"l: [1, 2]", "l: [1, 3, 4]", `[{"path":"l[1]","before":2,"after":3},{"path":"l[2]","after":4}]`},
		{"l: [{name: a, v: 1}, {name: b}]", "l: [{name: b}, {name: a, v: 2}]", `[{"path":"l[a].v","before":1,"after":2}]`},
		{"l: [{name: a}, {name: b}]", "l: [{name: b}, {name: a}]", `[{"path":"l","before":[{"name":"a"},{"name":"b"}],"after":[{"name":"b"},{"name":"a"}]}]`},
		{"l: [{name: a}]", "l: [{name: a}, {name: c, x: 1}]", `[{"path":"l[c]","after":{"name":"c","x":1}}]`},
		{"a: {x.y/z: 1}", "a: {x.y/z: 2}", `[{"path":"a[x.y/z]","before":1,"after":2}]`},
		{"a: {b: 1}", "a: text", `[{"path":"a","before":{"b":1},"after":"text"}]`},
	} {
		t.Run(test.after, func(t *testing.T) {
			got, err := json.Marshal(fieldChanges(object(t, test.before), object(t, test.after), false))
			if err != nil || string(got) != test.want {
				t.Errorf("%s -> %s: got %s", test.before, test.after, got)
			}
		})
	}
}

// rewritten returns objects of a megabyte without common lines.
func rewritten() Diff {
	large := func(seed int) map[string]any {
		var b strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&b, "line %d of %d\n", i*seed%40_000, i%seed)
		}
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "large"}, "data": map[string]any{"text": b.String()}}
	}
	ref := plan.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "large"}
	return Diff{Objects: []Object{{Ref: ref, Action: plan.Update, Before: large(7), After: large(11)}}}
}

// A minimal diff would exceed this test's timeout.
func TestLargeObjects(t *testing.T) {
	d := rewritten()
	if got := printDiff(t, Text, "", d, Options{}); !strings.Contains(got, "\n... data.text\n") {
		t.Errorf("got %d bytes", len(got))
	}
	if got := printDocument(t, output.JSON, d, Options{}); !strings.Contains(got, `"changes":[{"path":"data.text"`) {
		t.Errorf("got %d bytes", len(got))
	}
}

// The library cannot be interrupted, and would take seconds.
func TestDyffContext(t *testing.T) {
	list := func(step int) map[string]any {
		items := make([]any, 4000)
		for i := range items {
			items[i] = fmt.Sprintf("item %d", i*step)
		}
		return map[string]any{"apiVersion": "v1", "kind": "Many", "metadata": map[string]any{"name": "many"}, "items": items}
	}
	d := Diff{Objects: []Object{{Ref: plan.Ref{APIVersion: "v1", Kind: "Many", Name: "many"}, Action: plan.Update, Before: list(1), After: list(2)}}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var b bytes.Buffer
	if err := Write(ctx, term.Streams{Out: &b}, Dyff, d, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if b.Len() > 0 {
		t.Errorf("got %d bytes of output", b.Len())
	}
}

func BenchmarkLargeDiff(b *testing.B) {
	d := rewritten()
	for b.Loop() {
		if err := Write(context.Background(), term.Streams{Out: io.Discard}, Text, d, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestWriteError(t *testing.T) {
	full := errors.New("disk full")
	for _, f := range Formats() {
		if err := Write(context.Background(), term.Streams{Out: broken{full}}, f, upgrade(t), Options{}); !errors.Is(err, full) {
			t.Errorf("%s: %v", f, err)
		}
	}
	if err := WriteDocument(term.Streams{Out: broken{full}}, output.JSON, upgrade(t), Options{}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// Applying the hunks to one text results in the other.
func FuzzHunks(f *testing.F) {
	f.Add("a: 1\nb:\n- x\n", "a: 2\nb:\n- y\n", 1)
	f.Add("- |\n", "\"\":\n'a: - \n  - -", 3)
	f.Fuzz(func(t *testing.T, a, b string, context int) {
		if context < 0 || context > 10 || len(a)+len(b) > 10_000 {
			return
		}
		x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
		var was, is, added, removed []string
		for _, h := range (*names)(nil).hunks(x, y, len(x)+len(y)+context) {
			for _, l := range h.lines {
				if l.sign != '+' {
					was = append(was, l.text)
				}
				if l.sign != '-' {
					is = append(is, l.text)
				}
			}
		}
		if was != nil && (strings.Join(was, "\n") != a || strings.Join(is, "\n") != b) || was == nil && a != b {
			t.Errorf("%q and %q", was, is)
		}
		for _, h := range (*names)(nil).hunks(x, y, context) {
			for _, l := range h.lines {
				switch l.sign {
				case '+':
					added = append(added, l.text)
				case '-':
					removed = append(removed, l.text)
				}
			}
		}
		if len(x)-len(removed)+len(added) != len(y) {
			t.Errorf("%d lines - %d + %d are not %d", len(x), len(removed), len(added), len(y))
		}
	})
}
