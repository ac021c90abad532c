// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
)

// These generators make random objects and patches of them. They leave out where kustomize loses what a
// patch says, or fails, and the package does not:
//
//   - null for a label or annotation of metadata, of which kustomize makes the text "null", and null for
//     all of them, which it ignores
//   - items of lists with several keys, such as ports, that do not say all of them in the object and the
//     patch, and items that occur twice
//   - directives that kustomize leaves in objects: $setElementOrder, $retainKeys, $deleteFromPrimitiveList,
//     and $patch in items of lists without merge keys, or of lists that the object does not have
//   - a JSON 6902 copy of what is not there, of which kustomize makes null

// generator makes values of one field, and patches of them.
type generator interface {
	value(r *rand.Rand) any
	// patch returns a patch of have, which is nil if the object does not have the field.
	patch(r *rand.Rand, have any) any
}

// scalar is one of some values.
type scalar []any

func (s scalar) value(r *rand.Rand) any        { return s[r.IntN(len(s))] }
func (s scalar) patch(r *rand.Rand, _ any) any { return s.value(r) }

// words is a list that is replaced as a whole.
type words struct{}

func (words) value(r *rand.Rand) any {
	out := []any{}
	for range r.IntN(4) {
		out = append(out, string(rune('a'+r.IntN(6))))
	}
	return out
}
func (w words) patch(r *rand.Rand, _ any) any { return w.value(r) }

// set is a list of plain values that merges.
type set struct{}

func (set) value(r *rand.Rand) any {
	out := []any{}
	for _, i := range r.Perm(5)[:r.IntN(4)] {
		out = append(out, "x.io/"+string(rune('a'+i)))
	}
	return out
}
func (s set) patch(r *rand.Rand, _ any) any { return s.value(r) }

// table is a map with some of its fields. Texts of metadata have no nulls.
type table struct {
	fields  map[string]generator
	noNulls bool
}

func (t table) keys() []string { return slices.Sorted(maps.Keys(t.fields)) }

func (t table) value(r *rand.Rand) any {
	out := map[string]any{}
	for _, key := range t.keys() {
		if r.IntN(3) > 0 {
			out[key] = t.fields[key].value(r)
		}
	}
	return out
}

func (t table) patch(r *rand.Rand, have any) any {
	old, _ := have.(map[string]any)
	out := map[string]any{}
	if !t.noNulls {
		switch r.IntN(25) {
		case 0:
			return map[string]any{"$patch": "delete"}
		case 1:
			out = t.value(r).(map[string]any)
			out["$patch"] = "replace"
			return out
		case 2:
			out["$patch"] = "merge"
		}
	}
	for _, key := range t.keys() {
		if r.IntN(2) == 0 {
			continue
		}
		if !t.noNulls && r.IntN(8) == 0 {
			out[key] = nil
			continue
		}
		out[key] = t.fields[key].patch(r, old[key])
	}
	return out
}

// items is a list that merges by keys, whose values it makes itself.
type items struct {
	keys   []string
	values func(i int) []any
	fields table
}

func (l items) item(r *rand.Rand, i int) map[string]any {
	out := l.fields.value(r).(map[string]any)
	for k, v := range l.values(i) {
		out[l.keys[k]] = v
	}
	return out
}

func (l items) value(r *rand.Rand) any {
	out := []any{}
	for _, i := range r.Perm(5)[:r.IntN(4)] {
		out = append(out, l.item(r, i))
	}
	return out
}

func (l items) patch(r *rand.Rand, have any) any {
	old, _ := have.([]any)
	out := []any{}
	if r.IntN(20) == 0 && old != nil {
		out = append(out, map[string]any{"$patch": "replace"})
		old = nil
	}
	for _, i := range r.Perm(5)[:r.IntN(4)] {
		was := slices.IndexFunc(old, func(o any) bool {
			for k, v := range l.values(i) {
				if o.(map[string]any)[l.keys[k]] != v {
					return false
				}
			}
			return true
		})
		item := map[string]any{}
		switch {
		case r.IntN(5) == 0 && len(out) == 0:
			item["$patch"] = "delete"
		case was >= 0:
			item = l.fields.patch(r, old[was]).(map[string]any)
			delete(item, "$patch")
		default:
			item = l.item(r, i)
		}
		for k, v := range l.values(i) {
			item[l.keys[k]] = v
		}
		out = append(out, item)
	}
	return out
}

var (
	text   = scalar{"a", "b", "1", "true", "", "a b", "null", "0x1", "- x"}
	number = scalar{int64(0), int64(1), int64(80), int64(-7)}
	truth  = scalar{true, false}
	texts  = table{map[string]generator{"a": text, "b": text, "c.d/e": text}, false}
)

