// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// withManager returns live with a managedFields entry of another manager for fields.
func withManager(t testing.TB, live map[string]any, by Manager, fields map[string]any) map[string]any {
	t.Helper()
	live = withManagedFields(t, live, by.Name, by.Operation, fields)
	managers := metadata(live)["managedFields"].([]any)
	e := managers[len(managers)-1].(map[string]any)
	e["subresource"], e["time"] = by.Subresource, by.Time
	if by.APIVersion != "" {
		e["apiVersion"] = by.APIVersion
	}
	return live
}

const podTemplate = `template: {spec: {containers: [{name: web, image: "a:1", env: [{name: LEVEL, value: info}], resources: {limits: {cpu: "1"}}}]}}`

func TestConflicts(t *testing.T) {
	edit, scale := Manager{Name: "kubectl-edit", Operation: "Update"}, Manager{Name: "kubectl", Operation: "Update", Subresource: "scale"}
	hpa := Manager{Name: "kube-controller-manager", Operation: "Update", Subresource: "scale"}
	for _, tc := range []struct {
		name    string
		kind    string
		by      Manager
		theirs  string // the fields of the other manager
		live    string
		want    string
		policy  Resolution
		scaled  bool     // by an autoscaler of the cluster
		refused []string // fields that the server has rejected
		found   []string // path, resolution
		applied string   // the object that is sent, or ""
	}{
		{
			name: "another value", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5, paused: true}}`, want: `{spec: {replicas: 3, paused: true}}`,
			found: []string{"spec.replicas fail"}, applied: `{spec: {replicas: 3, paused: true}}`,
		}, {
			name: "the same value", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 3}}`, live: `{spec: {replicas: 3}}`, want: `{spec: {replicas: 3}}`,
			applied: `{spec: {replicas: 3}}`,
		}, {
			name: "yielded", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, want: `{spec: {replicas: 3, paused: true}}`, policy: Yield,
			found: []string{"spec.replicas yield"}, applied: `{metadata: {uid: u}, spec: {paused: true}}`,
		}, {
			name: "other field of a union", kind: "policy/v1 PodDisruptionBudget", by: edit, theirs: `{spec: {maxUnavailable: 1}}`, live: `{spec: {maxUnavailable: 1}}`, want: `{spec: {minAvailable: 2}}`,
			found: []string{"spec.maxUnavailable take"}, applied: `{spec: {minAvailable: 2}}`,
		}, {
			name: "other field of a union, yielded", kind: "policy/v1 PodDisruptionBudget", by: edit, theirs: `{spec: {maxUnavailable: 1}}`, live: `{spec: {maxUnavailable: 1}}`, want: `{spec: {minAvailable: 2}}`, policy: Yield,
			found: []string{"spec.maxUnavailable yield"}, applied: `{metadata: {uid: u}}`,
		}, {
			name: "map that becomes empty", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, want: `{spec: {replicas: 3}}`, policy: Yield,
			found: []string{"spec.replicas yield"}, applied: `{metadata: {uid: u}}`,
		}, {
			name: "taken", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, want: `{spec: {replicas: 3}}`, policy: Take,
			found: []string{"spec.replicas take"}, applied: `{spec: {replicas: 3}}`,
		}, {
			name: "scaled by hand", kind: "apps/v1 Deployment", by: scale, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5, paused: true}}`, want: `{spec: {replicas: 3, paused: true}}`,
			found: []string{"spec.replicas yield"}, applied: `{metadata: {uid: u}, spec: {paused: true}}`,
		}, {
			name: "scaled by hand, taken", kind: "apps/v1 Deployment", by: scale, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, want: `{spec: {replicas: 3}}`, policy: Take,
			found: []string{"spec.replicas take"}, applied: `{spec: {replicas: 3}}`,
		}, {
			name: "scaled by a horizontal autoscaler, policy take", kind: "apps/v1 Deployment", by: hpa, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, want: `{spec: {replicas: 3, paused: true}}`, policy: Take,
			found: []string{"spec.replicas yield"}, applied: `{metadata: {uid: u}, spec: {paused: true}}`,
		}, {
			name: "edited target of an autoscaler", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, want: `{spec: {replicas: 3, paused: true}}`, scaled: true,
			found: []string{"spec.replicas yield"}, applied: `{metadata: {uid: u}, spec: {paused: true}}`,
		}, {
			name: "a vertical autoscaler", kind: "apps/v1 Deployment", by: Manager{Name: "vpa-updater", Operation: "Update"},
			theirs: `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: "2"}}}]}}}}`, live: `{spec: {template: {spec: {containers: [{name: web, image: "a:1", resources: {limits: {cpu: "2"}}}]}}}}`,
			want:  `{spec: {` + podTemplate + `}}`,
			found: []string{"spec.template.spec.containers[web].resources.limits.cpu yield"}, applied: `{metadata: {uid: u}, spec: {template: {spec: {containers: [{name: web, image: "a:1", env: [{name: LEVEL, value: info}]}]}}}}`,
		}, {
			name: "a vertical autoscaler that sets more than resources", kind: "apps/v1 Deployment", by: Manager{Name: "vpa-updater", Operation: "Update"},
			theirs: `{spec: {template: {spec: {containers: [{name: web, image: "b"}]}}}}`, live: `{spec: {template: {spec: {containers: [{name: web, image: "b"}]}}}}`,
			want:  `{spec: {template: {spec: {containers: [{name: web, image: "a"}]}}}}`,
			found: []string{"spec.template.spec.containers[web].image fail"}, applied: `{spec: {template: {spec: {containers: [{name: web, image: "a"}]}}}}`,
		}, {
			name: "variable, whose item keeps its name", kind: "apps/v1 Deployment", by: Manager{Name: "kubectl-set", Operation: "Update"}, policy: Yield,
			theirs: `{spec: {template: {spec: {containers: [{name: web, env: [{name: LEVEL, value: debug}, {name: MORE, value: x}]}]}}}}`,
			live:   `{spec: {template: {spec: {containers: [{name: web, env: [{name: LEVEL, value: debug}, {name: MORE, value: x}]}]}}}}`,
			want:   `{spec: {template: {spec: {containers: [{name: web, env: [{name: LEVEL, value: info}]}]}}}}`,
			found:  []string{"spec.template.spec.containers[web].env[LEVEL].value yield"}, applied: `{metadata: {uid: u}, spec: {template: {spec: {containers: [{name: web, env: [{name: LEVEL}]}]}}}}`,
		}, {
			name: "atomic selector", kind: "v1 Service", by: edit, theirs: `{spec: {selector: {app: web, track: x}}}`, live: `{spec: {selector: {app: web, track: x}}}`, want: `{spec: {type: ClusterIP, selector: {app: web}}}`, policy: Yield,
			found: []string{"spec.selector yield"}, applied: `{metadata: {uid: u}, spec: {type: ClusterIP}}`,
		}, {
			name: "port with two keys", kind: "v1 Service", by: edit, theirs: `{spec: {ports: [{port: 53, protocol: UDP, targetPort: 99}]}}`, live: `{spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, targetPort: 99}]}}`,
			want:  `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP, targetPort: 53}]}}`,
			found: []string{"spec.ports[53/UDP].targetPort fail"}, applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP, targetPort: 53}]}}`,
		}, {
			name: "finalizer of both managers", kind: "v1 ConfigMap", by: edit, theirs: `{metadata: {finalizers: [a/b]}}`, live: `{metadata: {finalizers: [a/b, c/d]}}`, want: `{metadata: {finalizers: [a/b]}}`,
			applied: `{metadata: {finalizers: [a/b]}}`,
		}, {
			name: "annotation with a list", kind: "apps/v1 Deployment", by: edit, theirs: `{spec: {replicas: 5, paused: true}}`, live: `{spec: {replicas: 5, paused: true}}`,
			want:  `{metadata: {annotations: {helm.sh/field-ownership: "yield: [spec.replicas]"}}, spec: {replicas: 3, paused: false}}`,
			found: []string{"spec.paused fail", "spec.replicas yield"}, applied: `{metadata: {uid: u, annotations: {helm.sh/field-ownership: "yield: [spec.replicas]"}}, spec: {paused: false}}`,
		}, {
			name: "annotation has precedence over policy and autoscaler", kind: "apps/v1 Deployment", by: hpa, theirs: `{spec: {replicas: 5}}`, live: `{spec: {replicas: 5}}`, policy: Yield,
			want:  `{metadata: {annotations: {helm.sh/field-ownership: take}}, spec: {replicas: 3}}`,
			found: []string{"spec.replicas take"}, applied: `{metadata: {resourceVersion: "7", annotations: {helm.sh/field-ownership: take}}, spec: {replicas: 3}}`,
		}, {
			name: "the longest path decides", kind: "v1 ConfigMap", by: edit, theirs: `{data: {a: x, b.c: x}}`, live: `{data: {a: x, b.c: x}}`,
			want:  `{metadata: {annotations: {helm.sh/field-ownership: "{yield: [data], fail: ['data[b.c]']}"}}, data: {a: z, b.c: z}}`,
			found: []string{"data.a yield", "data[b.c] fail"}, applied: `{metadata: {uid: u, annotations: {helm.sh/field-ownership: "{yield: [data], fail: ['data[b.c]']}"}}, data: {b.c: z}}`,
		}, {
			name: "kubectl's client-side apply migrates", kind: "v1 ConfigMap", by: Manager{Name: "kubectl-client-side-apply", Operation: "Update"}, theirs: `{data: {a: x}}`, live: `{data: {a: x}}`, want: `{data: {a: z}}`,
			applied: `{data: {a: z}}`,
		}, {
			name: "other API version", kind: "v1 ConfigMap", by: Manager{Name: "kubectl-edit", Operation: "Update", APIVersion: "v0"}, theirs: `{data: {a: x}}`, live: `{data: {a: x}}`, want: `{data: {a: z}}`, policy: Yield,
			applied: `{data: {a: z}}`,
		}, {
			name: "other API version, rejected by the server", kind: "v1 ConfigMap", by: Manager{Name: "kubectl-edit", Operation: "Update", APIVersion: "v0"}, theirs: `{data: {a: x}}`, live: `{data: {a: x}}`, want: `{data: {a: z}}`, policy: Yield, refused: []string{".data.a"},
			found: []string{"data.a yield"}, applied: `{metadata: {uid: u}}`,
		}, {
			name: "status is ignored", kind: "apps/v1 Deployment", by: Manager{Name: "x", Operation: "Update", Subresource: "status"}, theirs: `{status: {replicas: 1}}`, live: `{status: {replicas: 1}}`, want: `{status: {replicas: 2}}`,
			applied: `{status: {replicas: 2}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, tc.kind, tc.live, tc.want)
			metadata(item.Live)["uid"], metadata(item.Live)["resourceVersion"] = "u", "7"
			item.Live = withManager(t, item.Live, tc.by, newItem(t, tc.kind, tc.theirs, "").Live)
			o := Options{ServerSide: true, Conflicts: tc.policy, RejectedFields: map[string]bool{}}
			for _, path := range tc.refused {
				o.RejectedFields[path] = true
			}
			if tc.scaled {
				o.Autoscaled = Autoscaled{}
				o.Autoscaled.Add(parseObject(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1beta1, kind: Deployment, name: web}}}`), "shop")
			}
			s := computeOne(t, item, o)
			var found []string
			for _, c := range s.Conflicts {
				found = append(found, fmt.Sprint(c.Path, " ", c.Resolution))
				if c.Manager.Name != tc.by.Name {
					t.Errorf("%s is set by %s, want %s", c.Path, c.Manager, tc.by)
				}
			}
			if !slices.Equal(found, tc.found) {
				t.Errorf("found %q, want %q", found, tc.found)
			}
			var got map[string]any
			if s.Action == Update {
				if err := json.Unmarshal(s.Patch, &got); err != nil {
					t.Fatal(err)
				}
			}
			if want := canonicalJSON(t, newItem(t, tc.kind, "", tc.applied).New); !reflect.DeepEqual(canonicalJSON(t, got), want) {
				t.Errorf("it applies\n%s, want\n%s", marshal(t, got), marshal(t, want))
			}
		})
	}
}

