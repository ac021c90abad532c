// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

var update = flag.Bool("update", false, "accept what is printed now")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
}

// object reads YAML as a cluster's objects are read.
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
	if err := k8sjson.Unmarshal(raw, &m); err != nil { // whole numbers are int64, as a cluster's are
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

// upgrade is a plan with a step of each kind.
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
		Notes: []string{"the cluster has no kind Gadget"},
		Objects: []DiffObject{
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
		Hooks: []DiffObject{
			{Ref: ref("batch/v1", "Job", "default", "same"), Action: plan.Unchanged, Before: object(t, "kind: Job"), After: object(t, "kind: Job")},
			{Ref: ref("batch/v1", "Job", "default", "migrate"), Source: "web/templates/job.yaml", Action: plan.Update,
				Before: object(t, "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\nspec:\n  backoffLimit: 1\n"),
				After:  object(t, "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\nspec:\n  backoffLimit: 2\n")},
		},
	}
}

func printDiff(t *testing.T, f output.Format, color string, d Diff, o DiffOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDiff(term.Streams{Out: &b, Color: color}, f, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestADiff(t *testing.T) {
	for name, o := range map[string]DiffOptions{
		"diff.txt":           {},
		"diff-unchanged.txt": {ShowUnchanged: true, Context: NoContext},
		"diff-secrets.txt":   {ShowSecrets: true, Context: 1},
	} {
		golden(t, name, printDiff(t, output.Table, "", upgrade(t), o))
	}
	golden(t, "diff-color.txt", strings.ReplaceAll(printDiff(t, output.Table, "always", upgrade(t), DiffOptions{Context: 1}), "\x1b", "<ESC>"))
	stored := upgrade(t)
	stored.Stored = true
	golden(t, "diff-stored.txt", printDiff(t, output.Table, "", stored, DiffOptions{Context: NoContext}))
}

func TestADiffForMachines(t *testing.T) {
	for name, o := range map[string]DiffOptions{"diff.json": {}, "diff-unchanged.json": {ShowUnchanged: true}} {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(printDiff(t, output.JSON, "", upgrade(t), o)), "", "  "); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
	if got := printDiff(t, output.YAML, "", upgrade(t), DiffOptions{}); !strings.Contains(got, "\nrelease: web\n") || !strings.Contains(got, "path: spec.template.spec.containers[web].image") {
		t.Error(got)
	}
	var empty map[string]any
	if err := json.Unmarshal([]byte(printDiff(t, output.JSON, "", Diff{}, DiffOptions{})), &empty); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(empty["objects"], empty["hooks"]) != "[] []" {
		t.Errorf("lists are lists, even empty ones: %v", empty)
	}
}

func TestValuesOfSecretsAreNowhereUnlessAskedFor(t *testing.T) {
	d := upgrade(t)
	d.Objects[1].Before["metadata"].(map[string]any)["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"token":"aHVudGVyMg=="}}`}
	delete(d.Objects[1].Before, "kind") // as in a list
	d.Hooks = append(d.Hooks, d.Objects[1])
	d.Hooks[2].Action, d.Hooks[2].After = plan.Delete, nil
	for _, f := range []output.Format{output.Table, output.JSON, output.YAML} {
		got := printDiff(t, f, "", d, DiffOptions{ShowUnchanged: true})
		for _, secret := range []string{"hunter", "aHVudGVy", "Z29uZS1", "ZnJlc2gt", "c2FtZQ"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s shows %s:\n%s", f, secret, got)
			}
		}
		for _, key := range []string{"token", "gone", "fresh"} {
			if !strings.Contains(got, key) {
				t.Errorf("%s does not tell that %s changes", f, key)
			}
		}
		if got := printDiff(t, f, "", d, DiffOptions{ShowSecrets: true}); !strings.Contains(got, "aHVudGVyMg==") {
			t.Errorf("%s hides what was asked for", f)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	d := Diff{Objects: []DiffObject{{Action: plan.Unchanged}}, Hooks: []DiffObject{{Action: plan.Unchanged}}}
	if got := printDiff(t, output.Table, "", d, DiffOptions{}); got != "No changes.\n" || d.Changes() {
		t.Errorf("%t, got %q", d.Changes(), got)
	}
	d.Hooks[0].Action = plan.Create
	if got := printDiff(t, output.Table, "", d, DiffOptions{}); !d.Changes() || !strings.HasSuffix(got, "\nPlan: 1 unchanged, 1 hook changed\n") {
		t.Errorf("%t, got %q", d.Changes(), got)
	}
}

func TestAnUpdateWithoutADifferenceSaysSo(t *testing.T) {
	o := object(t, deployment)
	d := Diff{Objects: []DiffObject{{Ref: plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Action: plan.Update, Before: o, After: o}}}
	want := "Deployment/web (apps/v1) will be changed\n  no field changes its value\n\nPlan: 1 to change\n"
	if got := printDiff(t, output.Table, "", d, DiffOptions{}); got != want {
		t.Errorf("got %q", got)
	}
}

func TestAPlanAsADiff(t *testing.T) {
	live, after := object(t, deployment), object(t, strings.ReplaceAll(deployment, "replicas: 0", "replicas: 3"))
	ref := plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web"}
	old := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(3)}}
	got := DiffOf(&plan.Plan{Steps: []plan.Step{
		{Item: plan.Item{Ref: ref, Source: "web/templates/d.yaml", Live: live, New: after, Old: []map[string]any{old}}, Action: plan.Update, After: after, Drifted: true},
		{Item: plan.Item{Ref: ref, New: after}, Action: plan.Create},
		{Item: plan.Item{Ref: ref, Live: live}, Action: plan.Delete},
	}})
	if len(got) != 3 || got[0].Source != "web/templates/d.yaml" || got[0].Before == nil || len(got[0].Drift) != 1 || got[0].Drift[0].Path != "spec.replicas" {
		t.Errorf("%+v", got)
	}
	if got[1].Before != nil || got[1].After == nil || got[2].Before == nil || got[2].After != nil {
		t.Errorf("%+v", got[1:])
	}
}

func TestPathsOfLines(t *testing.T) {
	text := lines(`metadata:
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
		got := p.at(i)
		if i < len(want) && got != want[i] && !(got == "" && want[i] == strings.TrimSuffix(text[i], ":")) {
			t.Errorf("line %d, %q: got %q, wanted %q", i, text[i], got, want[i])
		}
	}
}

func TestFieldsThatChange(t *testing.T) {
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
		out := []fieldChange{}
		fieldChanges(&out, "", object(t, test.before), object(t, test.after))
		got, err := json.Marshal(out)
		if err != nil || string(got) != test.want {
			t.Errorf("%s -> %s: got %s", test.before, test.after, got)
		}
	}
}

// rewritten is a megabyte that becomes another one altogether.
func rewritten() Diff {
	large := func(seed int) map[string]any {
		var b strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&b, "line %d of %d\n", i*seed%40_000, i%seed)
		}
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "large"}, "data": map[string]any{"text": b.String()}}
	}
	ref := plan.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "large"}
	return Diff{Objects: []DiffObject{{Ref: ref, Action: plan.Update, Before: large(7), After: large(11)}}}
}

// A search for the fewest changes would not end within this test's time.
func TestLargeObjectsTakeBoundedTime(t *testing.T) {
	d := rewritten()
	if got := printDiff(t, output.Table, "", d, DiffOptions{}); !strings.Contains(got, "\n@@ data.text @@\n") {
		t.Errorf("got %d bytes", len(got))
	}
	if got := printDiff(t, output.JSON, "", d, DiffOptions{}); !strings.Contains(got, `"changes":[{"path":"data.text"`) {
		t.Errorf("got %d bytes", len(got))
	}
}

func BenchmarkLargeDiff(b *testing.B) {
	d := rewritten()
	for b.Loop() {
		if err := WriteDiff(term.Streams{Out: io.Discard}, output.Table, d, DiffOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestADiffThatCannotBeWritten(t *testing.T) {
	full := errors.New("disk full")
	for _, f := range []output.Format{output.Table, output.JSON} {
		if err := WriteDiff(term.Streams{Out: broken{full}}, f, upgrade(t), DiffOptions{}); !errors.Is(err, full) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// Whatever two texts are, the hunks turn one into the other.
func FuzzHunks(f *testing.F) {
	f.Add("a: 1\nb:\n- x\n", "a: 2\nb:\n- y\n", 1)
	f.Add("- |\n", "\"\":\n'a: - \n  - -", 3)
	f.Fuzz(func(t *testing.T, a, b string, context int) {
		if context < 0 || context > 10 || len(a)+len(b) > 10_000 {
			return
		}
		x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
		var was, is, added, removed []string
		for _, h := range hunks(x, y, len(x)+len(y)+context) {
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
		for _, h := range hunks(x, y, context) {
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
