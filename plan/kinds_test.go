// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
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

// kinds.txt is generated from the types of k8s.io/api. Run this test with -update after an
// update of that module.
func TestKindsText(t *testing.T) {
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
		t.Error("kinds.txt is not up to date: run go test ./plan -run TestKindsText -update")
	}
}

// typeTable collects the types that have merge rules of their own.
type typeTable struct {
	ids   map[reflect.Type]string
	lines []string
	maps  map[string]bool // names of fields: every field of that name is a map of plain values
	quant map[string]bool // names of fields: every field of that name holds quantities
	texts map[string]bool // names of fields: every field of that name is a map of strings, bytes or quantities
	zeros map[string]bool // names of fields: no field of that name distinguishes its zero value from a missing one
	open  map[string]bool // names of fields: some field of that name is a map with keys of its own
	seen  map[reflect.Type]bool
	apply *schema.Schema  // of server-side apply
	found map[string]bool // names of conventions that a type has
}

// taglessUnions are unions that are only documented, without tags, by the names of their
// types: alternative fields, "" for all fields of the type, or a discriminator with its
// values.
var taglessUnions = map[string]string{
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

// discriminated are the discriminator values for the fields of unions with tags.
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
	slices.Sort(gvks)
	for _, name := range gvks {
		gv, kind, _ := strings.Cut(name, " ")
		tt.addNames(byName[name])
		groups[gv] = append(groups[gv], kind+"="+tt.node(byName[name], true))
	}
	// Rare types use these names for other fields, which charts do not leave empty or
	// remove as a whole, or for pointers with the same meaning.
	for _, name := range []string{"data", "limits", "nodeSelector", "requests"} {
		tt.maps[name], tt.texts[name] = true, true
	}
	for _, name := range []string{"capacity", "limits", "requests"} {
		tt.quant[name] = true
	}
	for _, name := range []string{"name", "protocol", "readOnly", "type", "value"} {
		tt.zeros[name] = true
	}
	for name := range taglessUnions {
		if !tt.found[name] {
			panic("no type is called " + name + " any more, or its fields are called otherwise")
		}
	}
	var b strings.Builder
	b.WriteString("# Generated from the Go types of the Kubernetes API by TestKindsText.\n")
	fmt.Fprintf(&b, "maps %s\n", strings.Join(trueNames(tt.maps), " "))
	fmt.Fprintf(&b, "quantities %s\n", strings.Join(trueNames(tt.quant), " "))
	fmt.Fprintf(&b, "texts %s\n", strings.Join(trueNames(tt.texts), " "))
	fmt.Fprintf(&b, "zeros %s\n", strings.Join(trueNames(tt.zeros), " "))
	fmt.Fprintf(&b, "open %s\n", strings.Join(slices.Sorted(maps.Keys(tt.open)), " "))
	for i, l := range tt.lines {
		fmt.Fprintf(&b, "type %d %s\n", i, l)
	}
	for _, gv := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&b, "kinds %s %s\n", gv, strings.Join(groups[gv], " "))
	}
	return b.String()
}

func trueNames(m map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return !m[k] })
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

// addNames adds the names of fields to the sets of names with special values.
func (tt *typeTable) addNames(t reflect.Type) {
	t = bare(t)
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		tt.addNames(t.Elem())
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
			setName(tt.maps, name, isMap)
			setName(tt.texts, name, ft.Kind() == reflect.Map && readsNullAsEmpty(ft.Elem()))
			// A field without omitempty always exists.
			if left := strings.Contains(f.Tag.Get("json"), "omitempty"); left || !isPlainZero(f.Type) {
				setName(tt.zeros, name, isPlainZero(f.Type))
			}
			if f.Type.Kind() == reflect.Map || ft == reflect.TypeFor[runtime.RawExtension]() {
				tt.open[name] = true
			}
			setName(tt.quant, name, ft == quantity || ft.Kind() == reflect.Map && ft.Elem() == quantity)
		}
		tt.addNames(f.Type)
	}
}

// readsNullAsEmpty reports whether the server reads a null as an empty value of the type.
func readsNullAsEmpty(t reflect.Type) bool {
	return t.Kind() == reflect.String || t == reflect.TypeFor[[]byte]() || t == quantity
}

// isPlainZero reports whether the type is a plain value and not a pointer.
func isPlainZero(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

func setName(m map[string]bool, name string, is bool) {
	if had, known := m[name]; known && !had {
		return
	}
	m[name] = is
}

// node returns the id of the line that describes a struct, or "-" if none of its fields has a
// merge rule.
func (tt *typeTable) node(t reflect.Type, root bool) string {
	t = bare(t)
	if t.Kind() != reflect.Struct || t == quantity {
		return "-"
	}
	if id, ok := tt.ids[t]; ok {
		return id
	}
	tt.ids[t] = "-" // recursive type
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

// fields returns the words for the fields of t, which is inlined in, or is, outer.
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

// unions returns the words for the unions of a type.
func (tt *typeTable) unions(t reflect.Type) []string {
	has := map[string]bool{}
	var all []string
	for i := range t.NumField() {
		if name, inline := jsonName(t.Field(i)); !inline {
			has[name] = true
			all = append(all, name)
		}
	}
	members, known := taglessUnions[t.Name()]
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

// applySchema returns the schema of server-side apply for built-in types.
func applySchema() *schema.Schema {
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
	typed, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(service)
	if err != nil {
		panic(err)
	}
	return typed.Schema()
}

// applyType returns a struct in that schema; ok is false if the schema does not have it.
func (tt *typeTable) applyType(t reflect.Type) (*schema.Map, bool) {
	name := strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1), "/", ".") + "." + t.Name()
	def, ok := tt.apply.FindNamedType(name)
	return def.Map, ok && def.Map != nil
}

// keys returns the keys of the list called name in a struct, the merge key first: those of the
// server's schema, if it has the type. The merge key is optional if its type omits an empty
// one.
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
