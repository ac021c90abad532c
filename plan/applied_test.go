// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldsOf are the fields of an object as managedFields has them, without those
// that the server leaves out there.
func fieldsOf(t testing.TB, o map[string]any) *fieldpath.Set {
	t.Helper()
	set, err := typedOf(t, o).ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	return set.Difference(fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
		fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"),
	))
}

// appliedBy is live with an entry that says that a manager has set the fields of
// an object.
func appliedBy(t testing.TB, live map[string]any, manager, operation string, o map[string]any) map[string]any {
	t.Helper()
	text, err := fieldsOf(t, o).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	live = maps.Clone(live)
	meta := maps.Clone(metadata(live))
	entries, _ := meta["managedFields"].([]any)
	meta["managedFields"] = append(slices.Clone(entries), map[string]any{
		"manager": manager, "operation": operation, "apiVersion": o["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields,
	})
	live["metadata"] = meta
	return live
}

func TestServerSideApplyIsLeftOutWhereItWouldChangeNothing(t *testing.T) {
	for _, tc := range []struct {
		name          string
		kind          string
		applied       string // what the release has applied
		live, want    string
		action        Action
		operation, by string // of the entry; Apply and helm where empty
	}{
		{name: "the same", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b}}`, want: `{data: {a: b}}`, action: Unchanged},
		{name: "others' fields do not matter", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b, c: d}}`, want: `{data: {a: b}}`, action: Unchanged},
		{name: "a changed value", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: x}}`, want: `{data: {a: b}}`, action: Update},
		{name: "a field that another client has taken, and set to the same", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b, c: d}}`, want: `{data: {a: b, c: d}}`, action: Update},
		{name: "a field that the chart drops", kind: "v1 ConfigMap", applied: `{data: {a: b, c: d}}`, live: `{data: {a: b, c: d}}`, want: `{data: {a: b}}`, action: Update},
		{name: "the last field that the chart drops", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b}}`, want: `{}`, action: Update},
		{name: "applied by another", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, by: "kubectl", live: `{data: {a: b}}`, want: `{data: {a: b}}`, action: Update},
		{name: "written by a client-side release", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, operation: "Update", live: `{data: {a: b}}`, want: `{data: {a: b}}`, action: Update},
		{name: "a selector is one value", kind: "v1 Service", applied: `{spec: {selector: {a: b}}}`, live: `{spec: {selector: {a: b}, clusterIP: 10.0.0.1}}`, want: `{spec: {selector: {a: b}}}`, action: Unchanged},
		{name: "a foreign key in a selector", kind: "v1 Service", applied: `{spec: {selector: {a: b}}}`, live: `{spec: {selector: {a: b, c: d}}}`, want: `{spec: {selector: {a: b}}}`, action: Update},
		{name: "a foreign key in a node selector", kind: "v1 Pod", applied: `{spec: {nodeSelector: {a: b}}}`, live: `{spec: {nodeSelector: {a: b, c: d}}}`, want: `{spec: {nodeSelector: {a: b}}}`, action: Update},
		{name: "ports, whose protocol is the default", kind: "v1 Service", applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, live: `{spec: {ports: [{port: 53, protocol: TCP, targetPort: 53}, {port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}}`, want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, action: Unchanged},
		{name: "ports in another order", kind: "v1 Service", applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, live: `{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}}`, want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, action: Update},
		{name: "a port that is gone", kind: "v1 Service", applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, live: `{spec: {ports: [{port: 53, protocol: UDP}]}}`, want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, action: Update},
		{name: "items that are one value", kind: "v1 Pod", applied: `{spec: {imagePullSecrets: [{name: a}]}}`, live: `{spec: {imagePullSecrets: [{name: a}]}}`, want: `{spec: {imagePullSecrets: [{name: a}]}}`, action: Unchanged},
		{name: "lists without items", kind: "v1 Pod", applied: `{spec: {initContainers: [], tolerations: []}}`, live: `{spec: {initContainers: [{name: mesh}]}}`, want: `{spec: {initContainers: [], tolerations: []}}`, action: Unchanged},
		{name: "a list without items that is one value, and another client's", kind: "v1 Pod", applied: `{spec: {initContainers: []}}`, live: `{spec: {tolerations: [{key: a}]}}`, want: `{spec: {tolerations: []}}`, action: Update},
		{name: "finalizers", kind: "v1 ConfigMap", applied: `{metadata: {finalizers: [a/b]}}`, live: `{metadata: {finalizers: [c/d, a/b]}}`, want: `{metadata: {finalizers: [a/b]}}`, action: Unchanged},
		{name: "a null that is an empty text", kind: "v1 ConfigMap", applied: `{data: {a: ""}}`, live: `{data: {a: ""}}`, want: `{data: {a: null}}`, action: Unchanged},
		{name: "a Secret's text", kind: "v1 Secret", applied: `{data: {a: Yg==}}`, live: `{data: {a: Yg==}}`, want: `{stringData: {a: b}}`, action: Unchanged},
		{name: "a Secret's text, applied as such", kind: "v1 Secret", applied: `{stringData: {a: b}}`, live: `{data: {a: Yg==}}`, want: `{stringData: {a: b}}`, action: Update},
		{
			name: "quantities, defaults in lists that are one value, and what is left out where it is false", kind: "apps/v1 StatefulSet", action: Unchanged,
			applied: `{spec: {template: {spec: {hostNetwork: false, containers: [{name: a, resources: {limits: {cpu: 1000m}}}], volumes: [{name: v, emptyDir: {}}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce]}}]}}`,
			live:    `{spec: {template: {spec: {containers: [{name: a, image: x, resources: {limits: {cpu: "1"}}}], volumes: [{name: v, emptyDir: {}}]}}, volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d, creationTimestamp: null}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem}, status: {phase: Pending}}]}}`,
			want:    `{spec: {template: {spec: {hostNetwork: false, containers: [{name: a, resources: {limits: {cpu: 1000m}}}], volumes: [{name: v, emptyDir: {}}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce]}}]}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			it := item(t, tc.kind, tc.live, tc.want)
			by, operation := "helm", "Apply"
			if tc.by != "" {
				by = tc.by
			}
			if tc.operation != "" {
				operation = tc.operation
			}
			it.Live = appliedBy(t, it.Live, by, operation, item(t, tc.kind, tc.applied, "").Live)
			it.Old = []map[string]any{it.New}
			if s := one(t, it, Options{ServerSide: true}); s.Action != tc.action {
				t.Errorf("the action is %s, want %s", s.Action, tc.action)
			}
		})
	}
}

