// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// driftCase is an installed object, and what another client has made of it.
type driftCase struct {
	name            string
	kind            string
	installed, live string
	by              Manager
	theirs          string   // the fields that the client has set
	ignore          []string // rules
	want            []string // "kind path (manager)" of drift
	allowed         []string // "path: reason" of other differences
}

func driftCases() []driftCase {
	edit := Manager{Name: "kubectl-edit", Operation: "Update", Time: "2026-01-02T03:04:05Z"}
	label := Manager{Name: "kubectl-label", Operation: "Update"}
	scale := Manager{Name: "kubectl", Operation: "Update", Subresource: "scale"}
	hpa := Manager{Name: "kube-controller-manager", Operation: "Update", Subresource: "scale"}
	keda := Manager{Name: "keda-operator", Operation: "Update", Subresource: "scale"}
	controller := Manager{Name: "kube-controller-manager", Operation: "Update"}
	helm := Manager{Name: "helm", Operation: "Update"}
	const deployment, web = "apps/v1 Deployment", `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "a:1"}]}}}}`
	const webhook = "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration"
	return []driftCase{{
		name: "changed", kind: deployment, by: edit, installed: web,
		live:   `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "a:2"}]}}}}`,
		theirs: `{spec: {template: {spec: {containers: [{name: web, image: "a:2"}]}}}}`,
		want:   []string{"changed spec.template.spec.containers[web].image (kubectl-edit)"},
	}, {
		name: "missing", kind: deployment, by: edit, installed: web,
		live: `{spec: {template: {spec: {containers: [{name: web, image: "a:1"}]}}}}`, theirs: `{spec: {paused: true}}`,
		want: []string{"missing spec.replicas ()"},
	}, {
		name: "added, and defaults of the server", kind: deployment, by: label, installed: web,
		live:   `{metadata: {labels: {team: a}}, spec: {replicas: 3, revisionHistoryLimit: 10, template: {spec: {restartPolicy: Always, containers: [{name: web, image: "a:1"}]}}}}`,
		theirs: `{metadata: {labels: {team: a}}}`, want: []string{"added metadata.labels.team (kubectl-label)"},
	}, {
		name: "an added map is one field", kind: deployment, by: edit, installed: web,
		live:   `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "a:1", livenessProbe: {periodSeconds: 10, httpGet: {path: /}}}]}}}}`,
		theirs: `{spec: {template: {spec: {containers: [{name: web, livenessProbe: {periodSeconds: 10, httpGet: {path: /}}}]}}}}`,
		want:   []string{"added spec.template.spec.containers[web].livenessProbe (kubectl-edit)"},
	}, {
		name: "an added container is one field", kind: deployment, by: edit, installed: web,
		live:   `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "a:1"}, {name: side, image: b}]}}}}`,
		theirs: `{spec: {template: {spec: {containers: [{name: side, image: b}]}}}}`,
		want:   []string{"added spec.template.spec.containers[side] (kubectl-edit)"},
	}, {
		name: "a container that admission has injected", kind: deployment, installed: web,
		live: `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "a:1"}, {name: side, image: b}]}}}}`,
	}, {
		name: "a value that admission has changed", kind: deployment, by: helm, installed: web,
		live:    `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "mirror/a:1"}]}}}}`,
		theirs:  `{spec: {template: {spec: {containers: [{name: web, image: "mirror/a:1"}]}}}}`,
		allowed: []string{"spec.template.spec.containers[web].image: set by the server when the release was applied"},
	}, {
		name: "written by another release", kind: "v1 ConfigMap", by: helm,
		installed: `{metadata: {annotations: {meta.helm.sh/release-name: a}}, data: {a: "1"}}`,
		live:      `{metadata: {annotations: {meta.helm.sh/release-name: b}}, data: {a: "2"}}`,
		theirs:    `{metadata: {annotations: {meta.helm.sh/release-name: b}}, data: {a: "2"}}`,
		want:      []string{"changed data.a (helm)", "changed metadata.annotations[meta.helm.sh/release-name] (helm)"},
	}, {
		name: "defaults of an object that another client has created", kind: deployment, by: Manager{Name: "kubectl-create", Operation: "Update"}, installed: web,
		live:    `{spec: {replicas: 3, revisionHistoryLimit: 10, strategy: {type: Recreate}, template: {spec: {dnsPolicy: ClusterFirst, containers: [{name: side, image: "b:1", imagePullPolicy: Always}, {name: web, image: "a:1", imagePullPolicy: IfNotPresent, resources: {}}]}}}}`,
		theirs:  `{spec: {replicas: 3, revisionHistoryLimit: 10, strategy: {type: Recreate}, template: {spec: {dnsPolicy: ClusterFirst, containers: [{name: side, image: "b:1", imagePullPolicy: Always}, {name: web, image: "a:1", imagePullPolicy: IfNotPresent, resources: {}}]}}}}`,
		want:    []string{"added spec.strategy (kubectl-create)", "added spec.template.spec.containers[side] (kubectl-create)"},
		allowed: []string{"spec.revisionHistoryLimit: filled in by the server", "spec.template.spec.containers[web].imagePullPolicy: filled in by the server", "spec.template.spec.containers[web].resources: filled in by the server", "spec.template.spec.dnsPolicy: filled in by the server"},
	}, {
		name: "addresses of a Service that another client has created", kind: "v1 Service", by: Manager{Name: "kubectl-expose", Operation: "Update"}, installed: `{spec: {ports: [{port: 80}]}}`,
		live:    `{spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], sessionAffinity: ClientIP, ports: [{port: 80, protocol: TCP, targetPort: 80, nodePort: 30080}]}}`,
		theirs:  `{spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], sessionAffinity: ClientIP, ports: [{port: 80, protocol: TCP, targetPort: 80, nodePort: 30080}]}}`,
		want:    []string{"added spec.ports[80/TCP].nodePort (kubectl-expose)", "added spec.sessionAffinity (kubectl-expose)"},
		allowed: []string{"spec.clusterIP: filled in by the server", "spec.clusterIPs: filled in by the server", "spec.ports[80/TCP].protocol: filled in by the server", "spec.ports[80/TCP].targetPort: filled in by the server"},
	}, {
		name: "scaled by a person", kind: deployment, by: scale, installed: `{spec: {replicas: 3}}`,
		live: `{spec: {replicas: 5}}`, theirs: `{spec: {replicas: 5}}`, want: []string{"changed spec.replicas (kubectl (scale))"},
	}, {
		name: "scaled by an autoscaler", kind: deployment, by: hpa, installed: `{spec: {replicas: 3}}`,
		live: `{spec: {replicas: 5}}`, theirs: `{spec: {replicas: 5}}`,
		allowed: []string{"spec.replicas: scaled by a horizontal autoscaler"},
	}, {
		name: "scaled by KEDA", kind: deployment, by: keda, installed: `{spec: {replicas: 3}}`,
		live: `{spec: {replicas: 0}}`, theirs: `{spec: {replicas: 0}}`, allowed: []string{"spec.replicas: scaled by KEDA"},
	}, {
		name: "a zero of the manifest that a person has raised", kind: deployment, by: edit,
		installed: `{spec: {minReadySeconds: 0}}`, live: `{spec: {minReadySeconds: 30}}`, theirs: `{spec: {minReadySeconds: 30}}`,
		want: []string{"changed spec.minReadySeconds (kubectl-edit)"},
	}, {
		name: "what controllers add", kind: "v1 PersistentVolumeClaim", by: controller, installed: `{spec: {storageClassName: a}}`,
		live:    `{metadata: {annotations: {volume.kubernetes.io/x: "y"}, finalizers: [a/b]}, spec: {storageClassName: a, volumeName: pv}}`,
		theirs:  `{metadata: {annotations: {volume.kubernetes.io/x: "y"}}, spec: {volumeName: pv}}`,
		allowed: []string{"metadata.annotations[volume.kubernetes.io/x]: added by a controller of Kubernetes", "spec.volumeName: the volume that the claim is bound to"},
	}, {
		name: "what controllers change", kind: "v1 ConfigMap", by: controller, installed: `{data: {a: "1"}}`,
		live: `{data: {a: "2"}}`, theirs: `{data: {a: "2"}}`, want: []string{"changed data.a (kube-controller-manager)"},
	}, {
		name: "an injected certificate", kind: webhook, by: Manager{Name: "cainjector", Operation: "Update"},
		installed: `{webhooks: [{name: a.b.c, clientConfig: {caBundle: Cg==}}]}`, live: `{webhooks: [{name: a.b.c, clientConfig: {caBundle: LS0t}}]}`,
		theirs:  `{webhooks: [{name: a.b.c, clientConfig: {caBundle: LS0t}}]}`,
		allowed: []string{"webhooks[a.b.c].clientConfig.caBundle: an injected certificate"},
	}, {
		name: "another certificate than the release's", kind: webhook, by: edit,
		installed: `{webhooks: [{name: a.b.c, clientConfig: {caBundle: ` + strings.Repeat("LS0t", 40) + `}}]}`,
		live:      `{webhooks: [{name: a.b.c, clientConfig: {caBundle: LS0t}}]}`, theirs: `{webhooks: [{name: a.b.c, clientConfig: {caBundle: LS0t}}]}`,
		want: []string{"changed webhooks[a.b.c].clientConfig.caBundle (kubectl-edit)"},
	}, {
		name: "restarted", kind: deployment, by: Manager{Name: "kubectl-rollout", Operation: "Update"}, installed: web,
		live:    `{spec: {replicas: 3, template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}, spec: {containers: [{name: web, image: "a:1"}]}}}}`,
		theirs:  `{spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}`,
		allowed: []string{"spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]: restarted by kubectl-rollout"},
	}, {
		name: "kept by a person", kind: "v1 ConfigMap", by: label, installed: `{data: {a: "1"}}`,
		live:    `{metadata: {annotations: {helm.sh/resource-policy: keep}}, data: {a: "1"}}`,
		theirs:  `{metadata: {annotations: {helm.sh/resource-policy: keep}}}`,
		allowed: []string{"metadata.annotations[helm.sh/resource-policy]: protects the object from being deleted"},
	}, {
		name: "the chart yields a field", kind: deployment, by: edit,
		installed: `{metadata: {annotations: {helm.sh/field-ownership: "yield: [spec.replicas]"}}, spec: {replicas: 3}}`,
		live:      `{metadata: {annotations: {helm.sh/field-ownership: "yield: [spec.replicas]"}}, spec: {replicas: 5}}`,
		theirs:    `{spec: {replicas: 5}}`, allowed: []string{"spec.replicas: annotation helm.sh/field-ownership"},
	}, {
		name: "removed, and Helm's entry has the map only", kind: "v1 ConfigMap", by: helm, installed: `{data: {a: "1"}}`,
		live: `{data: {}}`, theirs: `{data: {}}`, want: []string{"missing data.a ()"},
	}, {
		name: "removed on admission", kind: "v1 ConfigMap", by: helm, installed: `{data: {a: "1"}}`,
		live: `{data: {}}`, theirs: `{data: {a: "1"}}`,
		allowed: []string{"data.a: set by the server when the release was applied"},
	}, {
		name: "reordered", kind: "v1 Pod", by: helm, installed: `{spec: {containers: [{name: a}, {name: b}]}}`,
		live: `{spec: {containers: [{name: b}, {name: a}]}}`, theirs: `{spec: {containers: [{name: a}, {name: b}]}}`,
		want: []string{"changed spec.containers (order) ()"},
	}, {
		name: "annotated live", kind: "v1 ConfigMap", by: edit, installed: `{data: {a: "1", b: "1"}}`,
		live:    `{metadata: {annotations: {helm.sh/ignore-drift: "data.a, data.c"}}, data: {a: "2", b: "2"}}`,
		theirs:  `{metadata: {annotations: {helm.sh/ignore-drift: "data.a, data.c"}}, data: {a: "2", b: "2"}}`,
		want:    []string{"changed data.b (kubectl-edit)"},
		allowed: []string{"data.a: annotation helm.sh/ignore-drift", "metadata.annotations[helm.sh/ignore-drift]: annotation helm.sh/ignore-drift"},
	}, {
		name: "ignored by path and by manager", kind: "v1 ConfigMap", by: edit, installed: `{data: {a: "1", b: "1"}}`,
		live: `{data: {a: "2", b: "2"}}`, theirs: `{data: {a: "2", b: "2"}}`, ignore: []string{"ConfigMap/w*:data.a", "manager=kubectl-ed*"},
		allowed: []string{"data.a: ignored by ConfigMap/w*:data.a", "data.b: ignored by manager=kubectl-ed*"},
	}, {
		name: "a key of an atomic map", kind: deployment, by: edit, installed: `{spec: {template: {spec: {nodeSelector: {a: b}}}}}`,
		live: `{spec: {template: {spec: {nodeSelector: {a: b, c: d}}}}}`, theirs: `{spec: {template: {spec: {nodeSelector: {a: b, c: d}}}}}`,
		want: []string{"added spec.template.spec.nodeSelector.c (kubectl-edit)"},
	}}
}

