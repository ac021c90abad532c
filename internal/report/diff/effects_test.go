// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// changed returns the change from one object to another, either of which may be "".
func changed(t *testing.T, before, after string) Object {
	t.Helper()
	o := Object{Before: object(t, before), After: object(t, after), Action: plan.Update}
	m := o.After
	switch {
	case before == "":
		o.Action = plan.Create
	case after == "":
		o.Action, m = plan.Delete, o.Before
	}
	o.APIVersion, _ = m["apiVersion"].(string)
	o.Kind, _ = m["kind"].(string)
	o.Name, o.Namespace = "web", "default"
	return o
}

// workload returns a workload with further fields of its spec.
func workload(apiVersion, kind, image, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: web}\nspec:\n  template: {spec: {containers: [{name: web, image: %s}]}}\n  %s\n",
		apiVersion, kind, image, strings.ReplaceAll(spec, "\n", "\n  "))
}

func deploymentOf(image, spec string) string { return workload("apps/v1", "Deployment", image, spec) }

func statefulSetOf(image, spec string) string { return workload("apps/v1", "StatefulSet", image, spec) }

// describe returns effects as text.
func describe(list []effect) string {
	var out []string
	for _, e := range list {
		pods := ""
		if e.Pods != nil {
			pods = fmt.Sprintf(" %d", *e.Pods)
		}
		reason := ""
		if e.Reason != "" {
			reason = ": " + e.Reason
		}
		out = append(out, string(e.Kind)+pods+reason)
	}
	return strings.Join(out, "\n")
}

