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

// fieldsOf returns the fields of an object in the format of managedFields, without those that
// the server omits.
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

// withManagedFields returns live with a managedFields entry of a manager for the fields of an
// object.
func withManagedFields(t testing.TB, live map[string]any, manager, operation string, o map[string]any) map[string]any {
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

func TestServerSideUnchanged(t *testing.T) {
	for _, tc := range []struct {
		name          string
		kind          string
		applied       string // the release's last apply
		live, want    string
		action        Action
		operation, by string // of the entry; Apply and helm if empty
	}{
		{name: "unchanged", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b}}`, want: `{data: {a: b}}`, action: Unchanged},
		{name: "fields of other managers", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b, c: d}}`, want: `{data: {a: b}}`, action: Unchanged},
		{name: "a changed value", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: x}}`, want: `{data: {a: b}}`, action: Update},
		{name: "field that another manager owns, with the same value", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b, c: d}}`, want: `{data: {a: b, c: d}}`, action: Update},
		{name: "dropped field", kind: "v1 ConfigMap", applied: `{data: {a: b, c: d}}`, live: `{data: {a: b, c: d}}`, want: `{data: {a: b}}`, action: Update},
		{name: "last field dropped", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, live: `{data: {a: b}}`, want: `{}`, action: Update},
		{name: "applied by another manager", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, by: "kubectl", live: `{data: {a: b}}`, want: `{data: {a: b}}`, action: Update},
		{name: "written by client-side merge", kind: "v1 ConfigMap", applied: `{data: {a: b}}`, operation: "Update", live: `{data: {a: b}}`, want: `{data: {a: b}}`, action: Update},
		{name: "atomic selector", kind: "v1 Service", applied: `{spec: {selector: {a: b}}}`, live: `{spec: {selector: {a: b}, clusterIP: 10.0.0.1}}`, want: `{spec: {selector: {a: b}}}`, action: Unchanged},
		{name: "other manager's key in a selector", kind: "v1 Service", applied: `{spec: {selector: {a: b}}}`, live: `{spec: {selector: {a: b, c: d}}}`, want: `{spec: {selector: {a: b}}}`, action: Update},
		{name: "other manager's key in a node selector", kind: "v1 Pod", applied: `{spec: {nodeSelector: {a: b}}}`, live: `{spec: {nodeSelector: {a: b, c: d}}}`, want: `{spec: {nodeSelector: {a: b}}}`, action: Update},
		{name: "ports with the default protocol", kind: "v1 Service", applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, live: `{spec: {ports: [{port: 53, protocol: TCP, targetPort: 53}, {port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}}`, want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, action: Unchanged},
		{name: "ports in another order", kind: "v1 Service", applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, live: `{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}}`, want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, action: Update},
		{name: "removed port", kind: "v1 Service", applied: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, live: `{spec: {ports: [{port: 53, protocol: UDP}]}}`, want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`, action: Update},
		{name: "atomic items", kind: "v1 Pod", applied: `{spec: {imagePullSecrets: [{name: a}]}}`, live: `{spec: {imagePullSecrets: [{name: a}]}}`, want: `{spec: {imagePullSecrets: [{name: a}]}}`, action: Unchanged},
		{name: "empty lists", kind: "v1 Pod", applied: `{spec: {initContainers: [], tolerations: []}}`, live: `{spec: {initContainers: [{name: mesh}]}}`, want: `{spec: {initContainers: [], tolerations: []}}`, action: Unchanged},
		{name: "empty atomic list of another manager", kind: "v1 Pod", applied: `{spec: {initContainers: []}}`, live: `{spec: {tolerations: [{key: a}]}}`, want: `{spec: {tolerations: []}}`, action: Update},
		{name: "finalizers", kind: "v1 ConfigMap", applied: `{metadata: {finalizers: [a/b]}}`, live: `{metadata: {finalizers: [c/d, a/b]}}`, want: `{metadata: {finalizers: [a/b]}}`, action: Unchanged},
		{name: "null that becomes an empty string", kind: "v1 ConfigMap", applied: `{data: {a: ""}}`, live: `{data: {a: ""}}`, want: `{data: {a: null}}`, action: Unchanged},
		{name: "Secret: stringData", kind: "v1 Secret", applied: `{data: {a: Yg==}}`, live: `{data: {a: Yg==}}`, want: `{stringData: {a: b}}`, action: Unchanged},
		{name: "Secret: applied stringData", kind: "v1 Secret", applied: `{stringData: {a: b}}`, live: `{data: {a: Yg==}}`, want: `{stringData: {a: b}}`, action: Update},
		{
			name: "quantities, defaults in atomic lists, omitted false values", kind: "apps/v1 StatefulSet", action: Unchanged,
			applied: `{spec: {template: {spec: {hostNetwork: false, containers: [{name: a, resources: {limits: {cpu: 1000m}}}], volumes: [{name: v, emptyDir: {}}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce]}}]}}`,
			live:    `{spec: {template: {spec: {containers: [{name: a, image: x, resources: {limits: {cpu: "1"}}}], volumes: [{name: v, emptyDir: {}}]}}, volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d, creationTimestamp: null}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem}, status: {phase: Pending}}]}}`,
			want:    `{spec: {template: {spec: {hostNetwork: false, containers: [{name: a, resources: {limits: {cpu: 1000m}}}], volumes: [{name: v, emptyDir: {}}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce]}}]}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, tc.kind, tc.live, tc.want)
			by, operation := "helm", "Apply"
			if tc.by != "" {
				by = tc.by
			}
			if tc.operation != "" {
				operation = tc.operation
			}
			item.Live = withManagedFields(t, item.Live, by, operation, newItem(t, tc.kind, tc.applied, "").Live)
			item.Old = []map[string]any{item.New}
			if s := computeOne(t, item, Options{ServerSide: true}); s.Action != tc.action {
				t.Errorf("the action is %s, want %s", s.Action, tc.action)
			}
		})
	}
}

