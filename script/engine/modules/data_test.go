// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	rt "github.com/arnodel/golua/runtime"
	"go.yaml.in/yaml/v2"
	yaml3 "go.yaml.in/yaml/v3"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func TestYAMLIsReadAsValuesAre(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`yaml.decode("a: 8080\nb: 9007199254740993\nc: 2.0\nd: null\ne: {}\nf: []")`, `{a:8080 b:9007199254740993 c:2.0 d:null e:{} f:[]}`},
		{`yaml.decode("{a: yes, b: off, c: 0777, d: 0x1F, e: 1e3, f: 1_000, g: ~, h: 'yes', i: 2001-01-01, j: 12:30:45}")`,
			`{a:true b:false c:511 d:31 e:1000.0 f:1000 g:null h:"yes" i:"2001-01-01" j:"12:30:45"}`},
		{`yaml.decode("18446744073709551615")`, `1.8446744073709552e+19`},
		{`yaml.decode("{1: one, true: yes, 2.5: x, '1': text}")`, `{1:"text" 2.5:"x" true:true}`},
		{`yaml.decode("a: 1\na: 2")`, `{a:2}`},
		{`yaml.decode("base: &b {w: 1, x: 2}\nuse: {<<: *b, x: 3}")`, `{base:{w:1 x:2} use:{w:1 x:3}}`},
		{`yaml.decode("- |\n  two\n  lines\n- >-\n  one\n  line")`, `["two\nlines\n" "one line"]`},
		{`{yaml.decode(""), yaml.decode("# nothing"), yaml.decode("---\n"), yaml.decode("null")}`, `[null null null null]`},
		{`yaml.decode("text")`, `"text"`},
		{`yaml.decode('{"a": "\\/ \\ud83d\\ude00"}')`, `{a:"/ 😀"}`},
		{`yaml.decode("!!binary /w==")`, `"\xff"`},
		{`yaml.decode("a: 1\n---\nb: 2")`, `error: yaml.decode: the text holds 2 documents; yaml.decodeAll reads them`},
		{`yaml.decode("a: 1\n---\n# no more\n")`, `{a:1}`},
		{`yaml.decodeAll("---\na: 1\n---\n# nothing\n---\n- b\n---\n")`, `[{a:1} ["b"]]`},
		{`yaml.decodeAll("")`, `[]`},
		{`yaml.decode("a: [1\nb: 2")`, `error: yaml.decode: line 1: did not find expected ',' or ']'`},
		{`yaml.decode("a: *nobody")`, `error: yaml.decode: unknown anchor 'nobody' referenced`},
		{`yaml.decode("a: &a [*a]")`, `error: yaml.decode: anchor 'a' value contains itself`},
		{`yaml.decode(".inf")`, `error: yaml.decode: the document holds +Inf; data holds finite numbers only`},
		{`yaml.decode("{[1]: x}")`, `error: yaml.decode: invalid map key: []interface {}{1}`},
		{`yaml.decode(("["):rep(300) .. ("]"):rep(300))`, `error: yaml.decode: the document nests deeper than 200 levels`},
		{`yaml.decode({})`, `error: bad argument #1 to 'yaml.decode' (text expected, got table)`},
		{`yaml.decode()`, `error: bad argument #1 to 'yaml.decode' (text expected, got nothing)`},
	})
}

func TestYAMLIsWritten(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`yaml.encode{b = {z = 1, a = {1, {x = 2, y = helm.list{}}, {{}}}}, a = helm.null}`,
			`"a: null\nb:\n  a:\n  - 1\n  - x: 2\n    \"y\": []\n  - - {}\n  z: 1\n"`},
		{`yaml.encode{8080, 9007199254740993, 2.0, 1e300, -0.5, true, helm.null, helm.map{}, helm.list{}}`,
			`"- 8080\n- 9007199254740993\n- 2.0\n- 1.0e+300\n- -0.5\n- true\n- null\n- {}\n- []\n"`},
		{`yaml.encode{"yes", "8080", "1.0", "null", "", " x", "a: b", "a:b", "a #b", "1.25-alpine", "100m", "1e3", "0x1f", "2001-01-01", "*x", "-", "x:", "é", "it's"}`,
			`"- \"yes\"\n- \"8080\"\n- \"1.0\"\n- \"null\"\n- \"\"\n- \" x\"\n- \"a: b\"\n- a:b\n- \"a #b\"\n- 1.25-alpine\n- 100m\n- \"1e3\"\n- \"0x1f\"\n- \"2001-01-01\"\n- \"*x\"\n- \"-\"\n- \"x:\"\n- é\n- it's\n"`},
		{`yaml.encode{a = "two\nlines\n", b = "no end\nhere", c = "more\n\n", d = " led\nby space", e = "a\tb", f = "\0"}`,
			`"a: |\n  two\n  lines\nb: |-\n  no end\n  here\nc: |+\n  more\n\nd: \" led\\nby space\"\ne: \"a\\tb\"\nf: \"\\x00\"\n"`},
		{`yaml.encode(helm.map{[8080] = "http", on = 1})`, `"\"8080\": http\n\"on\": 1\n"`},
		{`yaml.encode({})`, `"{}\n"`},
		{`yaml.encode(helm.list{})`, `"[]\n"`},
		{`yaml.encode("text")`, `"text\n"`},
		{`yaml.encode("two\nlines\n")`, `"|\n  two\n  lines\n"`},
		{`yaml.encode(helm.null)`, `"null\n"`},
		{`yaml.encode(nil)`, `"null\n"`},
		{`yaml.encode{image = {tag = print}}`, `error: bad argument #1 to 'yaml.encode' (the value at .image.tag is a function, which is not data)`},
		{`yaml.encode{a = {1, "\xff"}}`, `error: yaml.encode: the value at .a[2] is not UTF-8 text; write it with base64.encode`},
		{`yaml.encode()`, `error: bad argument #1 to 'yaml.encode' (value expected, got nothing)`},
		{`local t = {} t.t = t return yaml.encode(t)`, `error: bad argument #1 to 'yaml.encode' (the value at .t is a table that holds itself)`},
	})
}

