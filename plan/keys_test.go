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
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The items of some lists have two keys, of which strategicpatch uses only one. The reference
// for these lists is structured-merge-diff, which the API server uses for server-side apply,
// with the server's schema.

// keyedList is a list whose items have two keys.
type keyedList struct {
	apiVersion, kind string
	patched          any // the Go type for strategicpatch
	path             []string
	beside           map[string]any // other fields of the map that contains the list
	field            field
	first, second    []any            // values of the two keys; nil omits the key
	others           map[string][]any // other fields
}

var keyedLists = []keyedList{
	{
		apiVersion: "v1", kind: "Service", patched: corev1.Service{}, path: []string{"spec", "ports"},
		beside: map[string]any{"type": "ClusterIP"},
		field:  fieldOf("v1 Service", "spec", "ports"),
		first:  []any{int64(53), int64(80)}, second: []any{nil, "TCP", "UDP", "SCTP"},
		others: map[string][]any{"name": {"a", "b"}, "nodePort": {int64(30000), int64(30001)}, "targetPort": {int64(1), "x"}},
	}, {
		apiVersion: "apps/v1", kind: "Deployment", patched: appsv1.Deployment{}, path: []string{"spec", "template", "spec", "topologySpreadConstraints"},
		beside: map[string]any{"nodeName": "n"},
		field:  fieldOf("apps/v1 Deployment", "spec", "template", "spec", "topologySpreadConstraints"),
		first:  []any{"zone", "host"}, second: []any{"DoNotSchedule", "ScheduleAnyway"},
		others: map[string][]any{"maxSkew": {int64(1), int64(2)}, "minDomains": {int64(1), int64(2)}},
	}, {
		apiVersion: "v1", kind: "Pod", patched: corev1.Pod{}, path: []string{"spec", "containers", "ports"},
		beside: map[string]any{"name": "c"},
		field:  fieldOf("v1 Pod", "spec", "containers", "ports"),
		first:  []any{int64(53), int64(80)}, second: []any{nil, "TCP", "UDP"},
		others: map[string][]any{"name": {"a", "b"}, "hostPort": {int64(1), int64(2)}},
	},
}

// fieldOf returns how the field at a path merges.
func fieldOf(gvk string, path ...string) field {
	f := field{node: kinds().kinds[gvk]}
	for _, key := range path {
		f = f.subfield(key)
	}
	return f
}

// object returns an object with the given items in its list. A server omits an empty list.
func (k keyedList) object(items []any) map[string]any {
	at := len(k.path) - 1
	v := maps.Clone(k.beside)
	if len(items) > 0 {
		v[k.path[at]] = items
	}
	for _, key := range slices.Backward(k.path[:at]) {
		if key == "containers" {
			v = map[string]any{key: []any{v}}
		} else {
			v = map[string]any{key: v}
		}
	}
	v["apiVersion"], v["kind"], v["metadata"] = k.apiVersion, k.kind, map[string]any{"name": "web"}
	return v
}

// items returns the items of an object's list.
func (k keyedList) items(o any) []any {
	for _, key := range k.path {
		if l, ok := o.([]any); ok {
			o = l[0]
		}
		m, _ := o.(map[string]any)
		o = m[key]
	}
	l, _ := o.([]any)
	return l
}

