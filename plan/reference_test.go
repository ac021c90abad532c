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

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// These tests compare the package's merge of random objects with that of Kubernetes'
// strategicpatch package. Where the package differs intentionally (see merger), they adapt the
// library's input.

// referenceKinds are the kinds of random objects, with their Go types.
var referenceKinds = []struct {
	apiVersion, kind string
	typed            any
	spec             mapGenerator
}{
	{"apps/v1", "Deployment", appsv1.Deployment{}, mapGenerator{
		"metadata": objectMeta(), "spec": mapGenerator{
			"replicas": number, "paused": boolean, "strategy": strategy,
			"template": mapGenerator{"metadata": objectMeta(), "spec": podSpec()},
		},
	}},
	{"v1", "Pod", corev1.Pod{}, mapGenerator{"metadata": objectMeta(), "spec": podSpec()}},
	{"v1", "Service", corev1.Service{}, mapGenerator{"metadata": objectMeta(), "spec": mapGenerator{
		"type": word, "selector": mapGenerator{"app": word, "x": word}, "externalIPs": words,
		"ports": listGenerator{"port", mapGenerator{"name": word, "targetPort": number, "nodePort": number}},
	}}},
	{"v1", "ConfigMap", corev1.ConfigMap{}, mapGenerator{"metadata": objectMeta(), "data": plainMapGenerator{}, "immutable": boolean}},
	{"example.com/v1", "Shop", nil, mapGenerator{"metadata": objectMeta(), "spec": mapGenerator{
		"size": number, "names": words, "anything": anything, "more": anything,
		"deep": mapGenerator{"a": word, "b": mapGenerator{"c": number, "d": words}},
	}}},
}

func objectMeta() mapGenerator {
	return mapGenerator{"labels": plainMapGenerator{}, "annotations": plainMapGenerator{}, "finalizers": uniqueWords}
}

func podSpec() mapGenerator {
	container := mapGenerator{
		"image": word, "args": words, "stdin": boolean,
		"env":          listGenerator{"name", mapGenerator{"value": word}},
		"ports":        listGenerator{"containerPort", mapGenerator{"name": word}},
		"volumeMounts": listGenerator{"mountPath", mapGenerator{"name": word}},
		"resources":    mapGenerator{"limits": plainMapGenerator{}, "requests": plainMapGenerator{}},
		"securityContext": mapGenerator{
			"runAsUser": number, "privileged": boolean, "capabilities": mapGenerator{"add": words},
		},
	}
	return mapGenerator{
		"containers": listGenerator{"name", container}, "initContainers": listGenerator{"name", container},
		"volumes": listGenerator{"name", volume}, "nodeSelector": plainMapGenerator{}, "hostNetwork": boolean,
		"tolerations":      listOf(mapGenerator{"key": word, "value": word}),
		"hostAliases":      listGenerator{"ip", mapGenerator{"hostnames": words}},
		"imagePullSecrets": listGenerator{"name", mapGenerator{}},
	}
}

// generator generates or changes random values.
type generator interface {
	generate(r *rand.Rand) any
	change(r *rand.Rand, v any) any
}

// generatorFunc is a generator.
type generatorFunc func(r *rand.Rand) any

func (c generatorFunc) generate(r *rand.Rand) any      { return c(r) }
func (c generatorFunc) change(r *rand.Rand, _ any) any { return c(r) }

func pick(r *rand.Rand, of ...any) any { return of[r.IntN(len(of))] }

var (
	word    generatorFunc = func(r *rand.Rand) any { return pick(r, "a", "b", "c", "d e", "") }
	number  generatorFunc = func(r *rand.Rand) any { return pick(r, int64(0), int64(1), int64(80), int64(9007199254740993)) }
	boolean generatorFunc = func(r *rand.Rand) any { return pick(r, true, false) }
	words   generatorFunc = func(r *rand.Rand) any {
		out := []any{}
		for range r.IntN(4) {
			out = append(out, pick(r, "a", "b", "c"))
		}
		return out
	}
	uniqueWords generatorFunc = func(r *rand.Rand) any {
		all := []any{"a", "b", "c", "d", "e"}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:r.IntN(len(all))]
	}
	// A strategy and a volume are of one kind only: the library would remove fields of
	// another kind that the package keeps if nothing else changes.
	strategy generatorFunc = func(r *rand.Rand) any {
		return pick(r, map[string]any{"type": "Recreate"},
			map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": pick(r, int64(1), "25%")}})
	}
	volume generatorFunc = func(r *rand.Rand) any {
		return pick(r, map[string]any{"emptyDir": map[string]any{"medium": "Memory"}},
			map[string]any{"configMap": map[string]any{"name": pick(r, "a", "b")}},
			map[string]any{"hostPath": map[string]any{"path": pick(r, "/a", "/b")}})
	}
	anything generatorFunc = func(r *rand.Rand) any {
		return pick(r, "a", int64(1), 1.5, true, nil, map[string]any{}, map[string]any{"x": map[string]any{"y": nil, "z": int64(2)}},
			map[string]any{"x": "b"}, []any{}, []any{"a", map[string]any{"b": int64(1)}})
	}
)

