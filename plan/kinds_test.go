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

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
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
	zeros map[string]bool // names of fields: no field of that name tells its zero value from none
	open  map[string]bool // names of fields: some field of that name is a map with keys of its own
	seen  map[reflect.Type]bool
}

func generateKinds() string {
	tt := &typeTable{
		ids: map[reflect.Type]string{}, maps: map[string]bool{}, quant: map[string]bool{},
		zeros: map[string]bool{}, open: map[string]bool{}, seen: map[reflect.Type]bool{},
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
		tt.maps[name] = true
	}
	for _, name := range []string{"capacity", "limits", "requests"} {
		tt.quant[name] = true
	}
	for _, name := range []string{"name", "protocol", "readOnly", "type", "value"} {
		tt.zeros[name] = true
	}
	var b strings.Builder
	b.WriteString("# Made of the Go types of the Kubernetes API by TestTableOfKindsIsThatOfTheTypes.\n")
	fmt.Fprintf(&b, "maps %s\n", strings.Join(trueNames(tt.maps), " "))
	fmt.Fprintf(&b, "quantities %s\n", strings.Join(trueNames(tt.quant), " "))
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

// zeroIsPlain tells whether the type's zero value is a plain value, and no pointer.
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
	line := strings.Join(tt.fields(t, root), " ")
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

func (tt *typeTable) fields(t reflect.Type, root bool) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline := jsonName(f)
		if inline {
			out = append(out, tt.fields(bare(f.Type), false)...)
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
		out = append(out, strings.TrimRight(strings.Join([]string{name, child, flags, key}, ":"), ":"))
	}
	return out
}
