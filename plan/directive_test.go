// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestDirective(t *testing.T) {
	for _, tc := range []struct{ kind, manifest, path string }{
		{"v1 Pod", `{spec: {containers: [{name: a}, {name: b, $patch: delete}]}}`, "spec.containers[1].$patch"},
		{"v1 Pod", `{spec: {containers: [{$patch: replace}]}}`, "spec.containers[0].$patch"},
		{"apps/v1 Deployment", `{spec: {strategy: {$retainKeys: [type], type: Recreate}}}`, "spec.strategy.$retainKeys"},
		{"v1 Pod", `{spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a}]}}`, "spec.$setElementOrder/containers"},
		{"v1 ConfigMap", `{metadata: {$deleteFromPrimitiveList/finalizers: [a/b]}}`, "metadata.$deleteFromPrimitiveList/finalizers"},
		{"v1 ConfigMap", `{$patch: delete}`, "$patch"},
		{"v1 ConfigMap", `{metadata: {labels: {a.b/c: x}}, data: {a$patch: b, $patchy: c}}`, ""},
		{"example.com/v1 Patch", `{spec: {patches: [{$patch: delete}], $patch: merge}}`, ""}, // data
	} {
		for _, live := range []string{"", "{}"} {
			t.Run(tc.kind+" "+tc.manifest+live, func(t *testing.T) {
				item := newItem(t, tc.kind, live, tc.manifest)
				_, err := Compute([]Item{item}, Options{})
				if tc.path == "" {
					if err != nil {
						t.Errorf("the error is %v", err)
					}
					return
				}
				var e *Error
				if !errors.As(err, &e) || e.Path != tc.path || !strings.Contains(err.Error(), "is a directive of strategic merge patches") {
					t.Errorf("the error is %v, want one about %s", err, tc.path)
				}
			})
		}
	}
}

// Records written by Helm may contain directives, which Helm has sent as part of a patch.
func TestDirectiveInOldManifest(t *testing.T) {
	item := newItem(t, "v1 Pod", `{spec: {containers: [{name: a, image: x}, {name: b, image: b}]}}`, `{spec: {containers: [{name: a, image: y}]}}`,
		`{spec: {$setElementOrder/containers: [{name: a}], containers: [{$patch: replace}, {name: a, image: x, $retainKeys: [name]}, {name: b, $patch: delete}]}}`)
	s := computeOne(t, item, Options{})
	want := newItem(t, "v1 Pod", `{spec: {containers: [{name: a, image: y}, {name: b, image: b}]}}`, "").Live
	if !equalJSON(s.After, want) {
		t.Errorf("after is\n%s\nby %s", FormatObject(s.After), s.Patch)
	}
}

// addDirective adds a directive to a map in v, and reports whether there is one.
func addDirective(r *rand.Rand, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if r.IntN(3) == 0 && key != "metadata" && addDirective(r, e) {
				return true
			}
		}
		switch r.IntN(4) {
		case 0:
			v[directive] = pick(r, "delete", "replace", "merge", nil, int64(1))
		case 1:
			v[retainDirective] = pick(r, []any{"name"}, []any{}, "x")
		case 2:
			v[orderPrefix+"containers"] = pick(r, []any{map[string]any{"name": "k1"}}, []any{"x"}, nil)
		case 3:
			v[primitivePrefix+"finalizers"] = pick(r, []any{"a"}, map[string]any{})
		}
		return true
	case []any:
		for _, e := range v {
			if r.IntN(2) == 0 && addDirective(r, e) {
				return true
			}
		}
	}
	return false
}

// checkDirectives adds directives to random manifests. In a new manifest they are an error; in
// an old one they only delete items.
func checkDirectives(t testing.TB, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	k := referenceKinds[r.IntN(len(referenceKinds))]
	head := func(v any) map[string]any {
		m := roundTrip(t, v).(map[string]any)
		m["apiVersion"], m["kind"], m["metadata"] = k.apiVersion, k.kind, map[string]any{"name": "web"}
		return m
	}
	first := k.spec.generate(r)
	item := Item{Ref: Ref{APIVersion: k.apiVersion, Kind: k.kind, Name: "web"}, Live: head(k.spec.change(r, first)), New: head(k.spec.change(r, first))}
	old := head(first)
	addDirective(r, old)
	item.Old = []map[string]any{old}
	got, err := Compute([]Item{item}, Options{})
	if err != nil {
		t.Fatalf("seed %d: error for a directive in an old manifest: %v", seed, err)
	}
	if k.typed != nil {
		item.Old = []map[string]any{withoutDirectives(old).(map[string]any)}
		want, err := Compute([]Item{item}, Options{})
		if err != nil || !reflect.DeepEqual(got.Steps[0].After, want.Steps[0].After) || string(got.Steps[0].Patch) != string(want.Steps[0].Patch) {
			t.Fatalf("seed %d: old %s\npatch %s\nwant  %s (%v)", seed, marshal(t, old), got.Steps[0].Patch, want.Steps[0].Patch, err)
		}
	}
	addDirective(r, item.New)
	_, err = Compute([]Item{item}, Options{ServerSide: r.IntN(2) == 0})
	var refused *Error
	if is := errors.As(err, &refused) && isDirective(refused.Path[strings.LastIndex(refused.Path, "$"):]); is != (k.typed != nil) {
		t.Fatalf("seed %d: %s: %v", seed, marshal(t, item.New), err)
	}
}

func TestDirectivesRandom(t *testing.T) {
	for seed := range uint64(1500) {
		checkDirectives(t, seed)
	}
}

func FuzzDirectives(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkDirectives(t, seed) })
}