func named(fields map[string]generator) items {
	return items{[]string{"name"}, func(i int) []any { return []any{string(rune('a' + i))} }, table{fields, false}}
}

// meta is the metadata of objects; its name is set later.
func meta(builtIn bool) table {
	labels := table{map[string]generator{"a": text, "b": text}, true}
	fields := map[string]generator{"labels": labels, "annotations": labels, "finalizers": generator(words{})}
	if builtIn {
		fields["finalizers"] = set{}
	}
	return table{fields, true}
}

func podSpec() table {
	ports := items{[]string{"containerPort", "protocol"}, func(i int) []any {
		return []any{int64(80 + i/2), []any{"TCP", "UDP"}[i%2]}
	}, table{map[string]generator{"name": text, "hostPort": number}, false}}
	mounts := items{[]string{"mountPath"}, func(i int) []any { return []any{fmt.Sprintf("/%d", i)} },
		table{map[string]generator{"name": text, "readOnly": truth}, false}}
	container := map[string]generator{
		"image": text, "args": words{}, "stdin": truth, "ports": ports, "volumeMounts": mounts,
		"env":       named(map[string]generator{"value": text}),
		"resources": table{map[string]generator{"limits": texts, "requests": texts}, false},
	}
	spread := items{[]string{"topologyKey", "whenUnsatisfiable"}, func(i int) []any {
		return []any{"t" + strconv.Itoa(i/2), []any{"DoNotSchedule", "ScheduleAnyway"}[i%2]}
	}, table{map[string]generator{"maxSkew": number}, false}}
	return table{map[string]generator{
		"containers": named(container), "initContainers": named(container), "nodeSelector": texts,
		"volumes": named(map[string]generator{"emptyDir": table{map[string]generator{"medium": text}, false},
			"configMap": table{map[string]generator{"name": text, "optional": truth}, false}}),
		"imagePullSecrets": named(nil), "hostNetwork": truth, "topologySpreadConstraints": spread,
		"hostAliases": items{[]string{"ip"}, func(i int) []any { return []any{"10.0.0." + strconv.Itoa(i)} },
			table{map[string]generator{"hostnames": words{}}, false}},
	}, false}
}

// kinds are the kinds of random objects with their fields.
var kinds = []struct {
	apiVersion, kind string
	fields           table
}{
	{"apps/v1", "Deployment", table{map[string]generator{"metadata": meta(true), "spec": table{map[string]generator{
		"replicas": number, "paused": truth,
		"strategy": table{map[string]generator{"type": text, "rollingUpdate": texts}, false},
		"selector": table{map[string]generator{"matchLabels": texts}, false},
		"template": table{map[string]generator{"metadata": table{map[string]generator{"labels": texts}, false}, "spec": podSpec()}, false},
	}, false}}, true}},
	{"batch/v1", "CronJob", table{map[string]generator{"metadata": meta(true), "spec": table{map[string]generator{
		"suspend": truth, "schedule": text,
		"jobTemplate": table{map[string]generator{"spec": table{map[string]generator{"backoffLimit": number,
			"template": table{map[string]generator{"spec": podSpec()}, false}}, false}}, false},
	}, false}}, true}},
	{"v1", "Service", table{map[string]generator{"metadata": meta(true), "spec": table{map[string]generator{
		"type": text, "selector": texts, "externalIPs": words{},
		"ports": items{[]string{"port", "protocol"}, func(i int) []any { return []any{int64(80 + i/2), []any{"TCP", "UDP"}[i%2]} },
			table{map[string]generator{"name": text, "nodePort": number}, false}},
	}, false}}, true}},
	{"v1", "ServiceAccount", table{map[string]generator{"metadata": meta(true),
		"secrets": named(map[string]generator{"namespace": text}), "automountServiceAccountToken": truth}, true}},
	{"v1", "ConfigMap", table{map[string]generator{"metadata": meta(true), "data": texts, "immutable": truth}, true}},
	{"networking.k8s.io/v1", "Ingress", table{map[string]generator{"metadata": meta(true), "spec": table{map[string]generator{
		"ingressClassName": text, "defaultBackend": texts}, false}}, true}},
	{"example.com/v1", "Shop", table{map[string]generator{"metadata": meta(false), "spec": table{map[string]generator{
		"size": number, "names": words{}, "deep": table{map[string]generator{"a": texts, "b": words{}, "c": truth}, false},
	}, false}}, true}},
}