func (k keyedList) name(t testing.TB, items []any) []id {
	t.Helper()
	ids, err := k.field.identify(items)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// draw returns a random list with unique keys.
func (k keyedList) draw(t testing.TB, r *rand.Rand, from []any) []any {
	out := []any{}
	for _, item := range from {
		if r.IntN(3) > 0 {
			out = append(out, k.change(r, item.(map[string]any)))
		}
	}
	for range r.IntN(4) {
		item := k.change(r, map[string]any{k.field.key: pick(r, k.first...)})
		if second := pick(r, k.second...); second != nil {
			item[k.field.more[0].name] = second
		}
		ids := k.name(t, append(slices.Clone(out), item))
		if ids[len(ids)-1].n == 0 {
			out = slices.Insert(out, r.IntN(len(out)+1), any(item))
		}
	}
	return out
}

func (k keyedList) change(r *rand.Rand, item map[string]any) map[string]any {
	item = maps.Clone(item)
	for _, key := range slices.Sorted(maps.Keys(k.others)) {
		switch r.IntN(4) {
		case 0:
			item[key] = pick(r, k.others[key]...)
		case 1:
			delete(item, key)
		}
	}
	return item
}

var serverTypes = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

func typedOf(t testing.TB, o map[string]any) *typed.TypedValue {
	t.Helper()
	v, err := serverTypes().ObjectToTyped(&unstructured.Unstructured{Object: roundTrip(t, o).(map[string]any)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func roundTrip(t testing.TB, v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// applyReference returns the result of a forced server-side apply of want to live, after an
// apply of old.
func applyReference(t testing.TB, old, live, want map[string]any) map[string]any {
	t.Helper()
	merged, err := typedOf(t, live).Merge(typedOf(t, want))
	if err != nil {
		t.Fatal(err)
	}
	had, err := typedOf(t, old).ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	has, err := typedOf(t, want).ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	return merged.RemoveItems(had.Difference(has)).AsValue().Unstructured().(map[string]any)
}

// byKey returns the items of a list by id, without their keys: an explicit default is the same
// as a missing key.
func (k keyedList) byKey(t testing.TB, items []any) map[id]any {
	out := map[id]any{}
	for i, id := range k.name(t, items) {
		out[id] = roundTrip(t, without(items[i].(map[string]any), k.field.key, k.field.more[0].name))
	}
	return out
}

// checkKeys compares the merge of random lists with the reference.
func checkKeys(t testing.TB, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	k := keyedLists[r.IntN(len(keyedLists))]
	old := k.draw(t, r, nil)
	live, want := k.draw(t, r, old), k.draw(t, r, old)
	for i, item := range live { // the server sets the default
		if m := item.(map[string]any); k.field.more[0].valueIn(m) != nil {
			m[k.field.more[0].name] = k.field.more[0].valueIn(m)
		}
		live[i] = item
	}
	r.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	it2 := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, Live: k.object(live), New: k.object(want), Old: []map[string]any{k.object(old)}}
	s := computeOne(t, it2, Options{})
	fail := func(what string, got, want any) {
		t.Helper()
		t.Fatalf("seed %d: %s\nold   %s\nlive  %s\nnew   %s\npatch %s\ngot   %v\nwant  %v", seed, what,
			marshal(t, it2.Old), marshal(t, it2.Live), marshal(t, it2.New), s.Patch, got, want)
	}
	reference := k.byKey(t, k.items(applyReference(t, it2.Old[0], it2.Live, it2.New)))
	after := k.items(s.After)
	if got := k.byKey(t, after); !reflect.DeepEqual(got, reference) {
		fail("server-side apply comes to something else", got, reference)
	}
	wanted := k.name(t, want)
	if got := slices.DeleteFunc(k.name(t, after), func(i id) bool { return !slices.Contains(wanted, i) }); !slices.Equal(got, wanted) {
		fail("the chart's items are not in its order", got, wanted)
	}
	if s.Action == Update {
		kind := k.patched
		if s.Type == JSONMerge {
			kind = nil
		}
		patched := dropDirectives(applyPatchReference(t, kind, it2.Live, s.Patch))
		if got := k.byKey(t, k.items(patched)); !reflect.DeepEqual(got, reference) {
			fail("the patch makes something else", got, reference)
		}
		if got, want := k.name(t, k.items(patched)), k.name(t, after); !slices.Equal(got, want) {
			fail("the patch makes another order", got, want)
		}
	}
	it2.Live = s.After
	if again := computeOne(t, it2, Options{}); again.Action != Unchanged {
		fail("it changes again", string(again.Patch), "")
	}
}

func TestMergeTwoKeysReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for seed := range uint64(3000) {
		checkKeys(t, seed)
	}
}

func FuzzMergeTwoKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkKeys(t, seed) })
}

func TestDriftTwoKeys(t *testing.T) {
	item := newItem(t, "v1 Service",
		`{spec: {ports: [{port: 53, protocol: UDP, targetPort: 1}, {port: 53, protocol: TCP, targetPort: 9}]}}`, "",
		`{spec: {ports: [{port: 53, targetPort: 1}, {port: 53, protocol: UDP, targetPort: 1}, {port: 80}]}}`)
	var got []string
	for _, d := range Drift(item) {
		got = append(got, fmt.Sprintf("%s: %v, not %v", d.Path, d.Have, d.Want))
	}
	want := []string{"spec.ports[53/TCP].targetPort: 9, not 1", "spec.ports[80/TCP]: <nil>, not map[port:80]"}
	if !slices.Equal(got, want) {
		t.Errorf("drift is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
