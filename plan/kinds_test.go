// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

var update = flag.Bool("update", false, "write kinds.txt out of the Go types of the Kubernetes API")

// kinds.txt is made of the types of k8s.io/api: who raises its version runs
// this test with -update.
func TestTableOfKindsIsThatOfTheTypes(t *testing.T) {
	want := []byte(generateKinds())
	if *update {
		if err := os.WriteFile("kinds.txt", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile("kinds.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("kinds.txt is not what the types say: go test ./plan -run TableOfKinds -update")
	}
}

// typeTable collects the types that merge otherwise than by plain rules.
type typeTable struct {
	ids   map[reflect.Type]string
	lines []string
	maps  map[string]bool // names of fields: every field of that name is a map of plain values
	quant map[string]bool // names of fields: every field of that name holds quantities
	texts map[string]bool // names of fields: every field of that name is a map of texts, bytes or quantities
	zeros map[string]bool // names of fields: no field of that name tells its zero value from none
	open  map[string]bool // names of fields: some field of that name is a map with keys of its own
	seen  map[reflect.Type]bool
	apply *schema.Schema  // what server-side apply knows of the types
	found map[string]bool // names of conventions that a type has
}

// conventions are unions that the API's documentation describes and no tag does,
// by the names of their types: fields of which one may be set, "" for all that
// the type has, or a discriminator with its values.
var conventions = map[string]string{
	"EnvVar":                    "value,valueFrom",
	"EnvVarSource":              "",
	"ProbeHandler":              "",
	"LifecycleHandler":          "",
	"PersistentVolumeSource":    "",
	"PodDisruptionBudgetSpec":   "minAvailable,maxUnavailable",
	"IngressBackend":            "service,resource",
	"ServiceBackendPort":        "name,number",
	"WebhookClientConfig":       "url,service",
	"ParamRef":                  "name,selector",
	"DeploymentStrategy":        "type,RollingUpdate=rollingUpdate",
	"StatefulSetUpdateStrategy": "type,RollingUpdate=rollingUpdate",
	"DaemonSetUpdateStrategy":   "type,RollingUpdate=rollingUpdate",
}

// discriminated are the values by which discriminators name the fields of the
// unions that have tags.
var discriminated = map[string]string{
	"localhostProfile": "Localhost", "queuing": "Queue", "limited": "Limited", "exempt": "Exempt",
	"group": "Group", "serviceAccount": "ServiceAccount", "user": "User",
}

func generateKinds() string {
	tt := &typeTable{
		ids: map[reflect.Type]string{}, maps: map[string]bool{}, quant: map[string]bool{}, texts: map[string]bool{},
		zeros: map[string]bool{}, open: map[string]bool{}, seen: map[reflect.Type]bool{},
		apply: applySchema(), found: map[string]bool{},
	}
	groups := map[string][]string{}
	all := scheme.Scheme.AllKnownTypes()
	gvks := make([]string, 0, len(all))
	byName := map[string]reflect.Type{}
	for gvk, typ := range all {
		f, ok := typ.FieldByName("ObjectMeta")
		if !ok || f.Type != reflect.TypeFor[metav1.ObjectMeta]() || strings.HasSuffix(gvk.Kind, "List") || gvk.Version == "__internal" {
			continue
		}
		name := gvk.GroupVersion().String() + " " + gvk.Kind
		gvks = append(gvks, name)
		byName[name] = typ
	}
	sort.Strings(gvks)
	for _, name := range gvks {
		gv, kind, _ := strings.Cut(name, " ")
		tt.names(byName[name])
		groups[gv] = append(groups[gv], kind+"="+tt.node(byName[name], true))
	}
	// A rare type uses the name for something else, which no chart leaves empty
	// or removes whole, or has a pointer that means the same.
	for _, name := range []string{"data", "limits", "nodeSelector", "requests"} {
		tt.maps[name], tt.texts[name] = true, true
	}
	for _, name := range []string{"capacity", "limits", "requests"} {
		tt.quant[name] = true
	}
	for _, name := range []string{"name", "protocol", "readOnly", "type", "value"} {
		tt.zeros[name] = true
	}
	for name := range conventions {
		if !tt.found[name] {
			panic("no type is called " + name + " any more, or its fields are called otherwise")
		}
	}
	var b strings.Builder
	b.WriteString("# Made of the Go types of the Kubernetes API by TestTableOfKindsIsThatOfTheTypes.\n")
	fmt.Fprintf(&b, "maps %s\n", strings.Join(trueNames(tt.maps), " "))
	fmt.Fprintf(&b, "quantities %s\n", strings.Join(trueNames(tt.quant), " "))
	fmt.Fprintf(&b, "texts %s\n", strings.Join(trueNames(tt.texts), " "))
	fmt.Fprintf(&b, "zeros %s\n", strings.Join(trueNames(tt.zeros), " "))
	fmt.Fprintf(&b, "open %s\n", strings.Join(sortedKeys(tt.open), " "))
	for i, l := range tt.lines {
		fmt.Fprintf(&b, "type %d %s\n", i, l)
	}
	for _, gv := range sortedKeys(groups) {
		fmt.Fprintf(&b, "kinds %s %s\n", gv, strings.Join(groups[gv], " "))
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func trueNames(m map[string]bool) []string {
	return slices.DeleteFunc(sortedKeys(m), func(k string) bool { return !m[k] })
}

func bare(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func jsonName(f reflect.StructField) (name string, inline bool) {
	name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, name == "" && (f.Anonymous || strings.Contains(rest, "inline"))
}

var quantity = reflect.TypeFor[resource.Quantity]()

// names notes what the names of fields stand for, wherever they occur.
func (tt *typeTable) names(t reflect.Type) {
	t = bare(t)
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		tt.names(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if tt.seen[t] || t == quantity {
		return
	}
	tt.seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline := jsonName(f)
		if name != "" && name != "-" && !inline {
			ft := bare(f.Type)
			isMap := ft.Kind() == reflect.Map && strings.Contains(f.Tag.Get("json"), "omitempty")
			note(tt.maps, name, isMap)
			note(tt.texts, name, ft.Kind() == reflect.Map && holdsText(ft.Elem()))
			// One without omitempty is always there.
			if left := strings.Contains(f.Tag.Get("json"), "omitempty"); left || !zeroIsPlain(f.Type) {
				note(tt.zeros, name, zeroIsPlain(f.Type))
			}
			if f.Type.Kind() == reflect.Map || ft == reflect.TypeFor[runtime.RawExtension]() {
				tt.open[name] = true
			}
			note(tt.quant, name, ft == quantity || ft.Kind() == reflect.Map && ft.Elem() == quantity)
		}
		tt.names(f.Type)
	}
}

// holdsText reports whether the server reads a null as an empty value of the type.
func holdsText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t == reflect.TypeFor[[]byte]() || t == quantity
}

// zeroIsPlain reports whether the type's zero value is a plain value, and no pointer.
func zeroIsPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

func note(m map[string]bool, name string, is bool) {
	if had, known := m[name]; known && !had {
		return
	}
	m[name] = is
}

// node returns the name of the line that describes a struct, "-" where nothing
// in it merges in a way of its own.
func (tt *typeTable) node(t reflect.Type, root bool) string {
	t = bare(t)
	if t.Kind() != reflect.Struct || t == quantity {
		return "-"
	}
	if id, ok := tt.ids[t]; ok {
		return id
	}
	tt.ids[t] = "-" // a type inside itself
	line := strings.Join(tt.fields(t, t, root), " ")
	if line == "" {
		return "-"
	}
	at := slices.Index(tt.lines, line)
	if at < 0 {
		at = len(tt.lines)
		tt.lines = append(tt.lines, line)
	}
	tt.ids[t] = fmt.Sprint(at)
	return tt.ids[t]
}

// fields are the words for the fields of t, which is inlined in, or is, outer.
func (tt *typeTable) fields(outer, t reflect.Type, root bool) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline := jsonName(f)
		if inline {
			out = append(out, tt.fields(outer, bare(f.Type), false)...)
			continue
		}
		if name == "-" || name == "" || name == "status" && root || name == "managedFields" {
			continue
		}
		strategy, key := f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
		ft := bare(f.Type)
		flags := ""
		for s := range strings.SplitSeq(strategy, ",") {
			flags += map[string]string{"": "", "merge": "m", "replace": "p", "retainKeys": "k"}[s]
		}
		child := "-"
		switch {
		case ft.Kind() == reflect.Slice && strings.Contains(flags, "m"):
			child = tt.node(ft.Elem(), false)
		case ft.Kind() == reflect.Struct:
			child = tt.node(ft, false)
		}
		if child == "-" && flags == "" {
			continue
		}
		keys := tt.keys(outer, ft, name, key)
		out = append(out, strings.TrimRight(strings.Join([]string{name, child, flags, keys}, ":"), ":"))
	}
	return append(out, tt.unions(t)...)
}

// unions are the words for the unions of a type.
func (tt *typeTable) unions(t reflect.Type) []string {
	has := map[string]bool{}
	var all []string
	for i := range t.NumField() {
		if name, inline := jsonName(t.Field(i)); !inline {
			has[name] = true
			all = append(all, name)
		}
	}
	members, known := conventions[t.Name()]
	if known && members == "" {
		members = strings.Join(all, ",")
	}
	for word := range strings.SplitSeq(members, ",") {
		_, name, named := strings.Cut(word, "=")
		if !named {
			name = word
		}
		known = known && has[name]
	}
	if known {
		tt.found[t.Name()] = true
		return []string{"|" + members}
	}
	m, ok := tt.applyType(t)
	if !ok {
		return nil
	}
	var out []string
	for _, u := range m.Unions {
		word := "|"
		if u.Discriminator != nil {
			word += *u.Discriminator + ","
		} else if len(u.Fields) == 1 {
			continue
		}
		for i, f := range u.Fields {
			if i > 0 {
				word += ","
			}
			if u.Discriminator != nil {
				when := discriminated[f.FieldName]
				if when == "" {
					panic(fmt.Sprintf("%s of %s: which value of %s stands for it?", f.FieldName, t, *u.Discriminator))
				}
				word += when + "="
			}
			word += f.FieldName
		}
		out = append(out, word)
	}
	return out
}

// applySchema is the schema by which the API server applies its own types.
func applySchema() *schema.Schema {
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
	typed, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(service)
	if err != nil {
		panic(err)
	}
	return typed.Schema()
}

// applyType is a struct in that schema, false where the schema does not have it.
func (tt *typeTable) applyType(t reflect.Type) (*schema.Map, bool) {
	name := strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1), "/", ".") + "." + t.Name()
	def, ok := tt.apply.FindNamedType(name)
	return def.Map, ok && def.Map != nil
}

