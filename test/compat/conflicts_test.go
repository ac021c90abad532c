// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// conflictChart has one object of each kind in the cases. The value note changes all of them.
var conflictChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 0.1.0\n",
	"values.yaml": "note: one\nlevel: info\nowners: \"\"\n",
	"templates/all.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {note: {{ .Values.note }}, team: chart{{ with .Values.owners }}, helm.sh/field-ownership: {{ . | quote }}{{ end }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: example.com/web:1
          env: [{name: LEVEL, value: {{ .Values.level }}}]
          resources: {requests: {cpu: 100m}}
---
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {note: {{ .Values.note }}}}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, annotations: {note: {{ .Values.note }}}}
data: {level: {{ .Values.level }}, mode: chart}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, annotations: {note: {{ .Values.note }}}}
spec:
  schedule: "0 0 1 1 *"
  suspend: false
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: example.com/web:1}]}}}}
`,
}

// conflictCase is a client that sets a field of a release's object to another value than the
// chart.
type conflictCase struct {
	name      string
	installer string // the binary that installs; the default is the one that upgrades
	before    func(t *testing.T, s space)
	change    func(t *testing.T, s space)
	flags     []string // of the upgrade
	install   []string // of the install
	kind      string
	path      []any
	helm      string // the value after the upgrade, or "conflict"; two if they depend on another client's timing
	ours      string
	say       string // part of our output
}

// container returns the patch of a field of the Deployment's container.
func container(path ...any) []any {
	return append([]any{"spec", "template", "spec", "containers", 0}, path...)
}

// editImage sets another image, like kubectl edit.
func editImage(t *testing.T, s space) {
	s.change(t, "Deployment", "kubectl-edit", "strategic-merge-patch", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:2"}]}}}}`)
}

// scalingCases are the cases of clients that scale.
func scalingCases() []conflictCase {
	replicas := []any{"spec", "replicas"}
	return []conflictCase{
		{
			name: "kubectl scale", change: func(t *testing.T, s space) { s.scale(t, "kubectl", 5) },
			kind: "Deployment", path: replicas, helm: "conflict", ours: "5", say: "spec.replicas is 5 (set by kubectl (scale)), the chart says 1: it stays as it is (it was scaled)",
		}, {
			name: "a HorizontalPodAutoscaler", change: func(t *testing.T, s space) { s.autoscale(t, 4) },
			kind: "Deployment", path: replicas, helm: "conflict", ours: "4", say: "(scale)), the chart says 1: it stays as it is",
		}, {
			name: "a HorizontalPodAutoscaler, and a person who edits", change: func(t *testing.T, s space) {
				s.autoscale(t, 4)
				s.change(t, "Deployment", "kubectl-edit", "merge-patch", `{"spec":{"replicas":6}}`)
			},
			kind: "Deployment", path: replicas, helm: "conflict", ours: "6", say: "scaled by HorizontalPodAutoscaler/web",
		}, {
			name: "a vertical autoscaler", change: func(t *testing.T, s space) {
				s.change(t, "Deployment", "vpa-updater", "strategic-merge-patch", `{"spec":{"template":{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"250m"}}}]}}}}`)
			},
			kind: "Deployment", path: container("resources", "requests", "cpu"), helm: "conflict", ours: "250m", say: "scaled by a vertical autoscaler",
		}, {
			name: "a HorizontalPodAutoscaler, with --force-conflicts", flags: []string{"--force-conflicts"}, change: func(t *testing.T, s space) { s.autoscale(t, 4) },
			kind: "Deployment", path: replicas, helm: "1|4", ours: "4", say: "it stays as it is (scaled by",
		},
	}
}