// driftItem returns the item of a case.
func driftItem(t *testing.T, tc driftCase) Item {
	t.Helper()
	item := newItem(t, tc.kind, tc.live, tc.installed, tc.installed)
	if tc.theirs != "" {
		item.Live = withManager(t, item.Live, tc.by, newItem(t, tc.kind, tc.theirs, "").Live)
	}
	return item
}

func driftOptions(t *testing.T, tc driftCase) DriftOptions {
	t.Helper()
	var o DriftOptions
	for _, text := range tc.ignore {
		rule, err := ParseIgnoreRule(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Ignore = append(o.Ignore, rule)
	}
	return o
}

func TestFindDrift(t *testing.T) {
	for _, tc := range driftCases() {
		t.Run(tc.name, func(t *testing.T) {
			d := FindDrift(driftItem(t, tc), driftOptions(t, tc))
			var drift, allowed []string
			for _, f := range d.Fields {
				if f.Allowed != "" {
					allowed = append(allowed, f.Path+": "+f.Allowed)
					continue
				}
				by := f.Manager.Name
				if by != "" {
					by = f.Manager.String()
				}
				drift = append(drift, fmt.Sprintf("%s %s (%s)", f.Kind, f.Path, by))
			}
			if !reflect.DeepEqual(drift, tc.want) {
				t.Errorf("drift is\n%s\nwant\n%s", strings.Join(drift, "\n"), strings.Join(tc.want, "\n"))
			}
			if !reflect.DeepEqual(allowed, tc.allowed) {
				t.Errorf("allowed is\n%s\nwant\n%s", strings.Join(allowed, "\n"), strings.Join(tc.allowed, "\n"))
			}
			if d.Drifted() != (len(tc.want) > 0) {
				t.Errorf("Drifted is %v", d.Drifted())
			}
		})
	}
}

// After a repair there is no drift, and what was allowed to differ still does.
func TestRestore(t *testing.T) {
	for _, tc := range driftCases() {
		t.Run(tc.name, func(t *testing.T) {
			item, o := driftItem(t, tc), driftOptions(t, tc)
			before := FindDrift(item, o)
			restored, ok := Restore(item, before)
			if ok != before.Drifted() {
				t.Fatalf("ok is %v", ok)
			}
			if !ok {
				return
			}
			step := computeOne(t, restored, Options{})
			if step.Action != Update || len(step.Patch) == 0 {
				t.Fatalf("action is %s, patch %s", step.Action, step.Patch)
			}
			item.Live = step.After
			after := FindDrift(item, o)
			if after.Drifted() {
				t.Errorf("after the patch %s it still differs in %+v", step.Patch, after.Drift())
			}
			if got, want := len(after.Fields), len(before.Fields)-len(before.Drift()); got != want {
				t.Errorf("%d fields are allowed to differ, want %d", got, want)
			}
			if onServer := computeOne(t, restored, Options{ServerSide: true, Conflicts: Take}); onServer.Type != ServerApply {
				t.Errorf("server-side: %s %s", onServer.Action, onServer.Type)
			}
		})
	}
}

func TestFindDriftCustomResource(t *testing.T) {
	installed := `{spec: {items: [a], size: 1}}`
	item := newItem(t, "example.com/v1 Shop", `{metadata: {managedFields: [{manager: k9s, operation: Update, apiVersion: example.com/v1,
		fieldsV1: {"f:spec": {"f:items": {}, "f:more": {".": {}, "f:x": {}}}}}]},
		spec: {items: [a, b], size: 1, more: {x: 1}, defaulted: 1}}`, installed, installed)
	d := FindDrift(item, DriftOptions{})
	var got []string
	for _, f := range d.Fields {
		got = append(got, fmt.Sprintf("%s %s (%s)", f.Kind, f.Path, f.Manager.Name))
	}
	if want := []string{"changed spec.items (k9s)", "added spec.more (k9s)"}; !reflect.DeepEqual(got, want) {
		t.Errorf("drift is %q, want %q", got, want)
	}
	restored, _ := Restore(item, d)
	if s := computeOne(t, restored, Options{}); string(s.Patch) != `{"spec":{"items":["a"],"more":null}}` || s.Type != JSONMerge {
		t.Errorf("%s patch is %s", s.Type, s.Patch)
	}
}

func TestFindDriftMissing(t *testing.T) {
	for _, tc := range []struct {
		name, kind, installed, ignore, want string
	}{
		{name: "an object", kind: "v1 ConfigMap", installed: `{data: {a: b}}`},
		{name: "ignored", kind: "v1 ConfigMap", installed: `{}`, ignore: "ConfigMap/web", want: "ignored by ConfigMap/web"},
		{name: "a path ignores no object", kind: "v1 ConfigMap", installed: `{}`, ignore: "ConfigMap/web:data"},
		{name: "annotated", kind: "v1 ConfigMap", installed: `{metadata: {annotations: {helm.sh/ignore-drift: "true"}}}`, want: "annotation helm.sh/ignore-drift"},
		{name: "a finished Job", kind: "batch/v1 Job", installed: `{spec: {ttlSecondsAfterFinished: 5}}`,
			want: "a finished Job is deleted after its ttlSecondsAfterFinished"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, tc.kind, "", tc.installed, tc.installed)
			var o DriftOptions
			if tc.ignore != "" {
				o = driftOptions(t, driftCase{ignore: []string{tc.ignore}})
			}
			d := FindDrift(item, o)
			if !d.Missing || d.Allowed != tc.want || d.Drifted() != (tc.want == "") {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestParseIgnoreRule(t *testing.T) {
	for _, good := range []string{"spec.replicas", "/spec/replicas", "Deployment", "Deployment/web", "*/web-*", "manager=a*",
		"Deployment/web:spec.template.spec.containers[web].image", "*:metadata.labels"} {
		if r, err := ParseIgnoreRule(good); err != nil || r.String() != good {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "Deployment/", "Deployment:", "spec..replicas", "manager=", "[a/b", "/spec//x", "Deployment/[", "manager=["} {
		var e *IgnoreRuleError
		if _, err := ParseIgnoreRule(bad); !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestUnusedRules(t *testing.T) {
	field := func(path, manager, allowed string) DriftedField {
		var steps []pathStep
		for name := range strings.SplitSeq(path, ".") {
			steps = append(steps, keyStep(name))
		}
		return DriftedField{Difference: Difference{Path: path, steps: steps}, Manager: Manager{Name: manager}, Allowed: allowed}
	}
	objects := []ObjectDrift{
		{Ref: Ref{Kind: "Deployment", Name: "web"}, Fields: []DriftedField{
			field("spec.replicas", "kubectl-edit", ""), field("spec.paused", "ops", "ignored by spec.paused")}},
		{Ref: Ref{Kind: "ConfigMap", Name: "settings"}},
	}
	for _, tc := range []struct{ rule, want string }{
		{"spec.replicas", "-"},
		{"spec.paused", "-"},
		{"spec.minReadySeconds", "-"}, // has not drifted
		{"spec.replica", "[spec.replicas]"},
		{"/spec/replicsa", "[spec.replicas]"},
		{"Deployment/web:spec.replics", "[spec.replicas]"},
		{"ConfigMap:spec.replics", "-"},
		{"manager=kubectl-edti", "[kubectl-edit]"},
		{"manager=kubectl-edit", "-"},
		{"manager=argocd", "-"},
		{"Deploymnt", "[Deployment]"},
		{"ConfigMap/setings", "[ConfigMap/settings]"},
		{"*/s*", "-"},
		{"Secret", "[]"},
		{"ConfigMap/web:data", "[]"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			rule, err := ParseIgnoreRule(tc.rule)
			if err != nil {
				t.Fatal(err)
			}
			got := "-"
			for _, u := range UnusedRules([]IgnoreRule{rule}, objects) {
				got = fmt.Sprint(u.Near)
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if none := UnusedRules([]IgnoreRule{rule}, nil); none != nil {
				t.Errorf("without objects got %v, want none", none)
			}
		})
	}
}

func FuzzParseIgnoreRule(f *testing.F) {
	for _, text := range []string{"spec.replicas", "/spec/a~1b", "Deployment/web:spec[x]", "manager=kubectl-*", "*/*:a"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		rule, err := ParseIgnoreRule(text)
		if err != nil {
			return
		}
		rule.matches(Ref{Kind: "Deployment", Name: "web"}, []pathStep{keyStep("spec"), keyStep("replicas")}, Manager{Name: "a"})
	})
}