func listOf(m generator) generatorFunc {
	return func(r *rand.Rand) any {
		out := []any{}
		for range r.IntN(3) {
			out = append(out, m.generate(r))
		}
		return out
	}
}

// plainMapGenerator generates maps of plain values, also empty ones.
type plainMapGenerator struct{}

func (plainMapGenerator) generate(r *rand.Rand) any {
	m := map[string]any{}
	for _, key := range []string{"a", "b", "c", "x.y/z"} {
		if r.IntN(2) == 0 {
			m[key] = word(r)
		}
	}
	return m
}
func (p plainMapGenerator) change(r *rand.Rand, _ any) any { return p.generate(r) }

// mapGenerator generates maps with some of its fields.
type mapGenerator map[string]generator

func (g mapGenerator) generate(r *rand.Rand) any {
	m := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(g)) {
		if _, always := g[key].(plainMapGenerator); always || r.IntN(3) > 0 {
			m[key] = g[key].generate(r)
		}
	}
	return m
}

func (g mapGenerator) change(r *rand.Rand, v any) any {
	m := maps.Clone(v.(map[string]any))
	for _, key := range slices.Sorted(maps.Keys(g)) {
		_, always := g[key].(plainMapGenerator)
		had, has := m[key]
		switch n := r.IntN(8); {
		case n < 4:
		case n == 4 && !always:
			delete(m, key)
		case n == 5 && !always && has:
			if _, isList := had.([]any); !isList {
				m[key] = nil
			}
		case has && had != nil:
			m[key] = g[key].change(r, had)
		default:
			m[key] = g[key].generate(r)
		}
	}
	return m
}

// listGenerator generates lists with a key.
type listGenerator struct {
	key string
	of  generator
}

func (l listGenerator) generate(r *rand.Rand) any { return l.change(r, []any{}) }

func (l listGenerator) change(r *rand.Rand, v any) any {
	out := []any{}
	have := map[any]bool{}
	for _, item := range v.([]any) {
		m := item.(map[string]any)
		if r.IntN(4) == 0 {
			continue
		}
		if r.IntN(2) == 0 {
			key := m[l.key]
			m = l.of.change(r, m).(map[string]any)
			if _, typed := l.of.(generatorFunc); typed {
				m = maps.Clone(m)
			}
			m[l.key] = key
		}
		have[m[l.key]] = true
		out = append(out, m)
	}
	for range r.IntN(3) {
		key := any(fmt.Sprint("k", r.IntN(6)))
		if l.key == "port" || l.key == "containerPort" {
			key = int64(r.IntN(6))
		}
		if !have[key] {
			m := maps.Clone(l.of.generate(r).(map[string]any))
			m[l.key] = key
			have[key] = true
			out = slices.Insert(out, r.IntN(len(out)+1), any(m))
		}
	}
	return out
}

