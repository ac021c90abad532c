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

// The package's merge is held against that of Kubernetes' own library, on
// objects made by chance. Where the package differs on purpose (merger's
// comment), the library is given what says the same in its own terms.

// judged are the kinds that are made, with the library's view of them.
var judged = []struct {
	apiVersion, kind string
	typed            any
	spec             grammar
}{
	{"apps/v1", "Deployment", appsv1.Deployment{}, grammar{
		"metadata": objectMeta(), "spec": grammar{
			"replicas": number, "paused": boolean, "strategy": strategy,
			"template": grammar{"metadata": objectMeta(), "spec": podSpec()},
		},
	}},
	{"v1", "Pod", corev1.Pod{}, grammar{"metadata": objectMeta(), "spec": podSpec()}},
	{"v1", "Service", corev1.Service{}, grammar{"metadata": objectMeta(), "spec": grammar{
		"type": word, "selector": grammar{"app": word, "x": word}, "externalIPs": words,
		"ports": items{"port", grammar{"name": word, "targetPort": number, "nodePort": number}},
	}}},
	{"v1", "ConfigMap", corev1.ConfigMap{}, grammar{"metadata": objectMeta(), "data": plain{}, "immutable": boolean}},
	{"example.com/v1", "Shop", nil, grammar{"metadata": objectMeta(), "spec": grammar{
		"size": number, "names": words, "anything": anything, "more": anything,
		"deep": grammar{"a": word, "b": grammar{"c": number, "d": words}},
	}}},
}

func objectMeta() grammar {
	return grammar{"labels": plain{}, "annotations": plain{}, "finalizers": uniqueWords}
}

func podSpec() grammar {
	container := grammar{
		"image": word, "args": words, "stdin": boolean,
		"env":          items{"name", grammar{"value": word}},
		"ports":        items{"containerPort", grammar{"name": word}},
		"volumeMounts": items{"mountPath", grammar{"name": word}},
		"resources":    grammar{"limits": plain{}, "requests": plain{}},
		"securityContext": grammar{
			"runAsUser": number, "privileged": boolean, "capabilities": grammar{"add": words},
		},
	}
	return grammar{
		"containers": items{"name", container}, "initContainers": items{"name", container},
		"volumes": items{"name", volume}, "nodeSelector": plain{}, "hostNetwork": boolean,
		"tolerations":      listOf(grammar{"key": word, "value": word}),
		"hostAliases":      items{"ip", grammar{"hostnames": words}},
		"imagePullSecrets": items{"name", grammar{}},
	}
}

// maker makes one value, or changes one.
type maker interface {
	draw(r *rand.Rand) any
	change(r *rand.Rand, v any) any
}

// chance makes values by a function.
type chance func(r *rand.Rand) any

func (c chance) draw(r *rand.Rand) any          { return c(r) }
func (c chance) change(r *rand.Rand, _ any) any { return c(r) }

func pick(r *rand.Rand, of ...any) any { return of[r.IntN(len(of))] }

var (
	word    chance = func(r *rand.Rand) any { return pick(r, "a", "b", "c", "d e", "") }
	number  chance = func(r *rand.Rand) any { return pick(r, int64(0), int64(1), int64(80), int64(9007199254740993)) }
	boolean chance = func(r *rand.Rand) any { return pick(r, true, false) }
	words   chance = func(r *rand.Rand) any {
		out := []any{}
		for range r.IntN(4) {
			out = append(out, pick(r, "a", "b", "c"))
		}
		return out
	}
	uniqueWords chance = func(r *rand.Rand) any {
		all := []any{"a", "b", "c", "d", "e"}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:r.IntN(len(all))]
	}
	// A strategy and a volume have one way to be, so that what the package
	// leaves alone because nothing else changes, the library does not clear.
	strategy chance = func(r *rand.Rand) any {
		return pick(r, map[string]any{"type": "Recreate"},
			map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": pick(r, int64(1), "25%")}})
	}
	volume chance = func(r *rand.Rand) any {
		return pick(r, map[string]any{"emptyDir": map[string]any{"medium": "Memory"}},
			map[string]any{"configMap": map[string]any{"name": pick(r, "a", "b")}},
			map[string]any{"hostPath": map[string]any{"path": pick(r, "/a", "/b")}})
	}
	anything chance = func(r *rand.Rand) any {
		return pick(r, "a", int64(1), 1.5, true, nil, map[string]any{}, map[string]any{"x": map[string]any{"y": nil, "z": int64(2)}},
			map[string]any{"x": "b"}, []any{}, []any{"a", map[string]any{"b": int64(1)}})
	}
)

func listOf(m maker) chance {
	return func(r *rand.Rand) any {
		out := []any{}
		for range r.IntN(3) {
			out = append(out, m.draw(r))
		}
		return out
	}
}

// plain is a map of plain values, made even where it is empty.
type plain struct{}

func (plain) draw(r *rand.Rand) any {
	m := map[string]any{}
	for _, key := range []string{"a", "b", "c", "x.y/z"} {
		if r.IntN(2) == 0 {
			m[key] = word(r)
		}
	}
	return m
}
func (p plain) change(r *rand.Rand, _ any) any { return p.draw(r) }

