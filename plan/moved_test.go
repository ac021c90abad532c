// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// rendered parses objects, documents of a template each: "web/templates/a.yaml: kind Name [yaml]".
func rendered(t *testing.T, objects ...string) []*manifest.Object {
	t.Helper()
	var out []*manifest.Object
	for _, text := range objects {
		source, rest, ok := strings.Cut(text, ": ")
		if !ok || !strings.Contains(source, "/") {
			source, rest = "web/templates/a.yaml", text
		}
		words := strings.SplitN(rest, " ", 3)
		version := map[string]string{"Deployment": "apps/v1", "StatefulSet": "apps/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1"}[words[0]]
		if version == "" {
			version = "v1"
		}
		body := ""
		if len(words) == 3 {
			body = words[2] + "\n"
		}
		parsed, err := manifest.Parse(source, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s", version, words[0], words[1], body))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, parsed...)
	}
	return out
}

// movesOf parses the entries of "moved" of the root chart.
func movesOf(t *testing.T, text string) []plan.Move {
	t.Helper()
	m, err := chart.ParseMetadata("Chart.yaml", []byte("apiVersion: v2\nname: web\nversion: 1.0.0\nmoved:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return plan.MovesOf(&chart.Chart{Metadata: m})
}

func TestApplyMoves(t *testing.T) {
	const keep, recreate = "- {kind: Deployment, from: {name: a}, to: {name: b}, recreate: false}\n", "- {kind: Deployment, from: {name: a}, to: {name: b}, recreate: true}\n"
	for _, tc := range []struct {
		name, moves string
		old         [][]string // revisions
		objects     []string
		definitions []string
		want        string // moved objects
		applied     string // names of the objects
		err         string // a part of the error
		warning     string
	}{
		{name: "an install", moves: recreate, objects: []string{"Deployment b"}, applied: "Deployment/b"},
		{name: "recreated", moves: recreate, old: [][]string{{"Deployment a"}}, objects: []string{"Deployment b"}, applied: "Deployment/b", want: "Deployment/a>Deployment/b recreated"},
		{name: "its name kept", moves: keep, old: [][]string{{"Deployment a"}}, objects: []string{"Deployment b"}, applied: "Deployment/a", want: "Deployment/a>Deployment/b"},
		{name: "its name kept again", moves: keep, old: [][]string{{"Deployment a"}}, objects: []string{"Deployment b", "Service b"}, applied: "Deployment/a Service/b", want: "Deployment/a>Deployment/b"},
		{name: "installed with the new name", moves: keep, old: [][]string{{"Deployment b"}}, objects: []string{"Deployment b"}, applied: "Deployment/b"},
		{name: "moved already", moves: recreate, old: [][]string{{"Deployment b"}}, objects: []string{"Deployment b"}, applied: "Deployment/b"},
		{name: "a failed upgrade before", moves: recreate, old: [][]string{{"Deployment a"}, {"Deployment b"}}, objects: []string{"Deployment b"}, applied: "Deployment/b", want: "Deployment/a>Deployment/b recreated"},
		{name: "a failed upgrade of Helm before", moves: keep, old: [][]string{{"Deployment a"}, {"Deployment b"}}, objects: []string{"Deployment b"}, applied: "Deployment/a", want: "Deployment/a>Deployment/b"},
		{name: "another kind", moves: keep, old: [][]string{{"Service a"}}, objects: []string{"Service b"}, applied: "Service/b"},
		{name: "a chain", moves: recreate + "- {kind: Deployment, from: {name: b}, to: {name: c}, recreate: false}\n", old: [][]string{{"Deployment a"}}, objects: []string{"Deployment c"}, applied: "Deployment/c", want: "Deployment/a>Deployment/c recreated"},
		{name: "the end of a chain", moves: recreate + "- {kind: Deployment, from: {name: b}, to: {name: c}, recreate: false}\n", old: [][]string{{"Deployment b"}}, objects: []string{"Deployment c"}, applied: "Deployment/b", want: "Deployment/b>Deployment/c"},
		{name: "a circle", moves: recreate + "- {kind: Deployment, from: {name: b}, to: {name: a}, recreate: true}\n", old: [][]string{{"Deployment x"}}, objects: []string{"Deployment b"}, err: "moved[0] does not fit: the entries for Deployment/b lead back to it"},
		{name: "both rendered", moves: recreate, objects: []string{"Deployment a", "Deployment b"}, err: "web/Chart.yaml: moved[0] does not fit: the chart renders both Deployment/b and Deployment/a"},
		{name: "two old names", moves: recreate + "- {kind: Deployment, from: {name: c}, to: {name: b}, recreate: true}\n", objects: []string{"Deployment b"}, err: "moved[1] does not fit: Deployment/b has moved from a already, by web/Chart.yaml: moved[0]"},
		{name: "two new names", moves: recreate + "- {kind: Deployment, from: {name: a}, to: {name: c}, recreate: true}\n", objects: []string{"Deployment b"}, err: "moved[1] does not fit: Deployment/a has moved to b already"},
		{name: "a misspelled new name", moves: "- {kind: Deployment, from: {name: a}, to: {name: frontend}, recreate: true}\n", old: [][]string{{"Deployment a"}}, objects: []string{"Deployment fronted"}, err: `Deployment/a would be deleted; did you mean "fronted"?`},
		{name: "switched off", moves: recreate, old: [][]string{{"Deployment a"}}, applied: "", warning: "the chart renders no Deployment/b, and Deployment/a is deleted"},
		{name: "a claim", moves: "- {kind: PersistentVolumeClaim, from: {name: a}, to: {name: b}, recreate: true}\n", old: [][]string{{"PersistentVolumeClaim a"}}, objects: []string{"PersistentVolumeClaim b"}, err: "recreating PersistentVolumeClaim/a as PersistentVolumeClaim/b loses data"},
		{name: "a claim that may be lost", moves: "- {kind: PersistentVolumeClaim, from: {name: a}, to: {name: b}, recreate: true}\n", old: [][]string{{"PersistentVolumeClaim a"}}, objects: []string{"PersistentVolumeClaim b   annotations: {helm.sh/replace: 'true'}"}, applied: "PersistentVolumeClaim/b", want: "PersistentVolumeClaim/a>PersistentVolumeClaim/b recreated"},
		{name: "a StatefulSet with claims", moves: "- {kind: StatefulSet, from: {name: a}, to: {name: b}, recreate: true}\n", old: [][]string{{"StatefulSet a"}}, objects: []string{"StatefulSet b spec: {volumeClaimTemplates: [{}]}"}, err: "the claims of its pods stay with the old name"},
		{name: "a node port", moves: "- {kind: Service, from: {name: a}, to: {name: b}, recreate: true}\n", old: [][]string{{"Service a spec: {ports: [{nodePort: 30001}]}"}}, objects: []string{"Service b spec: {ports: [{nodePort: 30001}]}"}, applied: "Service/b", want: "Service/a>Service/b recreated, first: both use node port 30001/TCP"},
		{name: "another node port", moves: "- {kind: Service, from: {name: a}, to: {name: b}, recreate: true}\n", old: [][]string{{"Service a spec: {ports: [{nodePort: 30001}]}"}}, objects: []string{"Service b spec: {ports: [{nodePort: 30002}]}"}, applied: "Service/b", want: "Service/a>Service/b recreated"},
		{name: "a claim of both", moves: recreate, old: [][]string{{"Deployment a spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}"}}, objects: []string{"Deployment b spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}"}, applied: "Deployment/b", want: "Deployment/a>Deployment/b recreated, first: both use the claim data"},
		{name: "a shared claim of both", moves: recreate, old: [][]string{{"Deployment a spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}"}}, objects: []string{"PersistentVolumeClaim data spec: {accessModes: [ReadWriteMany]}", "Deployment b spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}"}, applied: "PersistentVolumeClaim/data Deployment/b", want: "Deployment/a>Deployment/b recreated"},
		{name: "a claim of both that keeps its name", moves: recreate + "- {kind: PersistentVolumeClaim, from: {name: data}, to: {name: files}, recreate: false}\n", old: [][]string{{"PersistentVolumeClaim data", "Deployment a spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}"}}, objects: []string{"PersistentVolumeClaim files", "Deployment b spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: files}}]}}}"}, applied: "PersistentVolumeClaim/data Deployment/b", want: "PersistentVolumeClaim/data>PersistentVolumeClaim/files; Deployment/a>Deployment/b recreated, first: both use the claim data"},
		{name: "a port of the node", moves: recreate, old: [][]string{{"Deployment a spec: {template: {spec: {containers: [{ports: [{hostPort: 80}]}]}}}"}}, objects: []string{"Deployment b spec: {template: {spec: {containers: [{ports: [{hostPort: 80}]}]}}}"}, applied: "Deployment/b", want: "Deployment/a>Deployment/b recreated, first: both use port 80 of the node"},
		{name: "an order", moves: "- {kind: Deployment, from: {name: a}, to: {name: b}, recreate: true, order: delete-first}\n", old: [][]string{{"Deployment a"}}, objects: []string{"Deployment b"}, applied: "Deployment/b", want: "Deployment/a>Deployment/b recreated, first: as web/Chart.yaml: moved[0] says"},
		{name: "the other order", moves: "- {kind: Service, from: {name: a}, to: {name: b}, recreate: true, order: create-first}\n", old: [][]string{{"Service a spec: {clusterIP: 1.2.3.4}"}}, objects: []string{"Service b spec: {clusterIP: 1.2.3.4}"}, applied: "Service/b", want: "Service/a>Service/b recreated"},
		{name: "a hook is none", moves: recreate, old: [][]string{{"Deployment a"}}, objects: []string{"Deployment b   annotations: {helm.sh/hook: test}"}, applied: "Deployment/b", warning: "the chart renders no Deployment/b"},
		{name: "a subchart's", moves: "- {from: {chart: one}, to: {chart: two}}\n", old: [][]string{{"web/charts/one/templates/a.yaml: Service a"}}, objects: []string{"web/charts/two/templates/a.yaml: Service a"}, applied: "Service/a", want: "Service/a>Service/a chart one>chart two"},
		{name: "a subchart's with its name", moves: "- {from: {chart: one}, to: {chart: two}, recreate: false}\n", old: [][]string{{"web/charts/one/templates/a.yaml: Service r-one-x"}}, objects: []string{"web/charts/two/templates/a.yaml: Service r-two-x"}, applied: "Service/r-one-x", want: "Service/r-one-x>Service/r-two-x"},
		{name: "a subchart's, recreated", moves: "- {from: {chart: one}, to: {chart: two}, recreate: true}\n", old: [][]string{{"web/charts/one/templates/a.yaml: Service r-one"}}, objects: []string{"web/charts/two/templates/a.yaml: Service r-two"}, applied: "Service/r-two", want: "Service/r-one>Service/r-two recreated"},
		{name: "a subchart's without saying", moves: "- {from: {chart: one}, to: {chart: two}}\n", old: [][]string{{"web/charts/one/templates/a.yaml: Service r-one"}}, objects: []string{"web/charts/two/templates/a.yaml: Service r-two"}, err: "Service/r-one is called r-two in chart two, and recreate is not set"},
		{name: "a subchart below", moves: "- {from: {chart: one}, to: {chart: two}}\n", old: [][]string{{"web/charts/one/charts/c/templates/a.yaml: Service a"}}, objects: []string{"web/charts/two/charts/c/templates/a.yaml: Service a"}, applied: "Service/a", want: "Service/a>Service/a chart one/c>chart two/c"},
		{name: "without a successor", moves: "- {from: {chart: one}, to: {chart: two}}\n", old: [][]string{{"web/charts/one/templates/a.yaml: Service a"}}, warning: "chart two has no successor of Service/a, which is deleted"},
		{name: "an unknown subchart", moves: "- {from: {chart: one}, to: {chart: twoo}}\n", err: `which is not a subchart; did you mean "two"?`},
		{name: "to crds/", moves: "- {from: {directory: templates}, to: {directory: crds}}\n", old: [][]string{{"CustomResourceDefinition x.y"}}, definitions: []string{"web/crds/a.yaml: CustomResourceDefinition x.y"}, want: "CustomResourceDefinition/x.y>CustomResourceDefinition/x.y web/templates/a.yaml>web/crds/a.yaml definition"},
		{name: "to crds/ without saying", old: [][]string{{"CustomResourceDefinition x.y"}}, definitions: []string{"web/crds/a.yaml: CustomResourceDefinition x.y"}, want: "CustomResourceDefinition/x.y>CustomResourceDefinition/x.y web/templates/a.yaml>web/crds/a.yaml definition", warning: "has moved from templates/ to crds/, and is kept"},
		{name: "in both", old: [][]string{{"CustomResourceDefinition x.y"}}, objects: []string{"CustomResourceDefinition x.y"}, definitions: []string{"web/crds/a.yaml: CustomResourceDefinition x.y"}, applied: "CustomResourceDefinition/x.y"},
		{name: "from crds/", moves: "- {from: {directory: crds}, to: {directory: templates}}\n", old: [][]string{{"Service a"}}, objects: []string{"Service a", "CustomResourceDefinition x.y"}, applied: "Service/a CustomResourceDefinition/x.y", want: "CustomResourceDefinition/x.y>CustomResourceDefinition/x.y crds/>web/templates/a.yaml definition adopted"},
		{name: "from crds/ without saying", old: [][]string{{"Service a"}}, objects: []string{"Service a", "CustomResourceDefinition x.y"}, applied: "Service/a CustomResourceDefinition/x.y"},
		{name: "from crds/ by an install", moves: "- {from: {directory: crds}, to: {directory: templates}}\n", objects: []string{"CustomResourceDefinition x.y"}, applied: "CustomResourceDefinition/x.y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := plan.MoveInput{Objects: rendered(t, tc.objects...), Definitions: rendered(t, tc.definitions...), Namespace: "ns", Charts: []string{"one", "two", "two/c"}, Root: "web"}
			if tc.moves != "" {
				in.Moves = movesOf(t, tc.moves)
			}
			for _, revision := range tc.old {
				in.Old = append(in.Old, rendered(t, revision...))
			}
			out, err := plan.ApplyMoves(in)
			if tc.err != "" {
				var moved *plan.MovedError
				if !errors.As(err, &moved) || !strings.Contains(err.Error(), tc.err) || moved.Hint() == "" {
					t.Errorf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var moved, applied []string
			for _, m := range out.Moved {
				text := m.From.String() + ">" + m.To.String()
				if m.FromPlace != "" {
					text += " " + m.FromPlace + ">" + m.ToPlace
				}
				if m.Recreate {
					text += " recreated"
				}
				if m.DeleteFirst != "" {
					text += ", first: " + m.DeleteFirst
				}
				if m.Definition {
					text += " definition"
				}
				moved = append(moved, text+map[bool]string{true: " adopted"}[len(out.Adopted) > 0])
			}
			for _, o := range out.Objects {
				applied = append(applied, o.String())
			}
			if got := strings.Join(moved, "; "); got != tc.want {
				t.Errorf("moved = %q, want %q", got, tc.want)
			}
			if got := strings.Join(applied, " "); got != tc.applied {
				t.Errorf("objects = %q, want %q", got, tc.applied)
			}
			if got := strings.Join(out.Warnings, "\n"); !strings.Contains(got, tc.warning) || (tc.warning == "") != (got == "") {
				t.Errorf("warnings = %q, want %q", got, tc.warning)
			}
		})
	}
}

// References to an object that keeps its name name it by that, in every kind of object and in hooks.
func TestMovedReferences(t *testing.T) {
	for _, tc := range []struct{ kind, object, want string }{
		{"ConfigMap", "Deployment d spec: {template: {spec: {containers: [{envFrom: [{configMapRef: {name: new}}]}], volumes: [{configMap: {name: new}}]}}}", "configMapRef: {name: old}}]}], volumes: [{configMap: {name: old}}"},
		{"Secret", "Deployment d spec: {template: {spec: {imagePullSecrets: [{name: new}], volumes: [{secret: {secretName: new}}], containers: [{env: [{valueFrom: {secretKeyRef: {name: new, key: new}}}]}]}}}", "imagePullSecrets: [{name: old}], volumes: [{secret: {secretName: old}}], containers: [{env: [{valueFrom: {secretKeyRef: {name: old, key: new}}}]}]"},
		{"Service", "Ingress i spec: {rules: [{http: {paths: [{backend: {service: {name: new, port: {name: new}}}}]}}]}", "service: {name: old, port: {name: new}}"},
		{"Service", "StatefulSet s spec: {serviceName: new}", "serviceName: old"},
		{"ServiceAccount", "RoleBinding r subjects: [{kind: ServiceAccount, name: new, namespace: ns}]", "name: old, namespace: ns"},
		{"ServiceAccount", "RoleBinding r subjects: [{kind: ServiceAccount, name: new, namespace: other}]", "name: new, namespace: other"},
		{"ServiceAccount", "Pod p spec: {serviceAccountName: new}", "serviceAccountName: old"},
		{"PersistentVolumeClaim", "Pod p spec: {volumes: [{persistentVolumeClaim: {claimName: new}}]}", "claimName: old"},
		{"Deployment", "HorizontalPodAutoscaler h spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: new}}", "kind: Deployment, name: old"},
		{"Deployment", "HorizontalPodAutoscaler h spec: {scaleTargetRef: {apiVersion: other/v1, kind: Deployment, name: new}}", "kind: Deployment, name: new"},
		{"Deployment", "HorizontalPodAutoscaler h spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: new}}", "kind: StatefulSet, name: new"},
		{"Service", "Service other   labels: {app: new}\nspec: {selector: {app: new}}", "labels: {app: new}\nspec: {selector: {app: new}}"},
		{"ConfigMap", "Job j   annotations: {helm.sh/hook: test}\nspec: {template: {spec: {volumes: [{configMap: {name: new}}]}}}", "configMap: {name: old}"},
	} {
		t.Run(tc.kind+" in "+tc.object, func(t *testing.T) {
			in := plan.MoveInput{Namespace: "ns", Old: [][]*manifest.Object{rendered(t, tc.kind+" old")},
				Objects: rendered(t, tc.kind+" new data: {name: new}", tc.object),
				Moves:   movesOf(t, "- {kind: "+tc.kind+", from: {name: old}, to: {name: new}, recreate: false}\n")}
			out, err := plan.ApplyMoves(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Objects[0]; got.Name != "old" || !strings.Contains(got.Raw, "data: {name: new}") {
				t.Errorf("the object is\n%s", got.Raw)
			}
			if got := out.Objects[1].Raw; !strings.Contains(got, tc.want) {
				t.Errorf("the other object is\n%swant %q", got, tc.want)
			}
		})
	}
	out, err := plan.ApplyMoves(plan.MoveInput{Namespace: "ns", Old: [][]*manifest.Object{rendered(t, "Service old")},
		Objects: rendered(t, "Service new", "Pod p spec: {containers: [{name: new, args: [\"http://new.ns.svc:80\", news, re-new]}]}"),
		Moves:   movesOf(t, "- {kind: Service, from: {name: old}, to: {name: new}, recreate: false}\n")})
	if err != nil || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "spec.containers.args has a name of the chart") {
		t.Errorf("got %q, %v", out.Warnings, err)
	}
}

func TestCheckMoves(t *testing.T) {
	in := plan.MoveInput{Namespace: "ns", Objects: rendered(t, "Deployment frontend"),
		Moves: movesOf(t, "- {kind: Deployment, from: {name: a}, to: {name: frontent}, recreate: true}\n- {kind: Service, from: {name: a}, to: {name: b}, recreate: true}\n- {kind: Service, from: {name: b}, to: {name: c}, recreate: true}\n")}
	unrendered, wrong := plan.CheckMoves(in)
	want := "[web/Chart.yaml: moved[0] does not fit: the chart renders no Deployment/frontent; did you mean \"frontend\"? web/Chart.yaml: moved[2] does not fit: the chart renders no Service/c]"
	if got := fmt.Sprint(unrendered); wrong != nil || got != want {
		t.Errorf("got %v and %s, want %s", wrong, got, want)
	}
	in.Moves = movesOf(t, "- {kind: Deployment, from: {name: frontend}, to: {name: frontend2}, recreate: true}\n")
	in.Objects = rendered(t, "Deployment frontend", "Deployment frontend2")
	if _, wrong := plan.CheckMoves(in); wrong == nil {
		t.Error("a chart that renders both is right")
	}
}

// Hostile entries end in bounded time.
func TestManyMoves(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "- {kind: Deployment, from: {name: n%d}, to: {name: n%d}, recreate: true}\n", i, i+1)
	}
	var objects []string
	for i := range 1000 {
		objects = append(objects, fmt.Sprintf("Service s%d", i))
	}
	in := plan.MoveInput{Moves: movesOf(t, text.String()), Objects: rendered(t, append(objects, "Deployment n1000")...), Old: [][]*manifest.Object{rendered(t, "Deployment n0")}, Namespace: "ns"}
	out, err := plan.ApplyMoves(in)
	if err != nil || len(out.Moved) != 1 || out.Moved[0].From.Name != "n0" {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestMarkKnown(t *testing.T) {
	a, b := plan.MovedObject{From: plan.Ref{Name: "a"}, To: plan.Ref{Name: "b"}}, plan.MovedObject{From: plan.Ref{Name: "c"}, To: plan.Ref{Name: "d"}}
	recreated := a
	recreated.Recreate = true
	moved := []plan.MovedObject{a, b, recreated}
	plan.MarkKnown(moved, []plan.MovedObject{b, {From: plan.Ref{Name: "a"}, To: plan.Ref{Name: "x"}}, a})
	if !moved[0].Known || !moved[1].Known || moved[2].Known {
		t.Errorf("got %+v", moved)
	}
}