// An object is left out only where the server, by structured-merge-diff, would
// leave all as it is: its values, and who has set them.
func checkApplied(t testing.TB, seed uint64) (left bool) {
	r := rand.New(rand.NewPCG(seed, 3))
	k := keyedLists[r.IntN(len(keyedLists))]
	want := k.draw(t, r, nil)
	live, before := want, want
	if r.IntN(2) == 0 {
		live = k.draw(t, r, want)
	}
	if r.IntN(3) == 0 {
		before = k.draw(t, r, want)
	}
	it := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, New: k.object(want)}
	it.Live = appliedBy(t, k.object(live), "helm", "Apply", k.object(before))
	if one(t, it, Options{ServerSide: true}).Action != Unchanged {
		return false
	}
	merged, err := typedOf(t, k.object(live)).Merge(typedOf(t, it.New))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := typedOf(t, k.object(live)).Compare(merged)
	if err != nil {
		t.Fatal(err)
	}
	if had, has := fieldsOf(t, k.object(before)), fieldsOf(t, it.New); !changes.IsSame() || !had.Equals(has) {
		t.Fatalf("seed %d: apply would change %s, and the fields\n%s\nto\n%s\nof %s", seed, changes, had, has, bytesOf(t, it))
	}
	return true
}

func TestWhatIsLeftOutOfServerSideApplyWouldChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	left := 0
	for seed := range uint64(3000) {
		if checkApplied(t, seed) {
			left++
		}
	}
	if left < 500 {
		t.Errorf("only %d of 3000 are left out, and a third of them are applied already", left)
	}
}

func FuzzWhatIsLeftOutOfServerSideApplyWouldChangeNothing(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkApplied(t, seed) })
}

// managedFields may come from anyone.
func TestOddManagedFieldsAreNoPanic(t *testing.T) {
	it := item(t, "v1 Service", `{spec: {ports: [{port: 1, protocol: TCP}]}}`, `{spec: {ports: [{port: 1}]}}`)
	for _, fields := range []any{
		nil, "x", []any{}, map[string]any{}, map[string]any{"f:spec": nil}, map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{"k:": nil}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`k:{"port":[1]}`: map[string]any{}}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`v:{"port":1}`: map[string]any{}}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`k:null`: "x", "i:0": 1}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`k:{}`: map[string]any{"f:port": map[string]any{}}}}},
	} {
		for _, entry := range []any{nil, "x", map[string]any{"manager": 1}, map[string]any{"manager": "helm", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}} {
			live := maps.Clone(it.Live)
			live["metadata"] = map[string]any{"name": "web", "managedFields": []any{entry}}
			odd := it
			odd.Live = live
			if s := one(t, odd, Options{ServerSide: true}); s.Action != Update {
				t.Errorf("%v: the action is %s", entry, s.Action)
			}
		}
	}
}
