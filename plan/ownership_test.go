// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func annotated(t testing.TB, text string) map[string]any {
	o := newItem(t, "apps/v1 Deployment", "", `{metadata: {labels: {app: web}, annotations: {example.com/a: b}}, spec: {replicas: 3, template: {spec: {containers: [{name: web, image: a, ports: [{containerPort: 53, protocol: UDP}]}]}}}}`).New
	metadata(o)["annotations"].(map[string]any)[OwnershipAnnotation] = text
	return o
}

func TestOwnershipAnnotation(t *testing.T) {
	for _, tc := range []struct {
		text  string
		wrong string // "" if it is valid
		no    string // a path without a field
	}{
		{text: "yield"}, {text: " take\n"}, {text: "fail"}, {text: ""},
		{text: "yield: [spec.replicas]"},
		{text: `{"yield": ["spec.replicas"], "take": ["metadata.labels"]}`},
		{text: `yield: ["spec.template.spec.containers[web].image"]`},
		{text: `yield: ['.spec.template.spec.containers[name="web"].image']`},
		{text: `yield: ['spec.template.spec.containers[*].image', 'metadata.annotations[example.com/a]']`},
		{text: `yield: ['spec.template.spec.containers[web].ports[53/UDP]']`},
		{text: "leave", wrong: `"leave" is not valid`},
		{text: "leave: [spec.replicas]", wrong: `"leave" is not valid`},
		{text: "yield: spec.replicas", wrong: "yield needs a list of fields"},
		{text: "yield: [spec.containers[web]]", wrong: "a path with brackets needs quotes"},
		{text: "yield: [spec.replica]", no: "spec.replica"},
		{text: "yield: ['spec.template.spec.containers[nginx].image']", no: "spec.template.spec.containers[nginx].image"},
		{text: "yield: [spec.replicas]\ntake: [spec.replicas]", wrong: "is in two lists, take and yield"},
		{text: "yield: ['spec..replicas']", wrong: "a name is empty"},
		{text: "yield: ['spec[']", wrong: "a bracket is not closed"},
		{text: "yield: ['spec[a]b']", wrong: "a dot is missing"},
		{text: "yield: [3]", wrong: "it is empty"},
		{text: "yield: [", wrong: "is not valid"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			missing, err := CheckOwnership(annotated(t, tc.text))
			if got := strings.Join(missing, " "); got != tc.no {
				t.Errorf("missing are %q, want %q", got, tc.no)
			}
			if tc.wrong == "" && err != nil || tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
				t.Errorf("got %v, want %q", err, tc.wrong)
			}
		})
	}
}

func TestOwnershipAnnotationInvalid(t *testing.T) {
	item := Item{Ref: Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, New: annotated(t, "leave")}
	for _, o := range []Options{{}, {ServerSide: true}} {
		_, err := Compute([]Item{item}, o)
		var wrong *Error
		if !errors.As(err, &wrong) || wrong.Path != "metadata.annotations" {
			t.Errorf("got %v, want an error at metadata.annotations", err)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"spec.replicas", `.a[b="c",d=1].e`, "a[b.c/d]", "a[]", "..", "a.[b]", "a[b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := parsePath(text)
		if err != nil {
			return
		}
		again, err := parsePath(pathText(path))
		if err != nil || !slices.Equal(again, path) {
			t.Errorf("%q is %v, and written again %v (%v)", text, path, again, err)
		}
	})
}