// keys are the fields that name the items of the list called name in a struct,
// the merge key first: those of the server's schema, where that has the type. The
// merge key may be left out where its type leaves it out when it is empty.
func (tt *typeTable) keys(t, listType reflect.Type, name, mergeKey string) string {
	if mergeKey == "" {
		return ""
	}
	keys := mergeKey
	for i := range bare(listType.Elem()).NumField() {
		f := bare(listType.Elem()).Field(i)
		if key, rest, _ := strings.Cut(f.Tag.Get("json"), ","); key == mergeKey && rest == "omitempty" && f.Type.Kind() == reflect.String {
			keys += "="
		}
	}
	m, ok := tt.applyType(t)
	if !ok {
		return keys
	}
	f, ok := m.FindField(name)
	if !ok {
		panic(fmt.Sprintf("the schema of %s has no %s", t, name))
	}
	list, ok := tt.apply.Resolve(f.Type)
	if !ok || list.List == nil || list.List.ElementRelationship != schema.Associative || !slices.Contains(list.List.Keys, mergeKey) {
		panic(fmt.Sprintf("%s.%s merges by %s, and server-side apply knows nothing of it", t, name, mergeKey))
	}
	item, _ := tt.apply.Resolve(list.List.ElementType)
	for _, key := range list.List.Keys {
		if key == mergeKey {
			continue
		}
		keys += "," + key
		if part, _ := item.FindField(key); part.Default != nil {
			keys += "=" + part.Default.(string)
		}
	}
	return keys
}