// Yielded fields stay yielded, and the second step is Unchanged.
func TestYieldedFieldUnchanged(t *testing.T) {
	item := newItem(t, "apps/v1 Deployment", `{spec: {replicas: 5, paused: true}}`, `{spec: {replicas: 3, paused: true}}`)
	hpa := Manager{Name: "kube-controller-manager", Operation: "Update", Subresource: "scale"}
	item.Live = withManager(t, item.Live, hpa, newItem(t, "apps/v1 Deployment", `{spec: {replicas: 5}}`, "").Live)
	item.Live = withManager(t, item.Live, Manager{Name: "helm", Operation: "Apply"}, newItem(t, "apps/v1 Deployment", `{spec: {paused: true}}`, "").Live)
	s := computeOne(t, item, Options{ServerSide: true})
	if s.Action != Unchanged || len(s.Conflicts) != 1 {
		t.Errorf("the action is %s with %d conflicts, want unchanged with 1", s.Action, len(s.Conflicts))
	}
	item.New = newItem(t, "apps/v1 Deployment", "", `{spec: {replicas: 3, paused: false}}`).New
	if s = computeOne(t, item, Options{ServerSide: true}); s.Action != Update || replicasAndPaused(s.After) != "5 false" {
		t.Errorf("the action is %s, and it becomes %v, want an update of paused only", s.Action, replicasAndPaused(s.After))
	}
}