// checkApplied computes a random server-side apply, and compares it with
// structured-merge-diff. It reports whether the step is Unchanged.
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
	item := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, New: k.object(want)}
	item.Live = withManagedFields(t, k.object(live), "helm", "Apply", k.object(before))
	if computeOne(t, item, Options{ServerSide: true}).Action != Unchanged {
		return false
	}
	merged, err := typedOf(t, k.object(live)).Merge(typedOf(t, item.New))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := typedOf(t, k.object(live)).Compare(merged)
	if err != nil {
		t.Fatal(err)
	}
	if had, has := fieldsOf(t, k.object(before)), fieldsOf(t, item.New); !changes.IsSame() || !had.Equals(has) {
		t.Fatalf("seed %d: apply would change %s, and the fields\n%s\nto\n%s\nof %s", seed, changes, had, has, marshal(t, item))
	}
	return true
}

// A step is Unchanged only if structured-merge-diff, which the server uses, changes neither
// values nor managers.
func TestServerSideUnchangedReference(t *testing.T) {
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
		t.Errorf("%d of 3000 steps are Unchanged, want about a third", left)
	}
}

func FuzzServerSideUnchanged(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkApplied(t, seed) })
}

// Any client can write managedFields.
func TestInvalidManagedFields(t *testing.T) {
	item := newItem(t, "v1 Service", `{spec: {ports: [{port: 1, protocol: TCP}]}}`, `{spec: {ports: [{port: 1}]}}`)
	for _, fields := range []any{
		nil, "x", []any{}, map[string]any{}, map[string]any{"f:spec": nil}, map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{"k:": nil}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`k:{"port":[1]}`: map[string]any{}}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`v:{"port":1}`: map[string]any{}}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`k:null`: "x", "i:0": 1}}},
		map[string]any{"f:spec": map[string]any{"f:ports": map[string]any{`k:{}`: map[string]any{"f:port": map[string]any{}}}}},
	} {
		for _, entry := range []any{nil, "x", map[string]any{"manager": 1}, map[string]any{"manager": "helm", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}} {
			live := maps.Clone(item.Live)
			live["metadata"] = map[string]any{"name": "web", "managedFields": []any{entry}}
			odd := item
			odd.Live = live
			if s := computeOne(t, odd, Options{ServerSide: true}); s.Action != Update {
				t.Errorf("%v: the action is %s", entry, s.Action)
			}
		}
	}
}