func TestJSON(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`json.decode('{"a": 8080, "b": 9007199254740993, "c": 2.0, "d": null, "e": {}, "f": [], "g": 1e2, "h": "\\u00e9\\n"}')`,
			`{a:8080 b:9007199254740993 c:2.0 d:null e:{} f:[] g:100.0 h:"é\n"}`},
		{`json.decode("9223372036854775808")`, `9.223372036854776e+18`},
		{`json.decode(" [1, [true, false], \"x\"] ")`, `[1 [true false] "x"]`},
		{`json.decode('{"a": 1,\n "a": 2}')`, `error: json.decode: line 2: the key "a" is there twice in one object`},
		{`json.decode('{"a": 1,\n "b" 2}')`, `error: json.decode: line 2: invalid character '2' after object key`},
		{`json.decode('[1,]')`, `error: json.decode: line 1: invalid character ']' looking for beginning of value`},
		{`json.decode('[1, 2')`, `error: json.decode: line 1: the text ends too early`},
		{`json.decode('')`, `error: json.decode: line 1: the text ends too early`},
		{`json.decode('1 2')`, `error: json.decode: line 1: something follows the value`},
		{`json.decode('{"a": NaN}')`, `error: json.decode: line 1: invalid character 'N' looking for beginning of value`},
		{`json.decode('1e999')`, `error: json.decode: line 1: the number 1e999 is too large`},
		{`json.decode('"\xff"')`, `error: json.decode: the text is not UTF-8`},
		{`json.decode(("["):rep(300))`, `error: json.decode: line 1: nests deeper than 200 levels`},
		{`json.decode(5)`, `error: bad argument #1 to 'json.decode' (text expected, got number)`},
		{`json.encode{b = {1, 2.0, helm.null}, a = {}, c = helm.list{}, d = "<&>\"\\\n\1é"}`,
			`"{\"a\":{},\"b\":[1,2.0,null],\"c\":[],\"d\":\"<&>\\\"\\\\\\n\\u0001é\"}"`},
		{`json.encode({a = {1, {}}}, 2)`, `"{\n  \"a\": [\n    1,\n    {}\n  ]\n}"`},
		{`json.encode(9007199254740993)`, `"9007199254740993"`},
		{`json.encode({}, 99)`, `error: bad argument #2 to 'json.encode' (0 to 16 spaces expected, got 99)`},
		{`json.encode({}, "x")`, `error: bad argument #2 to 'json.encode' (whole number expected, got string)`},
		{`json.encode{a = 1/0}`, `error: bad argument #1 to 'json.encode' (the value at .a is +Inf, and data holds finite numbers only)`},
		{`json.encode{["a b"] = "\xff"}`, `error: json.encode: the value at ["a b"] is not UTF-8 text; write it with base64.encode`},
	})
}

// apply calls one function on one value.
func apply(t testing.TB, name string, v any) (any, error) {
	t.Helper()
	r := rt.New(io.Discard)
	b := bridge.New(r)
	env := rt.NewTable()
	modules.Install(b, env, modules.Options{})
	table, field, _ := strings.Cut(name, ".")
	f := env.Get(rt.StringValue(table)).AsTable().Get(rt.StringValue(field))
	arg, err := b.FromGo(v)
	if err != nil {
		t.Skip("nests too deep to begin with")
	}
	out, err := rt.Call1(r.MainThread(), f, arg)
	if err != nil {
		return nil, err
	}
	return b.ToGo(out)
}