func replicasAndPaused(o map[string]any) string {
	spec := o["spec"].(map[string]any)
	return fmt.Sprint(spec["replicas"], " ", spec["paused"])
}

func TestAutoscalerInRelease(t *testing.T) {
	item := newItem(t, "apps/v1 Deployment", `{spec: {replicas: 5}}`, `{spec: {replicas: 3}}`)
	item.Live = withManager(t, item.Live, Manager{Name: "kubectl-edit", Operation: "Update"}, item.Live)
	hpa := newItem(t, "autoscaling/v2 HorizontalPodAutoscaler", "", `{spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`)
	for _, tc := range []struct {
		name      string
		namespace string
		want      Resolution
	}{{"of its namespace", "shop", Yield}, {"of another namespace", "other", Fail}} {
		t.Run(tc.name, func(t *testing.T) {
			hpa.Namespace = tc.namespace
			p, err := Compute([]Item{item, hpa}, Options{ServerSide: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Steps[0].Conflicts[0]; got.Resolution != tc.want {
				t.Errorf("the resolution is %s (%s), want %s", got.Resolution, got.Reason, tc.want)
			}
		})
	}
}

// An autoscaler that the upgrade deletes, or that gets another target, does not count.
func TestAutoscalerDeleted(t *testing.T) {
	const scaler = "autoscaling/v2 HorizontalPodAutoscaler"
	const onWeb = `{spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`
	item := newItem(t, "apps/v1 Deployment", `{spec: {replicas: 5}}`, `{spec: {replicas: 3}}`)
	item.Live = withManager(t, item.Live, Manager{Name: "kubectl-edit", Operation: "Update"}, item.Live)
	for _, tc := range []struct {
		name string
		hpa  Item
		want Resolution
	}{
		{"it is deleted", newItem(t, scaler, onWeb, "", onWeb), Fail},
		{"it is kept", newItem(t, scaler, onWeb, "", `{metadata: {annotations: {helm.sh/resource-policy: keep}}}`), Yield},
		{"it has another target", newItem(t, scaler, onWeb, `{spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: b}}}`, onWeb), Fail},
		{"it stays", newItem(t, scaler, onWeb, onWeb, onWeb), Yield},
	} {
		t.Run(tc.name, func(t *testing.T) {
			there := Autoscaled{}
			there.Add(tc.hpa.Live, "shop")
			p, err := Compute([]Item{item, tc.hpa}, Options{ServerSide: true, Autoscaled: there, AutoscalerNamespaces: []string{"shop"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Steps[0].Conflicts[0]; got.Resolution != tc.want {
				t.Errorf("the resolution is %s (%s), want %s", got.Resolution, got.Reason, tc.want)
			}
		})
	}
}

// With Take, a deleted autoscaler does not keep replicas.
func TestTakeFromDeletedAutoscaler(t *testing.T) {
	item := newItem(t, "apps/v1 Deployment", `{spec: {replicas: 5}}`, `{spec: {replicas: 3}}`)
	item.Live = withManager(t, item.Live, Manager{Name: "kube-controller-manager", Operation: "Update", Subresource: "scale"}, item.Live)
	for _, tc := range []struct {
		name     string
		policy   Resolution
		searched []string
		want     Resolution
		search   int // number of namespaces to search
	}{
		{"it is not known whether there is one", Take, nil, Yield, 1},
		{"it is not known of this namespace", Take, []string{"other"}, Yield, 1},
		{"there is none", Take, []string{"shop"}, Take, 0},
		{"no one takes", Fail, []string{"shop"}, Yield, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Compute([]Item{item}, Options{ServerSide: true, Conflicts: tc.policy, Autoscaled: Autoscaled{}, AutoscalerNamespaces: tc.searched})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Steps[0].Conflicts[0]; got.Resolution != tc.want {
				t.Errorf("the resolution is %s (%s), want %s", got.Resolution, got.Reason, tc.want)
			}
			if got := p.SearchAutoscalers(); len(got) != tc.search {
				t.Errorf("SearchAutoscalers() = %q, want %d namespaces", got, tc.search)
			}
		})
	}
}

func TestMigratedFields(t *testing.T) {
	const theirs = `{metadata: {labels: {a: x, theirs: x}, annotations: {note: x}}, spec: {replicas: 5, template: {spec: {containers: [{name: web, image: a, tty: true}, {name: side, image: b}]}}}}`
	item := newItem(t, "apps/v1 Deployment", theirs, `{metadata: {labels: {a: y}}, spec: {template: {spec: {containers: [{name: web, image: z}]}}}}`, `{spec: {replicas: 3}}`)
	fields := roundTrip(t, withManager(t, item.Live, Manager{}, item.Live)).(map[string]any)
	owned := metadata(fields)["managedFields"].([]any)[0].(map[string]any)["fieldsV1"].(map[string]any)
	set := func(m map[string]any) string {
		if m == nil {
			return ""
		}
		s := &fieldpath.Set{}
		if err := s.FromJSON(strings.NewReader(string(marshal(t, m)))); err != nil {
			t.Fatal(err)
		}
		var paths []string
		s.Leaves().Iterate(func(p fieldpath.Path) { paths = append(paths, p.String()) })
		slices.Sort(paths)
		return strings.Join(paths, " ")
	}
	taken, rest := MigratedFields(item, "apps/v1", owned)
	const container = `.spec.template.spec.containers`
	if got, want := set(taken), `.metadata.labels.a .spec.replicas `+container+`[name="web"].image `+container+`[name="web"].name`; got != want {
		t.Errorf("taken =\n%s, want\n%s", got, want)
	}
	if got, want := set(rest), `.metadata.annotations.note .metadata.labels.theirs `+container+`[name="side"].image `+container+`[name="side"].name `+container+`[name="web"].tty`; got != want {
		t.Errorf("rest =\n%s, want\n%s", got, want)
	}
	if taken, rest = MigratedFields(item, "apps/v1beta1", owned); taken != nil || rest != nil {
		t.Errorf("fields of another API version: taken = %v, want none", taken)
	}
	if again, _ := MigratedFields(item, "apps/v1", map[string]any{"f:status": map[string]any{}}); again != nil {
		t.Errorf("fields of status: taken = %v, want none", again)
	}
}

func TestIsHelm(t *testing.T) {
	for name, want := range map[string]bool{
		"helm": true, "Helm": true, "helm3": true, "helm_v3": true, "helm-v3.22.0": true, "helm.exe": true, "helm4": true,
		"helm-controller": false, "helmfile": false, "kubectl": false, "": false,
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsHelm(name); got != want {
				t.Errorf("IsHelm(%q) = %t, want %t", name, got, want)
			}
		})
	}
}

// serverConflicts returns the fields for which structured-merge-diff rejects an apply of want,
// after another manager has set theirs.
func serverConflicts(t testing.TB, live, want map[string]any, theirs *fieldpath.Set) []string {
	t.Helper()
	merged, err := typedOf(t, live).Merge(typedOf(t, want))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := typedOf(t, live).Compare(merged)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{}
	theirs.Intersection(changes.Modified.Union(changes.Added)).Iterate(func(p fieldpath.Path) { paths = append(paths, p.String()) })
	slices.Sort(paths)
	return paths
}

// checkConflicts compares the conflicts of a random object with structured-merge-diff's,
// except for values that are equal for the API, and checks that yielded fields are no
// conflicts any more. It returns the number of conflicts.
func checkConflicts(t testing.TB, seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 5))
	k := referenceKinds[r.IntN(len(referenceKinds)-1)] // the last is a custom resource
	head := func(v any) map[string]any {
		m := maps.Clone(v.(map[string]any))
		m["apiVersion"], m["kind"] = k.apiVersion, k.kind
		md, _ := m["metadata"].(map[string]any)
		if md = maps.Clone(md); md == nil {
			md = map[string]any{}
		}
		md["name"], m["metadata"] = "web", md
		return withoutEmpty(roundTrip(t, m)).(map[string]any)
	}
	first := k.spec.generate(r)
	live, theirs := head(first), head(k.spec.change(r, first))
	want := head(k.spec.change(r, k.spec.change(r, first)))
	if merged, err := typedOf(t, live).Merge(typedOf(t, theirs)); err == nil {
		live = merged.AsValue().Unstructured().(map[string]any)
	}
	item := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, New: want}
	item.Live = withManager(t, live, Manager{Name: "other", Operation: "Update"}, theirs)
	item.Live = withManager(t, item.Live, Manager{Name: "helm", Operation: "Apply"}, live)
	was := string(marshal(t, item))
	s := computeOne(t, item, Options{ServerSide: true, Conflicts: Yield})
	if string(marshal(t, item)) != was {
		t.Fatalf("seed %d: Compute changed its input", seed)
	}
	if s.Action != Update {
		return 0
	}
	var sent map[string]any
	if err := json.Unmarshal(s.Patch, &sent); err != nil {
		t.Fatal(err)
	}
	set := fieldsOf(t, theirs)
	server := serverConflicts(t, live, mergerOf(item).cleanForApply(normalize(want)), set)
	for _, c := range s.Conflicts {
		if c.Chart == nil {
			continue // the server does not report excluded fields
		}
		if !slices.Contains(server, c.Field) {
			t.Fatalf("seed %d: %s is not a conflict for the server, which has %q\nlive %s\nwant %s\ntheirs %s", seed, c.Field, server, marshal(t, live), marshal(t, want), marshal(t, theirs))
		}
	}
	left := serverConflicts(t, live, sent, set)
	for _, field := range server {
		found := slices.ContainsFunc(s.Conflicts, func(c Conflict) bool { return c.Field == field })
		if found == slices.Contains(left, field) {
			t.Fatalf("seed %d: %s is found: %t, and left are %q\nlive %s\nwant %s\nsent %s\ntheirs %s", seed, field, found, left, marshal(t, live), marshal(t, want), s.Patch, marshal(t, theirs))
		}
		if found {
			continue
		}
		// With the server's report it is a conflict too.
		again := computeOne(t, item, Options{ServerSide: true, Conflicts: Yield, RejectedFields: map[string]bool{field: true}})
		if !slices.ContainsFunc(again.Conflicts, func(c Conflict) bool { return c.Field == field }) {
			t.Fatalf("seed %d: %s is rejected by the server, and not found", seed, field)
		}
	}
	return len(s.Conflicts)
}

func TestConflictsReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	found := 0
	for seed := range uint64(1500) {
		found += checkConflicts(t, seed)
	}
	if found < 500 {
		t.Errorf("only %d conflicts in 1500 objects", found)
	}
}

func FuzzConflicts(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkConflicts(t, seed) })
}

// A conflict that only the server has reported has no values.
func TestConflictWithoutValues(t *testing.T) {
	c := Conflict{Path: "data.a", Manager: Manager{Name: "kubectl-edit"}}
	if got, want := c.Sentence(), "data.a is set by kubectl-edit to another value than the chart's"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