// grammar is a map with some of these fields.
type grammar map[string]maker

func (g grammar) draw(r *rand.Rand) any {
	m := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(g)) {
		if _, always := g[key].(plain); always || r.IntN(3) > 0 {
			m[key] = g[key].draw(r)
		}
	}
	return m
}

func (g grammar) change(r *rand.Rand, v any) any {
	m := maps.Clone(v.(map[string]any))
	for _, key := range slices.Sorted(maps.Keys(g)) {
		_, always := g[key].(plain)
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
			m[key] = g[key].draw(r)
		}
	}
	return m
}

// items is a list with a key.
type items struct {
	key string
	of  maker
}

func (l items) draw(r *rand.Rand) any { return l.change(r, []any{}) }

func (l items) change(r *rand.Rand, v any) any {
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
			if _, typed := l.of.(chance); typed {
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
			m := maps.Clone(l.of.draw(r).(map[string]any))
			m[l.key] = key
			have[key] = true
			out = slices.Insert(out, r.IntN(len(out)+1), any(m))
		}
	}
	return out
}

// canonical is an object as JSON has it, without what means nothing.
func canonical(t testing.TB, v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return withoutNothing(out)
}

func withoutNothing(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			e = withoutNothing(e)
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
			v[i] = withoutNothing(v[i])
		}
	}
	return v
}

func bytesOf(t testing.TB, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// judgeMerge merges by the library.
func judgeMerge(t testing.TB, typed any, olds []map[string]any, live, want map[string]any) map[string]any {
	want = withLists(kinds().kinds[fmt.Sprint(want["apiVersion"], " ", want["kind"])], olds, want).(map[string]any)
	for _, old := range append(slices.Clone(olds), want) { // want as old: it drops nothing
		old = withoutNulls(old, want).(map[string]any)
		var patch []byte
		var err error
		if typed == nil {
			patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(bytesOf(t, old), bytesOf(t, want), bytesOf(t, live))
		} else {
			var schema strategicpatch.PatchMetaFromStruct
			if schema, err = strategicpatch.NewPatchMetaFromStruct(typed); err == nil {
				patch, err = strategicpatch.CreateThreeWayMergePatch(bytesOf(t, old), bytesOf(t, want), bytesOf(t, live), schema, true)
			}
		}
		if err != nil {
			t.Fatalf("the judge: %v", err)
		}
		live = undirected(judgeApply(t, typed, live, patch)).(map[string]any)
	}
	return live
}

// withLists is a manifest with empty lists in the place of nulls, and of lists
// that merge by key and only the old manifests have: the library would remove
// others' items with ours.
func withLists(n *node, olds []map[string]any, want any) any {
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
				list[i] = withLists(f.node, former, item)
			}
			w[key] = list
		case v != nil:
			w[key] = withLists(f.node, mapsAt(olds, key), v)
		}
	}
	return w
}

// withoutNulls is an old manifest without nulls that the new one does not have:
// the library takes them for fields that the release had set.
func withoutNulls(old, want any) any {
	o, isMap := old.(map[string]any)
	w, _ := want.(map[string]any)
	if !isMap {
		if l, isList := old.([]any); isList {
			l = slices.Clone(l)
			for i := range l {
				l[i] = withoutNulls(l[i], nil)
			}
			return l
		}
		return old
	}
	out := map[string]any{}
	for key, e := range o {
		if v, wanted := w[key]; e != nil || wanted && v == nil {
			out[key] = withoutNulls(e, w[key])
		}
	}
	return out
}

// undirected is v without directives, which the library leaves behind where
// live lacks the map that they are in.
func undirected(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if v[key] = undirected(e); strings.HasPrefix(key, "$") {
				delete(v, key)
			}
		}
	case []any:
		out := []any{}
		for _, e := range v {
			if m, isMap := e.(map[string]any); !isMap || m["$patch"] == nil {
				out = append(out, undirected(e))
			}
		}
		return out
	}
	return v
}

