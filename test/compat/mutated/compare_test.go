// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/moonhelm/moonhelm/chart"
)

func output(docs ...string) *Output {
	out := &Output{}
	for _, d := range docs {
		source, text, _ := strings.Cut(d, "|")
		out.Documents = append(out.Documents, Document{source, text})
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name       string
		ours, helm *Output
		want       []string // source and path of the differences
	}{
		{"equal", output("a|x: 1", "b|y: 2"), output("a|x: 1", "b|y: 2"), nil},
		{"equal as data", output("a|{y: [1, b], x: 1}"), output("a|x: 1 # one\ny:\n- 1\n- \"b\"\n"), nil},
		{"both fail", &Output{Error: "x"}, &Output{Error: "y"}, nil},
		{"ours fails", &Output{Error: "x"}, output("a|x: 1"), []string{" fails"}},
		{"Helm fails", output("a|x: 1"), &Output{Error: "x"}, []string{" fails"}},
		{"another order", output("b|x: 1", "a|x: 1"), output("a|x: 1", "b|x: 1"), []string{" documents"}},
		{"one less", output("a|x: 1"), output("a|x: 1", "b|x: 1"), []string{" documents"}},
		{"empty documents do not count", output("a|x: 1", "b|"), output("b|\n", "a|x: 1"), nil},
		{"a value", output("a|x: {k: 1, z: 1}"), output("a|x: {k: 2, z: 1}"), []string{"a .x.k"}},
		{"a type", output("a|x: 1"), output("a|x: \"1\""), []string{"a .x"}},
		{"null and nothing", output("a|{x: null}"), output("a|{}"), []string{"a .x"}},
		{"a key of ours", output("a|{x: 1}"), output("a|{}"), []string{"a .x"}},
		{"an item", output("a|x: [1, {k: 2}]"), output("a|x: [1, {k: 3}]"), []string{"a .x[1].k"}},
		{"the length of a list", output("a|x: [1]"), output("a|x: [1, 1]"), []string{"a .x"}},
		{"invalid on both sides", output("a|x: ]1"), output("a|x: ]2"), []string{"a "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, d := range Compare(test.ours, test.helm) {
				got = append(got, d.Source+" "+d.Path)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the differences are %q, want %q", got, test.want)
			}
		})
	}
}

func TestRandomValuesAreNoDifferences(t *testing.T) {
	once, again := output("a|{password: x, name: n}"), output("a|{password: y, name: n}")
	diffs := Compare(output("a|{password: z, name: m}"), once)
	kept, random := Random(diffs, once, again)
	if len(kept) != 1 || kept[0].Path != ".name" || random != 1 {
		t.Errorf("kept are %v, random are %d; want .name alone, and 1", kept, random)
	}
}

func TestReduceLeavesWhatIsNeeded(t *testing.T) {
	c := &Case{Name: "other", KubeVersion: "1.20", IsUpgrade: true}
	for i := range 13 {
		c.Edits = append(c.Edits, Edit{Path: []string{fmt.Sprint(i)}})
	}
	has := func(c *Case, key string) bool {
		return slices.ContainsFunc(c.Edits, func(e Edit) bool { return e.Path[0] == key })
	}
	small, err := reduce(c, func(c *Case) (bool, error) { return has(c, "3") && has(c, "11") && c.IsUpgrade, nil })
	if err != nil {
		t.Fatal(err)
	}
	want := &Case{
		Name: "rel", Namespace: "ns", KubeVersion: "1.36.0", IsUpgrade: true,
		Edits: []Edit{{Path: []string{"3"}}, {Path: []string{"11"}}},
	}
	if !reflect.DeepEqual(small, want) {
		t.Errorf("the case is reduced to %+v, want %+v", small, want)
	}
}

// TestFlagsAndFilesSayTheSame compares the forms of an edit: reading returns what was written.
func TestFlagsAndFilesSayTheSame(t *testing.T) {
	s := &Source{text: []byte("a:\n  b: 1 # one\n  c: [x]\nd: &d {e: 1}\nf: *d\n")}
	c := &Case{Chart: s, Edits: []Edit{
		{[]string{"a", "b"}, "two\nlines\n", InDefaults},
		{[]string{"a", "c"}, Removed{}, InDefaults},
		{[]string{"g", "h"}, Raw("0o17"), InDefaults},
		{[]string{"a", "x.y"}, map[string]any{"z": []any{nil, "- a", 1.5}}, InFile},
		{[]string{"a", "x.y", "w"}, "a, b", InFile},
		{[]string{"a"}, true, InSecond},
		{[]string{"p.q", "r=s"}, `c,d\e`, BySet},
		{[]string{"t"}, []any{1}, BySetString},
		{[]string{"u"}, nil, BySet},
		{[]string{"v"}, "x=1,y", BySetLiteral},
	}}
	for seed := range uint64(200) { // each style
		call, err := c.call(seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []struct{ what, got, want string }{
			{"values.yaml", *call.Defaults, "{a: {b: \"two\\nlines\\n\"}, d: {e: 1}, f: {e: 1}, g: {h: 15}}"},
			{"the first file", call.texts[0], `{a: {x.y: {z: [null, "- a", 1.5], w: "a, b"}}}`},
			{"the second file", call.texts[1], "{a: true}"},
		} {
			var got, want any
			if err := yaml.Unmarshal([]byte(l.got), &got); err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l.what, err, l.got)
			}
			if err := yaml.Unmarshal([]byte(l.want), &want); err != nil {
				t.Fatal(err)
			}
			// The final line feed of a document is not part of a block scalar at
			// its end.
			if !reflect.DeepEqual(got, want) && !(l.what == "values.yaml" && !strings.HasSuffix(l.got, "\n")) {
				t.Errorf("seed %d: %s is %v, want %v\n%s", seed, l.what, got, want, l.got)
			}
		}
	}
	call, err := c.call(1)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(call.args("dir", []string{"f"})[5:], " ")
	want := `-f f --set p\.q.r\=s=c\,d\\e --set u=null --set-json t=[1] --set-literal v=x=1,y`
	if got != want {
		t.Errorf("the flags are %s, want %s", got, want)
	}
}

// TestGenerateIsRepeatable generates a case twice.
func TestGenerateIsRepeatable(t *testing.T) {
	s := &Source{tree: map[string]any{"a": map[string]any{"on": true, "n": 1, "l": []any{"x"}}, "s": "text"}}
	s.loaded = named("web")
	s.collect(nil, s.tree)
	kinds := map[Form]bool{}
	for n := range uint64(500) {
		one, two := Generate([]*Source{s}, nil, 3, n), Generate([]*Source{s}, nil, 3, n)
		if !reflect.DeepEqual(one, two) {
			t.Fatalf("case %d is made twice and differs", n)
		}
		for _, e := range one.Edits {
			kinds[e.Form] = true
		}
	}
	if len(kinds) != int(forms) {
		t.Errorf("500 cases have edits of the forms %v, want all %d", kinds, forms)
	}
}

func named(name string) *chart.Chart { return &chart.Chart{Metadata: &chart.Metadata{Name: name}} }