// pair returns a random object and a patch of it.
func pair(r *rand.Rand) (object, patch map[string]any) {
	k := kinds[r.IntN(len(kinds))]
	object = k.fields.value(r).(map[string]any)
	patch = k.fields.patch(r, object).(map[string]any)
	for _, m := range []map[string]any{object, patch} {
		m["apiVersion"], m["kind"] = k.apiVersion, k.kind
		meta, _ := m["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["name"] = "web"
		m["metadata"] = meta
	}
	return object, patch
}

// operations returns a random JSON 6902 patch of an object.
func operations(r *rand.Rand, object map[string]any) []any {
	all := pointers("", object)
	var out []any
	for range 1 + r.IntN(4) {
		at := all[r.IntN(len(all))]
		if strings.HasPrefix(at, "/metadata/") || at == "/metadata" || at == "/kind" || at == "/apiVersion" {
			continue // kustomize keeps what it knows of labels and annotations in them
		}
		op := map[string]any{"op": []any{"add", "replace", "remove", "copy", "move"}[r.IntN(5)], "path": at}
		switch op["op"] {
		case "add":
			if r.IntN(2) == 0 {
				op["path"] = at + "/-"
			}
			op["value"] = texts.value(r)
		case "replace":
			op["value"] = number.value(r)
		case "copy", "move":
			op["from"], op["path"] = at, "/spec/new"
		}
		out = append(out, op)
		if op["op"] == "remove" || op["op"] == "move" || op["op"] == "replace" {
			break // what the next operation copies may be gone
		}
	}
	return out
}

func pointers(at string, v any) []string {
	var out []string
	below := func(key string, v any) {
		here := at + "/" + strings.ReplaceAll(key, "/", "~1")
		out = append(append(out, here), pointers(here, v)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below(key, v[key])
		}
	case []any:
		for i, e := range v {
			below(strconv.Itoa(i), e)
		}
	}
	return out
}

// count returns how many pairs are compared: some hundred, or what MOONHELM_PATCHES says.
func count(t *testing.T) int {
	text := os.Getenv("MOONHELM_PATCHES")
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("MOONHELM_PATCHES: %v", err)
	}
	return n
}

func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestRandom compares strategic merge patches of random objects, and JSON 6902 patches.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	same, changed, failed := 0, 0, 0
	for seed := range uint64(count(t)) {
		r := rand.New(rand.NewPCG(seed, 1))
		object, merge := pair(r)
		body := any(merge)
		if r.IntN(4) == 0 {
			body = operations(r, object)
			if reflect.DeepEqual(body, []any(nil)) {
				continue
			}
		}
		raw, err := manifest.Encode(object)
		if err != nil {
			t.Fatal(err)
		}
		entry := []any{map[string]any{"patch": quoted(body), "target": map[string]any{"kind": object["kind"]}}}
		in := input{resources: raw, patches: "patches: " + quoted(entry) + "\n"}
		theirs, theirErr := in.kustomized()
		ours, ourErr := in.patched()
		switch {
		case theirErr != nil && (ourErr != nil || strings.HasPrefix(theirErr.Error(), "updating name reference")):
			failed++ // references to names are a step of kustomize after the patches
			continue
		case (theirErr != nil) != (ourErr != nil):
			t.Errorf("seed %d: ours: %v\nkustomize: %v\n%s\npatch: %s", seed, ourErr, theirErr, raw, quoted(body))
			continue
		}
		got, want := contents(t, ours), contents(t, theirs)
		if !reflect.DeepEqual(normal(got), normal(want)) {
			t.Errorf("seed %d:\n%s\npatch: %s\ngot  %s\nwant %s", seed, raw, quoted(body), quoted(got), quoted(want))
			continue
		}
		same++
		if !reflect.DeepEqual(got, []map[string]any{object}) {
			changed++
		}
	}
	t.Logf("%d pairs give the same object, %d of them a changed one; %d patches fail in both", same, changed, failed)
	if changed < count(t)/2 {
		t.Errorf("only %d patches change anything", changed)
	}
}

// normal returns objects without empty labels and annotations of metadata, which kustomize leaves out.
func normal(objects []map[string]any) any {
	var out []map[string]any
	if err := json.Unmarshal([]byte(quoted(objects)), &out); err != nil {
		panic(err)
	}
	for _, o := range out {
		meta := o["metadata"].(map[string]any)
		maps.DeleteFunc(meta, func(key string, v any) bool {
			m, ok := v.(map[string]any)
			return ok && len(m) == 0 && (key == "labels" || key == "annotations")
		})
	}
	return out
}
