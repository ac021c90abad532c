// SPDX-License-Identifier: Apache-2.0

// Package merges compares how our binary and Helm's merge objects that another client has
// changed. All upgrades start from the same old chart, live edits and new chart, with
// client-side and server-side apply:
//
//	MOONHELM_MERGES=5000 ../with-cluster.sh go test ./merges -run Upgrades -timeout 6h
//	MOONHELM_MERGE=21/1234 ../with-cluster.sh go test ./merges -run Upgrades -v   # one triple
//
// again
package merges

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Triple has an object of an old chart, another client's edits of the live object, and the
// object of a new chart.
type Triple struct {
	Seed, Number uint64
	Kind         *Kind
	Name         string
	Old, New     map[string]any
}

// Generate returns a triple by its number and seed, always the same one.
func Generate(kinds []*Kind, seed, number uint64) *Triple {
	r := rand.New(rand.NewPCG(seed, number))
	t := &Triple{Seed: seed, Number: number, Kind: kinds[number%uint64(len(kinds))], Name: fmt.Sprintf("o%d", number)}
	t.Old = clone(t.Kind.fresh(r)).(map[string]any)
	next := clone(t.Old).(map[string]any)
	for range 1 + r.IntN(3) {
		next = evolve(r, next, t.Kind.fresh(r), true).(map[string]any)
	}
	if r.IntN(10) == 0 {
		next = clone(t.Old).(map[string]any) // only the live object has changed
	}
	t.New = next
	for _, path := range t.Kind.fixed {
		keep(t.New, t.Old, strings.Split(path, "."))
	}
	for _, o := range []map[string]any{t.Old, t.New} {
		o["apiVersion"], o["kind"] = t.Kind.apiVersion, t.Kind.kind
		meta, ok := o["metadata"].(map[string]any)
		if !ok {
			meta = map[string]any{}
		}
		meta["name"] = t.Name
		o["metadata"] = meta
	}
	return t
}

// Edit returns the live object with the other client's edits, which are the same for all
// contestants with the same object.
func (t *Triple) Edit(live map[string]any) map[string]any {
	r := rand.New(rand.NewPCG(t.Seed^0xed17, t.Number))
	before := clone(live).(map[string]any)
	out := clone(live).(map[string]any)
	for range r.IntN(4) {
		out = evolve(r, out, t.Kind.fresh(r), false).(map[string]any)
	}
	for _, path := range append([]string{"apiVersion", "kind", "status"}, t.Kind.fixed...) {
		keep(out, before, strings.Split(path, "."))
	}
	meta, _ := clone(before["metadata"]).(map[string]any)
	edited, _ := out["metadata"].(map[string]any)
	for _, k := range []string{"labels", "annotations"} {
		m, _ := before["metadata"].(map[string]any)[k].(map[string]any)
		if v, ok := edited[k].(map[string]any); ok || m != nil {
			meta[k] = marks(m, v)
		}
	}
	out["metadata"] = meta
	return out
}

// marks returns edited labels or annotations with those that Helm and the controllers need.
func marks(m, edited map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, edited)
	for k, v := range m {
		if strings.Contains(k, "helm.sh/") || strings.Contains(k, "kubernetes.io/") {
			out[k] = v
		}
	}
	return out
}

// keep sets the value at path in m to that of like.
func keep(m, like map[string]any, path []string) {
	v, ok := like[path[0]]
	if len(path) == 1 {
		if ok {
			m[path[0]] = clone(v)
		} else {
			delete(m, path[0])
		}
		return
	}
	below, ok := v.(map[string]any)
	if !ok {
		return
	}
	section, ok := m[path[0]].(map[string]any)
	if !ok {
		section = map[string]any{}
		m[path[0]] = section
	}
	keep(section, below, path[1:])
}

// evolve changes v in one or two places. fresh is another value of the same kind. nulls reports
// whether keys may become null, as in charts.
func evolve(r *rand.Rand, v, fresh any, nulls bool) any {
	switch v := v.(type) {
	case map[string]any:
		if f, ok := fresh.(map[string]any); ok {
			return evolveMap(r, v, f, nulls)
		}
	case []any:
		if f, ok := fresh.([]any); ok {
			return evolveList(r, v, f, nulls)
		}
	}
	return clone(fresh)
}

func evolveMap(r *rand.Rand, v, fresh map[string]any, nulls bool) any {
	both := maps.Clone(v)
	maps.Copy(both, fresh)
	keys := slices.Sorted(maps.Keys(both))
	if len(keys) == 0 {
		return v
	}
	if len(v) > 0 && r.IntN(25) == 0 {
		return map[string]any{}
	}
	for range 1 + r.IntN(2) {
		k := keys[r.IntN(len(keys))]
		old, in := v[k]
		next, can := fresh[k]
		switch {
		case in && nulls && r.IntN(15) == 0:
			v[k] = nil
		case in && r.IntN(5) == 0:
			delete(v, k)
		case in && can && r.IntN(5) > 0:
			v[k] = evolve(r, old, next, nulls)
		case can:
			v[k] = clone(next)
		}
	}
	return v
}

func evolveList(r *rand.Rand, v, fresh []any, nulls bool) any {
	for range 1 + r.IntN(2) {
		switch k := r.IntN(12); {
		case k < 4 && len(fresh) > 0:
			v = slices.Insert(v, r.IntN(len(v)+1), clone(fresh[r.IntN(len(fresh))]))
		case len(v) == 0:
		case k < 6:
			i := r.IntN(len(v))
			v = slices.Delete(v, i, i+1)
		case k == 6:
			slices.Reverse(v)
		case k == 7:
			r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
		case k == 8 && r.IntN(4) == 0:
			v = append(v, clone(v[r.IntN(len(v))])) // a duplicate
		case k == 9 && r.IntN(4) == 0:
			return []any{}
		case len(fresh) > 0:
			i := r.IntN(len(v))
			v[i] = evolve(r, v[i], fresh[r.IntN(len(fresh))], nulls)
		}
	}
	return v
}

// clone returns a copy of JSON data.
func clone(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // objects are decoded from JSON
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}