func TestEffects(t *testing.T) {
	const claims = "persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}"
	const image = "containers[web].image"
	kind := func(apiVersion, kind, more string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: web}\n" + more
	}
	daemons := func(image, more string) string { return workload("apps/v1", "DaemonSet", image, more) }
	pod := func(image, label string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: " + label + "}}\nspec: {containers: [{name: web, image: " + image + "}]}\n"
	}
	cronJob := func(image string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{name: web, image: " + image + "}]}}}}}\n"
	}
	for _, tc := range []struct{ name, before, after, want string }{
		{"a pod template", deploymentOf("a:1", "replicas: 2"), deploymentOf("a:2", "replicas: 2"), "restart 2: " + image},
		{"the default of replicas", deploymentOf("a:1", ""), deploymentOf("a:2", ""), "restart 1: " + image},
		{"no pods", deploymentOf("a:1", "replicas: 0"), deploymentOf("a:2", "replicas: 0"), ""},
		{"the same template", deploymentOf("a:1", "minReadySeconds: 1"), deploymentOf("a:1", "minReadySeconds: 2"), ""},
		{"an empty field", "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {securityContext: {}}}}", "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {}}}", ""},
		{"more replicas", deploymentOf("a:1", "replicas: 2"), deploymentOf("a:1", "replicas: 5"), "start 3: spec.replicas: 2 to 5"},
		{"fewer replicas", deploymentOf("a:1", "replicas: 5"), deploymentOf("a:1", "replicas: 2"), "stop 3: spec.replicas: 5 to 2"},
		{"template and replicas", deploymentOf("a:1", "replicas: 2"), deploymentOf("a:2", "replicas: 3"), "restart 2: " + image + "\nstart 1: spec.replicas: 2 to 3"},
		{"a paused Deployment", deploymentOf("a:1", "paused: true"), deploymentOf("a:2", "paused: true"), "defer: when it is resumed, it is paused: " + image},
		{"the strategy Recreate", deploymentOf("a:1", "strategy: {type: Recreate}"), deploymentOf("a:2", "strategy: {type: Recreate}"),
			"restart 1: " + image + "; all stop first, its strategy is Recreate"},
		{"a new Deployment", "", deploymentOf("a:1", "replicas: 4"), "start 4"},
		{"a Deployment that goes", deploymentOf("a:1", "replicas: 4"), "", "stop 4"},
		{"a StatefulSet", statefulSetOf("a:1", "replicas: 3"), statefulSetOf("a:2", "replicas: 3"), "restart 3: " + image},
		{"a partition", statefulSetOf("a:1", "replicas: 3"), statefulSetOf("a:2", "replicas: 3\nupdateStrategy: {rollingUpdate: {partition: 2}}"), "restart 1: " + image},
		{"a partition above all", statefulSetOf("a:1", "replicas: 3"), statefulSetOf("a:2", "replicas: 3\nupdateStrategy: {rollingUpdate: {partition: 7}}"), ""},
		{"a partition with ordinals", statefulSetOf("a:1", "replicas: 3"),
			statefulSetOf("a:2", "replicas: 3\nordinals: {start: 5}\nupdateStrategy: {rollingUpdate: {partition: 6}}"), "restart 2: " + image},
		{"OnDelete", statefulSetOf("a:1", ""), statefulSetOf("a:2", "updateStrategy: {type: OnDelete}"),
			"defer: when its pods are deleted, its updateStrategy is OnDelete: " + image},
		{"claims of pods that stop", statefulSetOf("a:1", "replicas: 3"), statefulSetOf("a:1", "replicas: 1\n"+claims),
			"stop 2: spec.replicas: 3 to 1\nloseData: the claims of the pods that stop: persistentVolumeClaimRetentionPolicy.whenScaled is Delete"},
		{"claims of a StatefulSet that goes", statefulSetOf("a:1", claims), "", "loseData: its claims: persistentVolumeClaimRetentionPolicy.whenDeleted is Delete\nstop 1"},
		{"claims that stay", statefulSetOf("a:1", ""), "", "stop 1"},
		{"a DaemonSet in the cluster", daemons("a:1", "") + "status: {desiredNumberScheduled: 3}", daemons("a:2", "") + "status: {desiredNumberScheduled: 3}", "restart 3: " + image},
		{"a DaemonSet in a record", daemons("a:1", ""), daemons("a:2", ""), "restart: " + image},
		{"a ReplicaSet", workload("apps/v1", "ReplicaSet", "a:1", ""), workload("apps/v1", "ReplicaSet", "a:2", ""),
			"defer: its pods stay as they are until they are deleted: " + image},
		{"a CronJob", cronJob("a:1"), cronJob("a:2"), "defer: from its next run: " + image},
		{"a Pod's image", pod("a:1", "x"), pod("a:2", "x"), "restart 1: containers[web].image"},
		{"a Pod's label", pod("a:1", "x"), pod("a:1", "y"), ""},
		{"another group's Deployment", workload("example.com/v1", "Deployment", "a:1", ""), workload("example.com/v1", "Deployment", "a:2", ""), ""},
		{"a claim", kind("v1", "PersistentVolumeClaim", ""), "", "loseData: the volume too, unless its reclaim policy is Retain"},
		{"a volume", kind("v1", "PersistentVolume", ""), "", "loseData: the volume"},
		{"a namespace", kind("v1", "Namespace", ""), "", "loseData: all objects in the namespace"},
		{"a definition", kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "spec: {names: {kind: Gadget}}"), "", "loseData: all objects of the kind Gadget"},
		{"a ConfigMap", kind("v1", "ConfigMap", ""), "", ""},
		{"fields that are no maps", kind("apps/v1", "Deployment", "spec: [a]"), kind("apps/v1", "Deployment", "spec: text"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Diff{Namespace: "default", Objects: []Object{changed(t, tc.before, tc.after)}}
			got := describe(d.effects(Options{}))
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// Immutable fields are known for changes about which the API server has not been asked.
func TestImmutableFields(t *testing.T) {
	object := func(apiVersion, kind, more string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: web}\n" + more
	}
	const replace = "\nmetadata: {name: web, annotations: {helm.sh/replace: \"true\"}}\n"
	replaceable := func(text string) string { return strings.Replace(text, "\nmetadata: {name: web}\n", replace, 1) }
	service := func(spec string) string { return object("v1", "Service", "spec: {"+spec+"}") }
	job := func(spec string) string {
		return object("batch/v1", "Job", "spec: {template: {a: b}, "+spec+"}")
	}
	for _, tc := range []struct{ name, before, after, want string }{
		{"a selector", deploymentOf("a", "selector: {matchLabels: {a: b}}"), deploymentOf("a", "selector: {matchLabels: {a: c}}"), "fail: spec.selector cannot be changed"},
		{"a selector and the template", deploymentOf("a", "selector: {a: b}"), deploymentOf("b", "selector: {a: c}"), "fail: spec.selector cannot be changed"},
		{"a selector that may be replaced", deploymentOf("a", "selector: {a: b}"), replaceable(deploymentOf("a", "selector: {a: c}")),
			"recreate: spec.selector cannot be changed\nrestart 1: is deleted and created again"},
		{"a claim that may be replaced", object("v1", "PersistentVolumeClaim", "spec: {accessModes: [a]}"), replaceable(object("v1", "PersistentVolumeClaim", "spec: {accessModes: [b]}")),
			"loseData: the volume too, unless its reclaim policy is Retain\nrecreate: spec.accessModes cannot be changed"},
		{"a StatefulSet", statefulSetOf("a", "serviceName: a\npodManagementPolicy: A"), statefulSetOf("a", "serviceName: b\npodManagementPolicy: B"),
			"fail: spec.podManagementPolicy, spec.serviceName cannot be changed"},
		{"what a StatefulSet may change", statefulSetOf("a", "minReadySeconds: 1"), statefulSetOf("a", "minReadySeconds: 2"), ""},
		{"a claim's size", object("v1", "PersistentVolumeClaim", "spec: {resources: {a: b}}"), object("v1", "PersistentVolumeClaim", "spec: {resources: {a: c}}"), ""},
		{"a Job", job("x: 1"), strings.Replace(job("x: 1"), "a: b", "a: c", 1), "fail: spec.template cannot be changed"},
		{"a suspended Job", job("suspend: true"), strings.Replace(job("suspend: true"), "a: b", "a: c", 1), ""},
		{"an address", service("clusterIP: 10.0.0.1"), service("clusterIP: 10.0.0.2"), "fail: spec.clusterIP cannot be changed"},
		{"an address that was chosen", service("ports: []"), service("clusterIP: None"), "fail: spec.clusterIP cannot be changed"},
		{"an address that is not named any more", service("clusterIP: 10.0.0.1"), service("ports: []"), ""},
		{"an external name", service("type: ExternalName"), service("clusterIP: None"), ""},
		{"an immutable ConfigMap", object("v1", "ConfigMap", "immutable: true\ndata: {a: b}"), object("v1", "ConfigMap", "immutable: true\ndata: {a: c}"), "fail: data cannot be changed"},
		{"a mutable ConfigMap", object("v1", "ConfigMap", "data: {a: b}"), object("v1", "ConfigMap", "immutable: true\ndata: {a: c}"), ""},
		{"a Secret's type", object("v1", "Secret", "type: a"), object("v1", "Secret", "type: b"), "fail: type cannot be changed"},
		{"a role", object("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {name: a}"), object("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {name: b}"), "fail: roleRef cannot be changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := changed(t, tc.before, tc.after)
			for name, d := range map[string]Diff{"records": {Stored: true, Objects: []Object{o}}, "the cluster, unvalidated": {Objects: []Object{o}}} {
				if got := describe(d.effects(Options{Unvalidated: !d.Stored})); got != tc.want {
					t.Errorf("%s: got\n%s\nwant\n%s", name, got, tc.want)
				}
			}
			d := Diff{Objects: []Object{o}}
			if got := describe(d.effects(Options{})); strings.Contains(got, "cannot be changed") {
				t.Errorf("asked: got %s", got)
			}
			refused := map[string][]string{o.Kind + "/web in namespace default": {"spec.x"}}
			if got := describe(d.effects(Options{Refused: refused})); got != "fail: spec.x cannot be changed" {
				t.Errorf("refused: got %s", got)
			}
		})
	}
}