// canonicalJSON returns an object as JSON has it, without empty values that the API ignores.
func canonicalJSON(t testing.TB, v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return withoutEmpty(out)
}

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			e = withoutEmpty(e)
			v[key] = e
			if l, isList := e.([]any); e == nil || isList && len(l) == 0 {
				delete(v, key)
			}
			if (e == false || e == "" || e == 0.0) && kinds().zeros[key] { // no plain map here has such keys
				delete(v, key)
			}
			if l, isList := e.([]any); isList && key == "finalizers" { // have no order
				slices.SortFunc(l, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			if m, isMap := e.(map[string]any); isMap && len(m) == 0 && (isLabelKey(key) || kinds().maps[key]) {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return v
}

func marshal(t testing.TB, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// mergeReference merges with Kubernetes' strategicpatch package.
func mergeReference(t testing.TB, typed any, olds []map[string]any, live, want map[string]any) map[string]any {
	want = addEmptyLists(kinds().kinds[fmt.Sprint(want["apiVersion"], " ", want["kind"])], olds, want).(map[string]any)
	for _, old := range append(slices.Clone(olds), want) { // want as old: it drops nothing
		old = dropNulls(old, want).(map[string]any)
		var patch []byte
		var err error
		if typed == nil {
			patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(marshal(t, old), marshal(t, want), marshal(t, live))
		} else {
			var schema strategicpatch.PatchMetaFromStruct
			if schema, err = strategicpatch.NewPatchMetaFromStruct(typed); err == nil {
				patch, err = strategicpatch.CreateThreeWayMergePatch(marshal(t, old), marshal(t, want), marshal(t, live), schema, true)
			}
		}
		if err != nil {
			t.Fatalf("reference: %v", err)
		}
		live = dropDirectives(applyPatchReference(t, typed, live, patch)).(map[string]any)
	}
	return live
}

// addEmptyLists returns a manifest with empty lists for nulls, and for lists merged by key
// that only old manifests have: otherwise the library would remove the items of other clients.
func addEmptyLists(n *node, olds []map[string]any, want any) any {
	w, ok := want.(map[string]any)
	if !ok || n == nil {
		return want
	}
	w = maps.Clone(w)
	for key, f := range n.fields {
		v, has := w[key]
		switch {
		case f.merge && v == nil:
			if has || slices.ContainsFunc(olds, func(o map[string]any) bool { return o[key] != nil }) {
				w[key] = []any{}
			}
		case f.merge && f.key != "":
			list := slices.Clone(v.([]any))
			for i, item := range list {
				var former []map[string]any
				for _, old := range listsAt(olds, key) {
					for _, o := range old {
						if m := o.(map[string]any); m[f.key] == item.(map[string]any)[f.key] {
							former = append(former, m)
						}
					}
				}
				list[i] = addEmptyLists(f.node, former, item)
			}
			w[key] = list
		case v != nil:
			w[key] = addEmptyLists(f.node, mapsAt(olds, key), v)
		}
	}
	return w
}

// dropNulls returns an old manifest without the nulls that the new one does not have: the
// library treats them as fields that the release has set.
func dropNulls(old, want any) any {
	o, isMap := old.(map[string]any)
	w, _ := want.(map[string]any)
	if !isMap {
		if l, isList := old.([]any); isList {
			l = slices.Clone(l)
			for i := range l {
				l[i] = dropNulls(l[i], nil)
			}
			return l
		}
		return old
	}
	out := map[string]any{}
	for key, e := range o {
		if v, wanted := w[key]; e != nil || wanted && v == nil {
			out[key] = dropNulls(e, w[key])
		}
	}
	return out
}

// dropDirectives returns v without the directives that the library leaves in maps that live
// does not have.
func dropDirectives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if v[key] = dropDirectives(e); strings.HasPrefix(key, "$") {
				delete(v, key)
			}
		}
	case []any:
		out := []any{}
		for _, e := range v {
			if m, isMap := e.(map[string]any); !isMap || m["$patch"] == nil {
				out = append(out, dropDirectives(e))
			}
		}
		return out
	}
	return v
}