// In a client-side merge, yielded fields keep changes by other clients, and are otherwise set
// to the chart's values.
func TestMergeYield(t *testing.T) {
	const deployment, note = "apps/v1 Deployment", `metadata: {annotations: {helm.sh/field-ownership: "yield: [spec.replicas, 'spec.template.spec.containers[web].image', 'spec.template.spec.tolerations']"}}`
	spec := func(replicas int, image string) string {
		return fmt.Sprintf(`{%s, spec: {replicas: %d, template: {spec: {tolerations: [{key: a}], containers: [{name: web, image: %q}]}}}}`, note, replicas, image)
	}
	for _, tc := range []struct {
		name            string
		old, live, want string
		action          Action
		after           string // replicas, image
		yields          int
	}{
		{"nothing has changed", spec(3, "a"), spec(3, "a"), spec(3, "a"), Unchanged, "3 a", 0},
		{"another client has scaled it", spec(3, "a"), spec(5, "a"), spec(3, "a"), Unchanged, "5 a", 1},
		{"another client has scaled it, and the chart too", spec(3, "a"), spec(5, "a"), spec(4, "a"), Unchanged, "5 a", 1},
		{"the chart alone has", spec(3, "a"), spec(3, "a"), spec(4, "a"), Update, "4 a", 0},
		{"both have, to the same", spec(3, "a"), spec(4, "a"), spec(4, "a"), Unchanged, "4 a", 0},
		{"an image, and a number from the chart", spec(3, "a"), spec(3, "b"), spec(4, "a"), Update, "4 b", 1},
		{"it was not there before", "", spec(5, "a"), spec(3, "a"), Unchanged, "5 a", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, deployment, tc.live, tc.want)
			if tc.old != "" {
				item.Old = newItem(t, deployment, "", "", tc.old).Old
			}
			s := computeOne(t, item, Options{})
			out := s.After["spec"].(map[string]any)
			container := out["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
			if got := fmt.Sprint(out["replicas"], " ", container["image"]); s.Action != tc.action || got != tc.after || len(s.Conflicts) != tc.yields {
				t.Errorf("%s to %s with %d conflicts, want %s to %s with %d", s.Action, got, len(s.Conflicts), tc.action, tc.after, tc.yields)
			}
		})
	}
}

// Yielded fields that other clients have changed are not removed if the chart drops them, for
// example replicas that an autoscaler sets.
func TestMergeYieldDropped(t *testing.T) {
	const note = `metadata: {annotations: {helm.sh/field-ownership: "yield: [spec.replicas, spec.strategy]"}}`
	for _, tc := range []struct {
		name, old, live, want string
		spec                  string // afterwards
		yields                int
	}{
		{"another client has changed it", "{replicas: 3, paused: true}", "{replicas: 5, paused: true}", "{paused: true}", "map[paused:true replicas:5]", 1},
		{"the map that it is in goes too", "{replicas: 3}", "{replicas: 5}", "", "map[replicas:5]", 1},
		{"one field of a map", "{strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}}", "{strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}}", "{}",
			"map[strategy:map[rollingUpdate:map[maxSurge:2]]]", 1},
		{"no one has changed it", "{replicas: 3, paused: true}", "{replicas: 3, paused: true}", "{paused: true}", "map[paused:true]", 0},
		{"another field", "{replicas: 3, paused: true}", "{replicas: 3, paused: false}", "{replicas: 3}", "map[replicas:3]", 0},
		{"a field that was never the chart's", "{replicas: 3}", "{replicas: 3, minReadySeconds: 9}", "{replicas: 3}", "map[minReadySeconds:9 replicas:3]", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			object := func(spec string) string {
				if spec == "" {
					return "{" + note + "}"
				}
				return "{" + note + ", spec: " + spec + "}"
			}
			s := computeOne(t, newItem(t, "apps/v1 Deployment", object(tc.live), object(tc.want), object(tc.old)), Options{})
			if got := fmt.Sprint(s.After["spec"]); got != tc.spec || len(s.Conflicts) != tc.yields {
				t.Errorf("got %s with %d conflicts, want %s with %d", got, len(s.Conflicts), tc.spec, tc.yields)
			}
		})
	}
}

// Without the annotation, Options.Conflicts has no effect on a client-side merge.
func TestMergeIgnoresConflicts(t *testing.T) {
	item := newItem(t, "apps/v1 Deployment", `{spec: {replicas: 5}}`, `{spec: {replicas: 3}}`, `{spec: {replicas: 3}}`)
	s := computeOne(t, item, Options{Conflicts: Yield})
	var patch map[string]any
	if err := json.Unmarshal(s.Patch, &patch); err != nil || s.Action != Update || len(s.Conflicts) != 0 {
		t.Errorf("%s by %s with %d conflicts, want an update", s.Action, s.Patch, len(s.Conflicts))
	}
}