// editingCases are the cases of clients that set single fields.
func editingCases() []conflictCase {
	return []conflictCase{
		{
			name: "kubectl edit", change: editImage,
			kind: "Deployment", path: container("image"), helm: "conflict", ours: "conflict",
			say: `spec.template.spec.containers[web].image is "example.com/web:2" (set by kubectl-edit), the chart says "example.com/web:1"`,
		}, {
			name: "kubectl edit, with --conflicts=yield", flags: []string{"--conflicts=yield"}, change: editImage,
			kind: "Deployment", path: container("image"), helm: "", ours: "example.com/web:2",
		}, {
			name: "kubectl edit, with --force-conflicts", flags: []string{"--force-conflicts"}, change: editImage,
			kind: "Deployment", path: container("image"), helm: "example.com/web:1", ours: "example.com/web:1",
		}, {
			name: "kubectl set env, and the annotation", flags: []string{"--set", "owners=yield"}, change: func(t *testing.T, s space) {
				s.change(t, "Deployment", "kubectl-set", "strategic-merge-patch", `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"LEVEL","value":"debug"}]}]}}}}`)
			},
			kind: "Deployment", path: container("env", 0, "value"), helm: "conflict", ours: "debug",
		}, {
			name: "kubectl apply, adopted by a release", install: []string{"--take-ownership"}, before: func(t *testing.T, s space) {
				s.change(t, "ConfigMap", "kubectl-client-side-apply", "create", `{"metadata":{"name":"web","labels":{"mine":"x"}},"data":{"level":"debug","mode":"kubectl","own":"x"}}`)
			},
			kind: "ConfigMap", path: []any{"data", "mode"}, helm: "conflict", ours: "chart",
		}, {
			name: "kubectl apply of a release's object", change: func(t *testing.T, s space) {
				s.change(t, "ConfigMap", "kubectl-client-side-apply", "strategic-merge-patch", `{"data":{"mode":"kubectl","own":"x"}}`)
			},
			kind: "ConfigMap", path: []any{"data", "mode"}, helm: "conflict", ours: "chart",
		}, {
			name: "kubectl apply --server-side", change: func(t *testing.T, s space) {
				s.change(t, "ConfigMap", "kubectl", "apply-patch", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"mode":"kubectl"}}`)
			},
			kind: "ConfigMap", path: []any{"data", "mode"}, helm: "conflict", ours: "conflict", say: `data.mode is "kubectl" (set by kubectl), the chart says "chart"`,
		}, {
			name: "a controller's annotation", change: func(t *testing.T, s space) {
				s.change(t, "Deployment", "team-controller", "merge-patch", `{"metadata":{"annotations":{"team":"controller"}}}`)
			},
			kind: "Deployment", path: []any{"metadata", "annotations", "team"}, helm: "conflict", ours: "conflict", say: `metadata.annotations.team is "controller"`,
		}, {
			name: "a controller's annotation, left to it by the object's", flags: []string{"--set-string", `owners=yield: [metadata.annotations.team]`}, change: func(t *testing.T, s space) {
				s.change(t, "Deployment", "team-controller", "merge-patch", `{"metadata":{"annotations":{"team":"controller"}}}`)
			},
			kind: "Deployment", path: []any{"metadata", "annotations", "team"}, helm: "conflict", ours: "controller",
		}, {
			name: "a foreign key in a Service's selector", change: func(t *testing.T, s space) {
				s.change(t, "Service", "canary", "merge-patch", `{"spec":{"selector":{"track":"stable"}}}`)
			},
			kind: "Service", path: []any{"spec", "selector", "track"}, helm: "conflict", ours: "conflict", say: "spec.selector is",
		}, {
			name: "a foreign key in a Service's selector, with --conflicts=yield", flags: []string{"--conflicts=yield"}, change: func(t *testing.T, s space) {
				s.change(t, "Service", "canary", "merge-patch", `{"spec":{"selector":{"track":"stable"}}}`)
			},
			kind: "Service", path: []any{"spec", "selector", "track"}, helm: "", ours: "stable",
		}, {
			name: "a suspended CronJob", change: func(t *testing.T, s space) {
				s.change(t, "CronJob", "kubectl-patch", "merge-patch", `{"spec":{"suspend":true}}`)
			},
			kind: "CronJob", path: []any{"spec", "suspend"}, helm: "conflict", ours: "conflict", say: "spec.suspend is true (set by kubectl-patch), the chart says false",
		}, {
			name: "a release of Helm 3", installer: helm3, flags: []string{"--server-side=true", "--set", "level=debug"},
			kind: "ConfigMap", path: []any{"data", "level"}, helm: "debug", ours: "debug",
		}, {
			name: "a release of Helm 4", installer: helm4, flags: []string{"--set", "level=debug"},
			kind: "ConfigMap", path: []any{"data", "level"}, helm: "debug", ours: "debug",
		},
	}
}

// scale sets a Deployment's replicas, like kubectl scale.
func (s space) scale(t *testing.T, manager string, replicas int) {
	t.Helper()
	path := s.path("Deployment", "web") + "/scale?fieldManager=" + manager
	s.expect(t, http.MethodPatch, path, "application/merge-patch+json", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// autoscale lets the cluster's autoscaler set a Deployment's replicas.
func (s space) autoscale(t *testing.T, replicas int) {
	t.Helper()
	s.expect(t, http.MethodPost, "/apis/autoscaling/v2/namespaces/"+s.name+"/horizontalpodautoscalers", "application/json", fmt.Sprintf(
		`{"metadata":{"name":"web"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":%d,"maxReplicas":9}}`, replicas))
	if !apiserver.Eventually(func() bool {
		return fmt.Sprint(at(s.object(t, "Deployment", "web"), "spec", "replicas")) == fmt.Sprint(replicas)
	}) {
		t.Fatal("the autoscaler does nothing")
	}
}

// change writes an object named web as a field manager, by a type of patch or "create".
func (s space) change(t *testing.T, kind, manager, how, body string) {
	t.Helper()
	query := "?fieldManager=" + url.QueryEscape(manager)
	switch how {
	case "create":
		s.expect(t, http.MethodPost, s.path(kind, "")+query, "application/json", body)
	case "apply-patch":
		s.expect(t, http.MethodPatch, s.path(kind, "web")+query+"&force=true", "application/apply-patch+yaml", body)
	default:
		s.expect(t, http.MethodPatch, s.path(kind, "web")+query, "application/"+how+"+json", body)
	}
}

func (s space) expect(t *testing.T, method, path, contentType, body string) {
	t.Helper()
	text, code, err := s.call(t.Context(), method, path, contentType, body)
	if err != nil || code >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s, %v", method, path, code, text, err)
	}
}

// TestConflictsBesideHelm lets another client set a field of a release's object, and upgrades
// the release with server-side apply, with Helm 4 and with ours. The next upgrade with ours
// must leave the same fields to the other client, without a write.
func TestConflictsBesideHelm(t *testing.T) {
	c := connect(t)
	chart := filepath.Join(t.TempDir(), "web")
	filetest.Write(t, chart, conflictChart)
	for _, tc := range append(scalingCases(), editingCases()...) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // autoscalers sync every 15 seconds
			if tc.helm != "" {
				if got, _ := tc.run(t, c.namespace(t), peer(t, helm4), chart, ""); !slices.Contains(strings.Split(tc.helm, "|"), got) {
					t.Errorf("with Helm it is %s, want %s", got, tc.helm)
				}
			}
			got, output := tc.run(t, c.namespace(t), ours(t), chart, "--server-side")
			if got != tc.ours {
				t.Errorf("with ours it is %s, want %s:\n%s", got, tc.ours, output)
			}
			if !strings.Contains(output, tc.say) {
				t.Errorf("ours says\n%swant %q", output, tc.say)
			}
		})
	}
}