// applyPatchReference applies a patch with Kubernetes' strategicpatch package.
func applyPatchReference(t testing.TB, typed any, live map[string]any, patch []byte) map[string]any {
	var raw []byte
	var err error
	if typed == nil {
		raw, err = jsonpatch.MergePatch(marshal(t, live), patch)
	} else {
		raw, err = strategicpatch.StrategicMergePatch(marshal(t, live), patch, typed)
	}
	if err != nil {
		t.Fatalf("reference: apply %s: %v", patch, err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkReference compares the plan of a random item with the library's merge.
func checkReference(t testing.TB, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	k := referenceKinds[r.IntN(len(referenceKinds))]
	head := func(v any) map[string]any {
		m := maps.Clone(v.(map[string]any))
		m["apiVersion"], m["kind"] = k.apiVersion, k.kind
		md, ok := m["metadata"].(map[string]any)
		if !ok {
			md = k.spec["metadata"].generate(r).(map[string]any)
		}
		m["metadata"] = maps.Clone(md)
		m["metadata"].(map[string]any)["name"] = "web"
		return m
	}
	first := k.spec.generate(r)
	item := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, Live: head(first), New: head(k.spec.change(r, first))}
	for range r.IntN(3) {
		item.Old = append(item.Old, head(k.spec.change(r, first)))
	}
	item.Live = head(k.spec.change(r, item.Live))
	for range r.IntN(2) {
		item.New = head(k.spec.change(r, item.New))
	}
	was := marshal(t, item)
	p, err := Compute([]Item{item}, Options{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if string(marshal(t, item)) != string(was) {
		t.Fatalf("seed %d: Compute changed its input", seed)
	}
	s := p.Steps[0]
	fail := func(what string, got, want any) {
		t.Helper()
		t.Fatalf("seed %d: %s\nold   %s\nlive  %s\nnew   %s\npatch %s\ngot   %s\nwant  %s", seed, what,
			marshal(t, item.Old), marshal(t, item.Live), marshal(t, item.New), s.Patch, marshal(t, got), marshal(t, want))
	}
	want := canonicalJSON(t, mergeReference(t, k.typed, item.Old, item.Live, item.New))
	if got := canonicalJSON(t, s.After); !reflect.DeepEqual(got, want) {
		fail("the library comes to something else", got, want)
	}
	if s.Action == Update {
		if applied := canonicalJSON(t, applyPatchReference(t, k.typed, item.Live, s.Patch)); !reflect.DeepEqual(applied, want) {
			fail("the patch makes something else", applied, want)
		}
	} else if live := canonicalJSON(t, item.Live); s.Action != Unchanged || !reflect.DeepEqual(live, want) {
		fail("it should change", live, want)
	}
	item.Live = s.After
	if p, err := Compute([]Item{item}, Options{}); err != nil || p.Steps[0].Action != Unchanged {
		fail(fmt.Sprintf("it changes again (%v) by %s", err, p.Steps[0].Patch), s.After, s.After)
	}
}

func TestMergeReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for seed := range uint64(1500) {
		checkReference(t, seed)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkReference(t, seed) })
}

// For any objects, Compute does not panic, the patch has the result After, and a second plan
// changes nothing.
func FuzzCompute(f *testing.F) {
	f.Add("v1 Service", `{"spec":{"ports":[{"port":53,"protocol":"UDP"},{"port":53}]}}`, `{"spec":{"ports":[{"port":53}]}}`, `{"spec":{"ports":[{"port":53},{"port":53,"x":1}]}}`)
	f.Add("apps/v1 Deployment", `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":null,"replicas":1e3}}`, `{"spec":{"strategy":{"rollingUpdate":{}}}}`)
	f.Add("example.com/v1 X", `{"a":[null],"b":{"c":1}}`, `{"a":[],"b":[]}`, `{"b":{"c":null}}`)
	f.Add("v1 Secret", `{"data":{"a":"b\n"}}`, `{"stringData":{"a":1}}`, `{"stringData":{"b":"c"},"data":[]}`)
	f.Add("v1 Pod", `{"spec":{"imagePullSecrets":[{}]}}`, `{"spec":{"imagePullSecrets":[{}]}}`, `{"spec":{"imagePullSecrets":[{"name":null},{"name":"a"}]}}`)
	f.Fuzz(func(t *testing.T, gvk, old, live, want string) {
		var item Item
		for _, gvks := range []string{"v1 Service", "apps/v1 Deployment", "v1 Secret", "v1 Pod"} {
			if gvk == gvks {
				item = newItem(t, gvk, "", "")
			}
		}
		if item.Kind == "" {
			item = newItem(t, "example.com/v1 X", "", "")
		}
		read := func(text string) map[string]any {
			var m map[string]any
			_ = json.Unmarshal([]byte(text), &m)
			return m
		}
		item.Old, item.Live, item.New = []map[string]any{read(old)}, read(live), read(want)
		if item.New != nil && item.New["metadata"] == nil {
			item.New["metadata"] = map[string]any{"name": "web"}
		}
		p, err := Compute([]Item{item}, Options{})
		Drift(item)
		FormatObject(item.New)
		Redact(item.Live, item.New)
		if _, err := Compute([]Item{item}, Options{ServerSide: true}); err != nil && p == nil {
			return
		}
		if err != nil || len(p.Steps) == 0 || p.Steps[0].Action != Update {
			return
		}
		s := p.Steps[0]
		if s.Type == JSONMerge {
			applied := applyPatchReference(t, nil, item.Live, s.Patch)
			if !reflect.DeepEqual(canonicalJSON(t, applied), canonicalJSON(t, s.After)) {
				t.Fatalf("applying %s = %s, want %s", s.Patch, marshal(t, applied), marshal(t, s.After))
			}
		}
		item.Live = item.New
		if _, err := Compute([]Item{item}, Options{}); err != nil {
			return // an invalid live object, such as a port without its number
		}
		item.Live = s.After
		p, err = Compute([]Item{item}, Options{})
		if err != nil {
			t.Fatalf("second Compute after %s: %v", s.Patch, err)
		}
		if p.Steps[0].Action != Unchanged {
			t.Fatalf("second Compute has the patch %s after %s, want none", p.Steps[0].Patch, s.Patch)
		}
	})
}