func TestEffectsOfOtherActions(t *testing.T) {
	replaced := changed(t, deploymentOf("a:1", "replicas: 2"), deploymentOf("a:2", "replicas: 3"))
	replaced.Action, replaced.Reason = plan.Replace, "spec.selector cannot be changed"
	renamed := changed(t, deploymentOf("a:1", "replicas: 2"), deploymentOf("a:2", "replicas: 3"))
	renamed.Renamed = &plan.Ref{Name: "other"}
	ignored := changed(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a}", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: b}")
	ignored.Note = "an upgrade ignores CRDs"
	for _, tc := range []struct {
		name string
		d    Diff
		want string
	}{
		{"replaced", Diff{Objects: []Object{replaced}}, "recreate: spec.selector cannot be changed\nrestart 2: is deleted and created again"},
		{"renamed", Diff{Objects: []Object{renamed}}, "stop 2\nstart 3"},
		{"a definition that is ignored", Diff{Stored: true, Objects: []Object{ignored}}, ""},
		{"two releases", Diff{other: "shop", Objects: []Object{replaced}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := describe(tc.d.effects(Options{})); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// Pods keep the environment that they were started with.
func TestStaleEnvironments(t *testing.T) {
	const env = "envFrom: [{configMapRef: {name: web-config}}, {secretRef: {name: keys}}], env: [{name: A, valueFrom: {configMapKeyRef: {name: web-config, key: a}}}, {name: B, valueFrom: {secretKeyRef: {name: keys, key: b}}}]"
	reader := func(image, spec string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {" + spec + "template: {spec: {containers: [{name: web, image: " + image + ", " + env + "}]}}}\n"
	}
	config := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\ndata: {a: " + value + "}\n"
	}
	named := func(name string, o Object) Object {
		o.Name = name
		return o
	}
	same := func(o Object) Object {
		o.Action = plan.Unchanged
		return o
	}
	secret := func(value string) string { return "apiVersion: v1\nkind: Secret\nstringData: {b: " + value + "}\n" }
	for _, tc := range []struct {
		name    string
		objects []Object
		want    string
	}{
		{"a ConfigMap", []Object{named("web-config", changed(t, config("x"), config("z"))), same(changed(t, reader("a", ""), reader("a", "")))},
			"defer: when its pods restart: environment of ConfigMap/web-config"},
		{"a ConfigMap and a Secret, another field", []Object{
			changed(t, reader("a", ""), reader("a", "minReadySeconds: 2, ")), named("web-config", changed(t, config("x"), config("z"))), named("keys", changed(t, secret("x"), secret("z")))},
			"defer: when its pods restart: environment of ConfigMap/web-config, Secret/keys"},
		{"a rollout", []Object{named("web-config", changed(t, config("x"), config("z"))), changed(t, reader("a", ""), reader("b", ""))}, "restart 1: containers[web].image"},
		{"no pods", []Object{named("web-config", changed(t, config("x"), config("z"))), same(changed(t, reader("a", ""), reader("a", "replicas: 0, ")))}, ""},
		{"another ConfigMap", []Object{named("other", changed(t, config("x"), config("z"))), same(changed(t, reader("a", ""), reader("a", "")))}, ""},
		{"a label of the ConfigMap", []Object{named("web-config", changed(t, config("x"), strings.Replace(config("x"), "{name: web-config}", "{name: web-config, labels: {a: b}}", 1))), same(changed(t, reader("a", ""), reader("a", "")))}, ""},
		{"a new Deployment", []Object{named("web-config", changed(t, config("x"), config("z"))), changed(t, "", reader("a", ""))}, "start 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := describe(Diff{Objects: tc.objects}.effects(Options{})); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// statDiff returns changes with effects of each kind.
func statDiff(t *testing.T) Diff {
	d := upgrade(t)
	add := func(name, before, after string) *Object {
		o := changed(t, before, after)
		o.Name = name
		d.Objects = append(d.Objects, o)
		return &d.Objects[len(d.Objects)-1]
	}
	add("api", deploymentOf("a:1", "replicas: 2"), deploymentOf("a:2", "replicas: 2"))
	add("agent", workload("apps/v1", "DaemonSet", "a:1", ""), workload("apps/v1", "DaemonSet", "a:2", ""))
	add("db", statefulSetOf("a:1", "replicas: 5"), statefulSetOf("a:1", "replicas: 2"))
	add("a-claim-with-a-very-long-name-that-does-not-fit-a-narrow-terminal-at-all", "apiVersion: v1\nkind: PersistentVolumeClaim\nspec: {accessModes: [ReadWriteOnce]}", "").Namespace = "other"
	d.Hooks = append(d.Hooks, Object{Ref: plan.Ref{APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "seed"}, Action: plan.Create, After: object(t, "kind: Job")})
	return d
}

func TestWriteStat(t *testing.T) {
	for _, tc := range []struct {
		file string
		d    Diff
		o    Options
	}{
		{"stat.txt", statDiff(t), Options{}},
		{"stat-60.txt", statDiff(t), Options{Columns: 60}},
		{"stat-fails.txt", statDiff(t), Options{Columns: 110, SuppressKinds: []string{"Secret"}, Refused: map[string][]string{"StatefulSet/db in namespace default": {"spec.serviceName"}}}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := WriteStat(term.Streams{Out: &b}, tc.d.refine(tc.o), tc.o); err != nil {
				t.Fatal(err)
			}
			filetest.Golden(t, filepath.Join("testdata", tc.file), b.String(), *update)
			for line := range strings.Lines(b.String()) {
				if tc.o.Columns > 0 && len(line) > tc.o.Columns {
					t.Errorf("%q is wider than %d columns", line, tc.o.Columns)
				}
			}
		})
	}
	for columns := range 40 { // it ends
		o := Options{Columns: columns}
		if err := WriteStat(term.Streams{Out: &bytes.Buffer{}}, statDiff(t), o); err != nil {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
}

// The effects are the end of the summary.
func TestWriteEffects(t *testing.T) {
	var all, effects bytes.Buffer
	if err := WriteStat(term.Streams{Out: &all}, statDiff(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteEffects(term.Streams{Out: &effects}, statDiff(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if got := effects.String(); !strings.HasPrefix(got, "\nDeletes data:\n") || !strings.HasSuffix(all.String(), got) {
		t.Errorf("got\n%s\nwant the end of\n%s", got, all.String())
	}
}

func TestWriteStatOfNothing(t *testing.T) {
	var b bytes.Buffer
	d := Diff{Objects: []Object{{Action: plan.Unchanged}, {Action: plan.Keep, Definition: true}}}
	if err := WriteStat(term.Streams{Out: &b}, d, Options{}); err != nil || b.Len() > 0 {
		t.Errorf("got %q, %v", b.String(), err)
	}
	if err := WriteStatDocument(term.Streams{Out: &b}, output.JSON, Diff{}, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, `"objects":[],"hooks":[],"effects":[]`) {
		t.Errorf("empty lists must not be null: %s", got)
	}
}

func TestWriteStatDocument(t *testing.T) {
	var b, indented bytes.Buffer
	if err := WriteStatDocument(term.Streams{Out: &b}, output.JSON, statDiff(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, b.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	filetest.Golden(t, filepath.Join("testdata", "stat.json"), indented.String(), *update)
}

func TestTotalPods(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		pods []*int64
		want string
	}{
		{[]*int64{n(1)}, "1 pod"},
		{[]*int64{n(1), n(2)}, "3 pods"},
		{[]*int64{nil}, "pods"},
		{[]*int64{n(2), nil}, "at least 3 pods"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			var list []effect
			for _, p := range tc.pods {
				list = append(list, effect{Pods: p})
			}
			if got := totalPods(list); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestShortenName(t *testing.T) {
	for _, tc := range []struct {
		name    string
		object  string
		columns int
		want    string
	}{
		{"fits", "Deployment/web", 20, "Deployment/web"},
		{"too long", "Deployment/web-frontend", 16, "Deploym...ontend"},
		{"wide characters", "日本語日本語日本語", 9, "日...語"},
		{"1 MiB", strings.Repeat("a", 1<<20) + "z", 8, "aaa...az"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := shortenName(tc.object, tc.columns); got != tc.want {
				t.Errorf("%.20s: got %q, want %q", tc.object, got, tc.want)
			}
		})
	}
}
