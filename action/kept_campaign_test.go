// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
)

// keptChart has objects that are updated, stay, come and go by its values.
const keptChart = `
apiVersion: v1
kind: ConfigMap
metadata: {name: update, labels: {colour: {{ .Values.colour }}}}
data: {colour: {{ .Values.colour }}, stays: same}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: same}
data: {stays: same}
---
apiVersion: v1
kind: Secret
metadata: {name: update}
stringData: {password: {{ .Values.colour }}, stays: same}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: update}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:{{ .Values.colour }}"}]}
{{- range .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ . }}}
data: {stays: same}
{{- end }}
`

// mutation is a change of the cluster between a plan and its application.
type mutation struct {
	name    string
	matters bool
	do      func(w *keptWorld)
}

// mutations of which the first half does not matter to the plan of keptWorld, and the others do.
func mutations() []mutation {
	merge := func(kind, name, body string) func(*keptWorld) {
		return func(w *keptWorld) { w.call(http.MethodPatch, w.path(kind, name), body) }
	}
	return []mutation{
		{"nothing", false, func(*keptWorld) {}},
		{"an unrelated label", false, func(w *keptWorld) {
			merge("deployments", "update", `{"metadata":{"labels":{"team":"`+w.word()+`"}}}`)(w)
		}},
		{"an unrelated annotation of the pods", false, func(w *keptWorld) {
			merge("deployments", "update", `{"spec":{"template":{"metadata":{"annotations":{"n":"`+w.word()+`"}}}}}`)(w)
		}},
		{"an unrelated key", false, func(w *keptWorld) { merge("configmaps", "update", `{"data":{"other":"`+w.word()+`"}}`)(w) }},
		{"an unrelated key of a Secret", false, func(w *keptWorld) { merge("secrets", "update", `{"data":{"other":"eA=="}}`)(w) }},
		{"an unrelated container", false, func(w *keptWorld) {
			w.patch("deployments", "update", "application/strategic-merge-patch+json",
				`{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"`+w.word()+`"}]}}}}`)
		}},
		{"an unrelated field", false, func(w *keptWorld) {
			merge("deployments", "update", fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, w.random.IntN(9)))(w)
		}},
		{"status", false, func(w *keptWorld) {
			w.call(http.MethodPatch, w.path("deployments", "update")+"/status", fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, w.random.IntN(99)))
		}},
		{"no managed fields", false, merge("configmaps", "update", `{"metadata":{"managedFields":[{}]}}`)},
		{"no managed fields of what stays", false, merge("configmaps", "same", `{"metadata":{"managedFields":[{}]}}`)},
		{"another manager of the same value", false, func(w *keptWorld) {
			w.patch("configmaps", "same", "application/apply-patch+yaml?fieldManager=other&force=true",
				`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"same"},"data":{"stays":"same"}}`)
		}},
		{"an unrelated object", false, func(w *keptWorld) {
			w.call(http.MethodPost, w.path("configmaps", ""), `{"metadata":{"generateName":"unrelated-"}}`)
		}},
		{"what stays created again", false, func(w *keptWorld) { w.recreate("configmaps", "same") }},
		{"a heartbeat of the record", false, func(w *keptWorld) {
			merge("secrets", fmt.Sprintf("sh.helm.release.v1.web.v%d", w.revision), `{"metadata":{"annotations":{"note":"x"}}}`)(w)
		}},

		{"a value that changes", true, merge("configmaps", "update", `{"data":{"colour":"other"}}`)},
		{"a label that changes", true, merge("configmaps", "update", `{"metadata":{"labels":{"colour":"other"}}}`)},
		{"the value after the plan", true, func(w *keptWorld) { merge("configmaps", "update", `{"data":{"colour":"`+w.next+`"}}`)(w) }},
		{"a value that is removed", true, merge("configmaps", "update", `{"data":{"colour":null}}`)},
		{"a value of the manifest", true, merge("configmaps", "update", `{"data":{"stays":"not"}}`)},
		{"a value of what stays", true, merge("configmaps", "same", `{"data":{"stays":"not"}}`)},
		{"a password", true, merge("secrets", "update", `{"data":{"password":"b3RoZXI="}}`)},
		{"an image", true, func(w *keptWorld) {
			w.patch("deployments", "update", "application/strategic-merge-patch+json", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"other"}]}}}}`)
		}},
		{"replicas", true, merge("deployments", "update", `{"spec":{"replicas":9}}`)},
		{"what is updated deleted", true, func(w *keptWorld) { w.call(http.MethodDelete, w.path("configmaps", "update"), "") }},
		{"what stays deleted", true, func(w *keptWorld) { w.call(http.MethodDelete, w.path("configmaps", "same"), "") }},
		{"what is updated created again", true, func(w *keptWorld) { w.recreate("configmaps", "update") }},
		{"what goes deleted", true, func(w *keptWorld) { w.call(http.MethodDelete, w.path("configmaps", w.goes), "") }},
		{"what goes changed", true, func(w *keptWorld) { merge("configmaps", w.goes, `{"data":{"stays":"not"}}`)(w) }},
		{"what comes created", true, func(w *keptWorld) {
			w.call(http.MethodPost, w.path("configmaps", ""), `{"metadata":{"name":"`+w.comes+`"}}`)
			w.foreign = w.comes
		}},
		{"another revision", true, func(w *keptWorld) { w.upgrade(w.colour, w.replicas, w.goes) }},
	}
}

// keptWorld is a release whose plans are applied after mutations.
type keptWorld struct {
	t          *testing.T
	server     *apiserver.Client
	namespace  string
	config     *action.Config
	dir        string
	random     *rand.Rand
	serverSide *bool // server-side apply

	revision           int
	colour             string
	replicas           int
	next, goes, comes  string
	foreign, mutations string
	refused            int
}

func (w *keptWorld) word() string { return "w" + strconv.Itoa(w.random.IntN(1e6)) }

func (w *keptWorld) path(kind, name string) string {
	path := "/api/v1/namespaces/" + w.namespace + "/" + kind
	if kind == "deployments" {
		path = "/apis/apps/v1/namespaces/" + w.namespace + "/" + kind
	}
	if name != "" {
		path += "/" + name
	}
	return path
}

func (w *keptWorld) call(method, path, body string) []byte {
	w.t.Helper()
	text, status, err := w.server.Call(w.t.Context(), method, path, "", body)
	if err != nil || status >= 300 && status != http.StatusNotFound && status != http.StatusConflict {
		w.t.Fatalf("%s: %s %s: %d %v\n%s", w.mutations, method, path, status, err, text)
	}
	return text
}

func (w *keptWorld) patch(kind, name, contentType, body string) {
	w.t.Helper()
	contentType, query, _ := strings.Cut(contentType, "?")
	path := w.path(kind, name)
	if query != "" {
		path += "?" + query
	}
	text, status, err := w.server.Call(w.t.Context(), http.MethodPatch, path, contentType, body)
	if err != nil || status >= 300 && status != http.StatusNotFound {
		w.t.Fatalf("%s: PATCH %s: %d %v\n%s", w.mutations, path, status, err, text)
	}
}

// recreate deletes an object and creates an equal one.
func (w *keptWorld) recreate(kind, name string) {
	w.t.Helper()
	var object map[string]any
	if err := json.Unmarshal(w.call(http.MethodGet, w.path(kind, name), ""), &object); err != nil {
		w.t.Fatal(err)
	}
	if object["kind"] == "Status" {
		return
	}
	w.call(http.MethodDelete, w.path(kind, name), "")
	delete(object, "status")
	meta := object["metadata"].(map[string]any)
	object["metadata"] = map[string]any{"name": name, "labels": meta["labels"], "annotations": meta["annotations"]}
	text, _ := json.Marshal(object)
	w.call(http.MethodPost, w.path(kind, ""), string(text))
}

// snapshot returns the objects of the namespace without what does not count as a write of a plan.
func (w *keptWorld) snapshot() map[string]map[string]any {
	w.t.Helper()
	out := map[string]map[string]any{}
	for _, kind := range []string{"configmaps", "secrets", "deployments"} {
		var list struct{ Items []map[string]any }
		if err := json.Unmarshal(w.call(http.MethodGet, w.path(kind, ""), ""), &list); err != nil {
			w.t.Fatal(err)
		}
		for _, o := range list.Items {
			meta := o["metadata"].(map[string]any)
			name := meta["name"].(string)
			if strings.HasPrefix(name, "sh.helm.release") || name == "kube-root-ca.crt" {
				continue
			}
			delete(o, "status")
			for _, key := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp"} {
				delete(meta, key)
			}
			if annotations, ok := meta["annotations"].(map[string]any); ok {
				delete(annotations, "deployment.kubernetes.io/revision") // of the controller
			}
			out[kind+"/"+name] = o
		}
	}
	return out
}

// leaves returns the paths at which two values differ, with names of list items.
func leaves(path string, a, b any) []string {
	x, isMap := a.(map[string]any)
	y, isMapToo := b.(map[string]any)
	if list, ok := a.([]any); ok && !isMap {
		x, isMap = byName(list)
	}
	if list, ok := b.([]any); ok && !isMapToo {
		y, isMapToo = byName(list)
	}
	if !isMap || !isMapToo {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{path}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(merged(x, y))) {
		out = append(out, leaves(strings.TrimPrefix(path+"."+key, "."), x[key], y[key])...)
	}
	return out
}

func merged(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func byName(list []any) (map[string]any, bool) {
	out := map[string]any{}
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		if !ok {
			return nil, false
		}
		out[name] = m
	}
	return out, true
}

// checkWrites reports what changed in the cluster and is not in the plan.
func checkWrites(t *testing.T, doc *planfile.Document, before, after map[string]map[string]any) {
	t.Helper()
	planned := map[string]planfile.Object{}
	for _, o := range doc.Objects {
		planned[strings.ToLower(o.Kind)+"s/"+o.Name] = o
	}
	for name := range merged(toAny(before), toAny(after)) {
		was, is := before[name], after[name]
		o := planned[name]
		switch {
		case was == nil && o.Action != "create", is == nil && o.Action != "delete":
			t.Errorf("%s appeared or vanished, and the plan is to %s it", name, o.Action)
		case was == nil || is == nil:
		default:
			for _, path := range leaves("", was, is) {
				plain := func(c planfile.Change) bool {
					p := strings.NewReplacer("[", ".", "]", "").Replace(c.Path)
					return path == p || strings.HasPrefix(path, p+".")
				}
				if !slices.ContainsFunc(o.Changes, plain) {
					t.Errorf("%s: %s changed, and the plan changes %v", name, path, o.Changes)
				}
			}
		}
	}
}

func toAny(m map[string]map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (w *keptWorld) request(colour string, replicas int, extra string) action.UpgradeRequest {
	w.t.Helper()
	c, err := loader.Load(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var conflicts plan.Resolution
	if *w.serverSide {
		conflicts = plan.Take
	}
	return action.UpgradeRequest{
		Chart: c, Name: "web", Namespace: w.namespace, MaxHistory: 3,
		ApplyOptions: action.ApplyOptions{ServerSide: w.serverSide, Conflicts: conflicts},
		Values:       map[string]any{"colour": colour, "replicas": int64(replicas), "extra": []any{extra}},
	}
}

// upgrade makes the release what it is to be before a plan.
func (w *keptWorld) upgrade(colour string, replicas int, extra string) {
	w.t.Helper()
	rel, err := action.Upgrade{Config: w.config}.Run(w.t.Context(), w.request(colour, replicas, extra))
	if err != nil {
		w.t.Fatal(err)
	}
	w.revision = rel.Revision
}

// step makes a plan, mutates the cluster, and applies the plan.
func (w *keptWorld) step(list []mutation) {
	t := w.t
	t.Helper()
	w.next, w.goes, w.comes, w.foreign = w.word(), "e"+w.word(), "e"+w.word(), ""
	w.upgrade(w.colour, w.replicas, w.goes)
	req := w.request(w.next, 1+(w.replicas+w.random.IntN(3))%4, w.comes)
	req.Keep, req.ReportConflicts = true, true
	change, _, err := action.Upgrade{Config: w.config}.Plan(t.Context(), req)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	data, err := change.Kept.Encode()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := planfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	matters, names := false, []string{}
	for range w.random.IntN(4) {
		m := list[w.random.IntN(len(list))]
		// Until the end a change that matters must not be undone by another, nor act on nothing.
		if matters && m.matters {
			continue
		}
		names = append(names, m.name)
		w.mutations = strings.Join(names, ", ")
		m.do(w)
		matters = matters || m.matters
	}
	before := w.snapshot()
	_, err = action.Apply{Config: w.config}.Run(t.Context(), action.ApplyRequest{Plan: doc})
	after := w.snapshot()
	var stale *action.StaleError
	switch {
	case matters && err == nil:
		t.Errorf("after %v the plan was applied", names)
	case matters && !errors.As(err, &stale):
		t.Errorf("after %v: %v", names, err)
	case matters && !reflect.DeepEqual(before, after):
		t.Errorf("after %v the plan was refused, and something was written", names)
	case !matters && err != nil:
		t.Errorf("after %v, which do not matter: %v", names, err)
	case !matters:
		checkWrites(t, doc, before, after)
		w.colour, w.replicas = w.next, int(req.Values["replicas"].(int64))
	}
	if err != nil {
		w.refused++
	}
	if w.foreign != "" {
		w.call(http.MethodDelete, w.path("configmaps", w.foreign), "")
	}
	if t.Failed() {
		t.Logf("the plan was\n%s", data)
	}
}

// Random changes of the cluster between a plan and its application: the plan is refused if it rests
// on what has changed, and only then, and nothing is written that is not in it. MOONHELM_PLANS is
// the number of plans, 30 without.
func TestKeptPlansCampaign(t *testing.T) {
	server := apiserver.Connect(t)
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	count := 30
	if text := os.Getenv("MOONHELM_PLANS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatalf("MOONHELM_PLANS: %v", err)
		}
	}
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "templates/all.yaml": keptChart,
		"values.yaml": "colour: red\nreplicas: 1\nextra: []\n",
	})
	var done, refused atomic.Int64
	workers := 2
	if count > 100 {
		workers = 6
	}
	for worker := range workers {
		on := worker%2 == 1
		t.Run(fmt.Sprintf("server-side %t", on), func(t *testing.T) {
			t.Parallel()
			namespace := server.Namespace(t, "plans")
			config, err := action.NewConfig(action.KubeSettings{Kubeconfig: os.Getenv(apiserver.Kubeconfig), Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			w := &keptWorld{t: t, server: server, namespace: namespace, config: config, dir: dir, serverSide: &on,
				random: rand.New(rand.NewPCG(17, uint64(worker))), colour: "red", replicas: 1}
			if _, err := (action.Install{Config: config}).Run(t.Context(), w.request("red", 1, "first")); err != nil {
				t.Fatal(err)
			}
			for range (count + workers - 1) / workers {
				w.step(mutations())
				if t.Failed() {
					t.FailNow()
				}
				done.Add(1)
			}
			refused.Add(int64(w.refused))
		})
	}
	t.Cleanup(func() { t.Logf("%d plans, %d of them refused", done.Load(), refused.Load()) })
}