// run runs a case with one binary and returns the value after the upgrade and the output.
func (tc conflictCase) run(t *testing.T, s space, bin, chart, serverSide string) (value, output string) {
	t.Helper()
	home := t.TempDir()
	args := func(verb string, more ...string) []string {
		all := append([]string{verb, "web", chart, "--namespace", s.name}, more...)
		if serverSide != "" && (verb == "install" || !strings.Contains(strings.Join(more, " "), "--server-side")) {
			all = append(all, serverSide)
		}
		return all
	}
	if tc.before != nil {
		tc.before(t, s)
	}
	if tc.installer != "" {
		must(t, peer(t, tc.installer), home, "install", "web", chart, "--namespace", s.name)
	} else if r := run(t, bin, home, args("install", tc.install...)...); r.err != nil {
		return "conflict", r.stderr
	}
	if tc.change != nil {
		tc.change(t, s)
	}
	flags := append([]string{"--set", "note=two"}, tc.flags...)
	r := run(t, bin, home, args("upgrade", flags...)...)
	if r.err != nil {
		if !strings.Contains(r.stderr, "conflict") {
			t.Fatalf("%s: %s", bin, r.stderr)
		}
		if note := at(s.object(t, "ConfigMap", "web"), "metadata", "annotations", "note"); serverSide != "" && note != "one" {
			t.Errorf("the upgrade fails, and has written objects: note is %v", note)
		}
		return "conflict", r.stderr
	}
	object := s.object(t, tc.kind, "web")
	if serverSide != "" {
		again := run(t, bin, home, args("upgrade", flags...)...)
		if after := s.object(t, tc.kind, "web"); again.err != nil || !reflect.DeepEqual(applied(after), applied(object)) {
			t.Errorf("the same upgrade again writes (%v): %s\n%v\n%v", again.err, again.stderr, applied(object), applied(after))
		}
	}
	if tc.installer == helm4 {
		must(t, peer(t, helm4), home, "upgrade", "web", chart, "--namespace", s.name, "--set", "note=three,level=debug") // and back
	}
	return fmt.Sprint(at(object, tc.path...)), r.stderr
}

// applied returns an object without its status and without the metadata that changes with the
// status.
func applied(object map[string]any) map[string]any {
	out := map[string]any{"spec": object["spec"], "data": object["data"]}
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	delete(annotations, "deployment.kubernetes.io/revision") // the controller may set it late
	out["annotations"], out["generation"] = annotations, meta["generation"]
	var managers []any
	fields, _ := meta["managedFields"].([]any)
	for _, m := range fields {
		if at(m, "subresource") != "status" {
			managers = append(managers, m)
		}
	}
	out["managedFields"] = managers
	return out
}