func judgeApply(t testing.TB, typed any, live map[string]any, patch []byte) map[string]any {
	var raw []byte
	var err error
	if typed == nil {
		raw, err = jsonpatch.MergePatch(bytesOf(t, live), patch)
	} else {
		raw, err = strategicpatch.StrategicMergePatch(bytesOf(t, live), patch, typed)
	}
	if err != nil {
		t.Fatalf("the judge cannot apply %s: %v", patch, err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// judge makes an item by chance and holds its plan against the library.
func judge(t testing.TB, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	k := judged[r.IntN(len(judged))]
	head := func(v any) map[string]any {
		m := maps.Clone(v.(map[string]any))
		m["apiVersion"], m["kind"] = k.apiVersion, k.kind
		md, ok := m["metadata"].(map[string]any)
		if !ok {
			md = k.spec["metadata"].draw(r).(map[string]any)
		}
		m["metadata"] = maps.Clone(md)
		m["metadata"].(map[string]any)["name"] = "web"
		return m
	}
	first := k.spec.draw(r)
	it := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, Live: head(first), New: head(k.spec.change(r, first))}
	for range r.IntN(3) {
		it.Old = append(it.Old, head(k.spec.change(r, first)))
	}
	it.Live = head(k.spec.change(r, it.Live))
	for range r.IntN(2) {
		it.New = head(k.spec.change(r, it.New))
	}
	was := bytesOf(t, it)
	p, err := Compute([]Item{it}, Options{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if string(bytesOf(t, it)) != string(was) {
		t.Fatalf("seed %d: Compute changed its input", seed)
	}
	s := p.Steps[0]
	fail := func(what string, got, want any) {
		t.Helper()
		t.Fatalf("seed %d: %s\nold   %s\nlive  %s\nnew   %s\npatch %s\ngot   %s\nwant  %s", seed, what,
			bytesOf(t, it.Old), bytesOf(t, it.Live), bytesOf(t, it.New), s.Patch, bytesOf(t, got), bytesOf(t, want))
	}
	want := canonical(t, judgeMerge(t, k.typed, it.Old, it.Live, it.New))
	if got := canonical(t, s.After); !reflect.DeepEqual(got, want) {
		fail("the library comes to something else", got, want)
	}
	if s.Action == Update {
		if applied := canonical(t, judgeApply(t, k.typed, it.Live, s.Patch)); !reflect.DeepEqual(applied, want) {
			fail("the patch makes something else", applied, want)
		}
	} else if live := canonical(t, it.Live); s.Action != Unchanged || !reflect.DeepEqual(live, want) {
		fail("it should change", live, want)
	}
	it.Live = s.After
	if p, err := Compute([]Item{it}, Options{}); err != nil || p.Steps[0].Action != Unchanged {
		fail(fmt.Sprintf("it changes again (%v) by %s", err, p.Steps[0].Patch), s.After, s.After)
	}
}

func TestMergeAgreesWithKubernetes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for seed := range uint64(1500) {
		judge(t, seed)
	}
}

func FuzzMergeAgreesWithKubernetes(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { judge(t, seed) })
}

// Whatever objects are like: no panic, the patch makes what was foretold, and
// after it nothing is left to do.
func FuzzCompute(f *testing.F) {
	f.Add("v1 Service", `{"spec":{"ports":[{"port":53,"protocol":"UDP"},{"port":53}]}}`, `{"spec":{"ports":[{"port":53}]}}`, `{"spec":{"ports":[{"port":53},{"port":53,"x":1}]}}`)
	f.Add("apps/v1 Deployment", `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":null,"replicas":1e3}}`, `{"spec":{"strategy":{"rollingUpdate":{}}}}`)
	f.Add("example.com/v1 X", `{"a":[null],"b":{"c":1}}`, `{"a":[],"b":[]}`, `{"b":{"c":null}}`)
	f.Add("v1 Secret", `{"data":{"a":"b\n"}}`, `{"stringData":{"a":1}}`, `{"stringData":{"b":"c"},"data":[]}`)
	f.Add("v1 Pod", `{"spec":{"imagePullSecrets":[{}]}}`, `{"spec":{"imagePullSecrets":[{}]}}`, `{"spec":{"imagePullSecrets":[{"name":null},{"name":"a"}]}}`)
	f.Fuzz(func(t *testing.T, gvk, old, live, want string) {
		var it Item
		for _, gvks := range []string{"v1 Service", "apps/v1 Deployment", "v1 Secret", "v1 Pod"} {
			if gvk == gvks {
				it = item(t, gvk, "", "")
			}
		}
		if it.Kind == "" {
			it = item(t, "example.com/v1 X", "", "")
		}
		read := func(text string) map[string]any {
			var m map[string]any
			_ = json.Unmarshal([]byte(text), &m)
			return m
		}
		it.Old, it.Live, it.New = []map[string]any{read(old)}, read(live), read(want)
		if it.New != nil && it.New["metadata"] == nil {
			it.New["metadata"] = map[string]any{"name": "web"}
		}
		p, err := Compute([]Item{it}, Options{})
		Drift(it)
		FormatObject(it.New)
		Redact(it.Live, it.New)
		if _, err := Compute([]Item{it}, Options{ServerSide: true}); err != nil && p == nil {
			return
		}
		if err != nil || len(p.Steps) == 0 || p.Steps[0].Action != Update {
			return
		}
		s := p.Steps[0]
		if s.Type == JSONMerge {
			applied := judgeApply(t, nil, it.Live, s.Patch)
			if !reflect.DeepEqual(canonical(t, applied), canonical(t, s.After)) {
				t.Fatalf("%s makes %s of it, not %s", s.Patch, bytesOf(t, applied), bytesOf(t, s.After))
			}
		}
		it.Live = it.New
		if _, err := Compute([]Item{it}, Options{}); err != nil {
			return // such as a port without its number: no cluster comes to have it
		}
		it.Live = s.After
		p, err = Compute([]Item{it}, Options{})
		if err != nil {
			t.Fatalf("it does not merge after %s: %v", s.Patch, err)
		}
		if p.Steps[0].Action != Unchanged {
			t.Fatalf("it changes again by %s after %s", p.Steps[0].Patch, s.Patch)
		}
	})
}