// strange are texts that writers of YAML get wrong.
var strange = []string{
	"", " ", "a", "y", "N", "yes", "~", "null", "1", "-1", "+1", "1.", ".5", "1e5", "0x", "0b1", "0o7", "1_0", "1:30", ".inf", "-.INF", ".nan", "<<", "=",
	"2001-01-01", "2001-01-01T00:00:00Z", "- a", "-", "--- a", "...", "?", "? a", "a: b", "a:", ":a", "a #b", "#a", "[a", "{a", "a]", "!a", "&a", "*a", "%a", "@a", "`a",
	"'", "\"", "\\", "a\\nb", "a\nb", "a\n", "\na", "a\n\n", "\n", " a\nb", "a\n b\n", "a\n\tb", "\ta\nb", "a \nb ", "a\r\nb", "a\u0085b", "a\u2028b\n", "\ufeffa", "a\ufeff\nb",
	"\x00", "\x7f", "é", "日本", "😀", "a\u00a0b", "\u00a0", "\ufffe", "\U0010ffff", "|", ">", "|\na", "a: |\nb", strings.Repeat("k", 600), strings.Repeat("k", 1500), strings.Repeat("é\n", 600),
}

func TestStrangeTextComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	list, keys := []any{}, map[string]any{}
	for _, s := range strange {
		list = append(list, s, map[string]any{s: s}, []any{s})
		keys[s] = map[string]any{"in": []any{s, int64(1)}, s: s}
		for _, v := range []any{s, []any{s}, map[string]any{"key": s}} {
			comesBack(t, "yaml", v)
			comesBack(t, "json", v)
		}
		comesBack(t, "yaml", map[string]any{s: map[string]any{"a": []any{"x"}}})
	}
	for _, f := range []string{"yaml", "json"} {
		comesBack(t, f, list)
		comesBack(t, f, keys)
	}
}

// comesBack encodes and decodes v, here and by other readers.
func comesBack(t *testing.T, format string, v any) {
	t.Helper()
	text, err := apply(t, format+".encode", v)
	if err != nil {
		t.Fatalf("%q: %v", v, err)
	}
	if got, err := apply(t, format+".decode", text); err != nil || !reflect.DeepEqual(got, v) {
		t.Fatalf("%q became %q and then %q, %v", v, text, got, err)
	}
	other := func(name string, unmarshal func([]byte, any) error, bare func(any) any) {
		var got any
		if err := unmarshal([]byte(text.(string)), &got); err != nil || !reflect.DeepEqual(bare(got), loose(v)) {
			t.Fatalf("%s reads %q, which was %q, as %q, %v", name, text, v, got, err)
		}
	}
	if format == "json" {
		other("encoding/json", json.Unmarshal, loose)
		return
	}
	other("yaml/v2", yaml.Unmarshal, loose)
	other("yaml/v3", yaml3.Unmarshal, loose)
}

// loose has all numbers as floats and all maps with text for keys.
func loose(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = loose(e)
		}
		return out
	case map[string]any:
		out := map[any]any{}
		for k, e := range v {
			out[k] = loose(e)
		}
		return out
	case map[any]any:
		out := map[any]any{}
		for k, e := range v {
			out[k] = loose(e)
		}
		return out
	}
	return v
}

func TestNumbersComeBack(t *testing.T) {
	for _, v := range []any{int64(0), int64(math.MinInt64), int64(math.MaxInt64), int64(9007199254740993), 0.0, 2.0, -2.0, 0.1, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		for _, format := range []string{"yaml", "json"} {
			comesBack(t, format, []any{v, map[string]any{"n": v}})
		}
	}
}

// What is read is written so that it is read as the same again.
func fuzzDecode(f *testing.F, format string, unmarshal func([]byte, any) error) {
	for _, s := range strange {
		f.Add(s)
		f.Add("a: " + s)
		f.Add("- " + s + "\n")
	}
	for _, s := range []string{`{"a":[1,2.0,"x\u0000",{},[],null,true,1e5,-0]}`, "a: &a [1]\nb: *a\nc: {<<: {d: 1}}", "? |\n  a\n: b", "a:\n  - b:\n      c: |+\n        d\n\n  - 0777", "--- 1\n--- 2", "!!binary /w=="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := apply(t, format+".decode", text)
		if err != nil {
			return
		}
		again, err := apply(t, format+".encode", v)
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") {
				return
			}
			t.Fatal(err)
		}
		if got, err := apply(t, format+".decode", again); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%q is %#v, written %q, which is %#v, %v", text, v, again, got, err)
		}
		var other any
		if err := unmarshal([]byte(again.(string)), &other); err != nil || !reflect.DeepEqual(loose(other), loose(v)) {
			t.Fatalf("%q is %#v, written %q, which another reader takes for %#v, %v", text, v, again, other, err)
		}
	})
}

func FuzzYAML(f *testing.F) { fuzzDecode(f, "yaml", yaml3.Unmarshal) }

func FuzzJSON(f *testing.F) { fuzzDecode(f, "json", json.Unmarshal) }
