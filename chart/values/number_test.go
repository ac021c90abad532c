// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"reflect"
	"testing"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/chart"
)

// All parsers keep the details of numbers for scripts that a float64 does not have.
func TestParseNumbers(t *testing.T) {
	want := map[string]any{
		"port": 8080.0, "limit": 9007199254740992.0, "beyond": Long(9007199254740993), "even": 9007199254740994.0,
		"most": Long(9223372036854775807), "least": -9223372036854775808.0, "under": Long(-9007199254740993),
		"one": Real(1), "thousands": Real(2000), "half": 0.5, "zero": Real(0),
		"list": []any{1.0, Real(1), map[string]any{"x": Long(1234567890123456789)}}, "text": "1.0",
	}
	const flow = `{"port": 8080, "limit": 9007199254740992, "beyond": 9007199254740993, "even": 9007199254740994,
 "most": 9223372036854775807, "least": -9223372036854775808, "under": -9007199254740993,
 "one": 1.0, "thousands": 2e3, "half": 0.5, "zero": 0.0, "list": [1, 1.0, {"x": 1234567890123456789}], "text": "1.0"}`
	block := "port: 8080\nlimit: 9007199254740992\nbeyond: 9007199254740993\neven: 9007199254740994\n" +
		"most: 9223372036854775807\nleast: -9223372036854775808\nunder: -9007199254740993\n" +
		"one: 1.0\nthousands: 2e3\nhalf: 0.5\nzero: 0.0\nlist:\n- 1\n- 1.0\n- x: 1234567890123456789\ntext: '1.0'\n"
	for name, read := range map[string]func() (map[string]any, error){
		"a block":         func() (map[string]any, error) { return Parse("values.yaml", []byte(block)) },
		"the slow parser": func() (map[string]any, error) { return slowDocument("values.yaml", []byte(block), 0) },
		"JSON":            func() (map[string]any, error) { return Parse("values.json", []byte(flow)) },
		"JSON that is not YAML": func() (map[string]any, error) {
			m, err := Parse("values.json", []byte(`{"odd": "\ud83d\ude00", `+flow[1:]))
			delete(m, "odd")
			return m, err
		},
		"--set-json": func() (map[string]any, error) { return Options{JSON: []string{flow}}.Build(nil) },
		"--set-json by key": func() (map[string]any, error) {
			m, err := Options{JSON: []string{"a=" + flow}}.Build(nil)
			return m["a"].(map[string]any), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := read(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v\n got %#v\nwant %#v", name, err, got, want)
			}
		})
	}
}

func TestRounded(t *testing.T) {
	plain := map[string]any{"a": 1.0, "b": []any{"x", map[string]any{"c": nil}}}
	if got := Rounded(plain); reflect.ValueOf(got).Pointer() != reflect.ValueOf(plain).Pointer() {
		t.Error("a copy of values that need no rounding")
	}
	kept := map[string]any{"x": 1.0}
	exact := map[string]any{"kept": kept, "list": []any{kept, []any{Real(1)}, Long(9007199254740993)}, "deep": map[string]any{"a": map[string]any{"b": Real(2)}}}
	got := Rounded(exact)
	want := map[string]any{"kept": kept, "list": []any{kept, []any{1.0}, 9007199254740992.0}, "deep": map[string]any{"a": map[string]any{"b": 2.0}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
	if reflect.ValueOf(got["kept"]).Pointer() != reflect.ValueOf(kept).Pointer() {
		t.Error("copied what needs no rounding")
	}
	if exact["list"].([]any)[2] != Long(9007199254740993) || exact["deep"].(map[string]any)["a"].(map[string]any)["b"] != Real(2) {
		t.Error("changed its argument")
	}
	if Rounded(nil) != nil {
		t.Error("nil is not nil")
	}
}

// Records and output have the same numbers as Helm's.
func TestEncodeExactNumbers(t *testing.T) {
	exact := map[string]any{"big": Long(9007199254740993), "huge": Long(9223372036854775807), "one": Real(1), "e": Real(1e21), "l": []any{Real(2e3)}}
	for name, write := range map[string]func(any) ([]byte, error){
		"JSON": json.Marshal, "sigs": sigsyaml.Marshal, "v2": yamlv2.Marshal, "v3": yamlv3.Marshal,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := write(exact)
			if err != nil {
				t.Fatal(err)
			}
			want, err := write(Rounded(exact))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
			}
		})
	}
}

func TestResolveExact(t *testing.T) {
	tree := func(root, sub map[string]any) *chart.Chart {
		c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Values: root}
		c.SetDependencies(&chart.Chart{Metadata: &chart.Metadata{Name: "db"}, Values: sub})
		return c
	}
	one := map[string]any{"l": []any{map[string]any{"one": Real(1)}}}
	plain := map[string]any{"l": []any{1.0, nil}}
	for _, c := range []struct {
		name            string
		root, sub, user map[string]any
		want            bool
	}{
		{"no exact numbers", plain, plain, plain, false},
		{"in the values of the chart", one, plain, nil, true},
		{"in the values of a subchart", plain, one, nil, true},
		{"in the values of the user", plain, plain, one, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Resolve(tree(c.root, c.sub), c.user)
			if err != nil || r.Exact != c.want {
				t.Errorf("exact: got %v, %v, want %v", r.Exact, err, c.want)
			}
			if got := r.Rounded(r.Values); !reflect.DeepEqual(got, Rounded(r.Values)) || !c.want && !same(got, r.Values) {
				t.Errorf("rounded: got %v of %v", got, r.Values)
			}
			if !c.want {
				// Numbers from scripts have no details.
				if got := r.Rounded(one); reflect.DeepEqual(got, one) {
					t.Errorf("not rounded: %v", got)
				}
				return
			}
			if reflect.DeepEqual(Rounded(r.Values), r.Values) {
				t.Error("the values lost their exact numbers")
			}
		})
	}
}
