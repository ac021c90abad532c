// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	chartfiles "github.com/moonhelm/moonhelm/engine/engine"
)

// The reference of the fast path is the path through JSON.
func longWay(t *testing.T, v any) string {
	t.Helper()
	data, err := sigsyaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(data), "\n")
}

func TestYAMLIsWrittenAsTheLongWayDoes(t *testing.T) {
	long := strings.Repeat("word ", 40) + "end"
	list := []any{1.0, "two", 3.5, nil, true, map[string]any{"a": "b", "c": []any{}, "d": map[string]any{}}}
	for name, v := range map[string]any{
		"text":           "str",
		"nothing":        nil,
		"list":           list,
		"empty list":     []any{},
		"empty map":      map[string]any{},
		"nil map":        map[string]any(nil),
		"nil list":       []any(nil),
		"strings":        []string{"a", "b: c", "", "- x"},
		"map of text":    map[string]string{"b": "1", "a": "true", "c": "x\ny\n"},
		"nested":         map[string]any{"m": map[string]any{"l": list, "z": map[string]any{"q": list}}, "l": []any{list, []any{list}}},
		"numbers":        []any{0.0, math.Copysign(0, -1), 1e6, 1e20, 1e21, 1.5e300, 1e-7, 12345678901234567890.0, float64(1 << 53), -1.5, 3, int64(4), int64(math.MaxInt64), 0.00001, 123456789.125},
		"words":          []any{"yes", "No", "on", "y", "n", "null", "~", "True", "FALSE", "nul", "none", "yesterday", "Null", "tRUE"},
		"like numbers":   []any{"1", "1.5", "1e3", "0x1F", "0b1", "0o7", "010", "1_000", "1:20", "1:20:30", "-1", "+1", ".5", ".inf", "-.Inf", ".nan", "1.2.3", "10Gi", "500m", "5m", "1d", "0xfg", "12e", "2001-01-01", "2001-01-01T00:00:00Z", "1.", "0755", "1e", "3 apples", "2x", "0", "00", "08", "9999999999999999", "99999999999999999999", "0.0.0.0", "1..2", "--flag=x", "-Xmx", "-", "--", "-1a", "---x", "---", "--- x", "-.5", "-e1", "-inf", "", "e5", "0o8", "-0x1"},
		"marks":          []any{"a: b", "a:b", "a #b", "a#b", "#a", "- a", "-a", "-", "--- a", "...", "[a", "a]", "{a", "*a", "&a", "!a", "|", ">", "'a'", "\"a\"", "%a", "@a", "`a", "a,b", "? a", "?a", ":a", ": a", "a:", " a", "a ", "a  b", "=", "<<", "a\tb", "$(x)", "(x)", "/x", "_x", "a\\b", "a'b", "a\"b"},
		"lines":          []any{"a\nb", "a\nb\n", "a\nb\n\n", "\na", " a\nb", "a \nb", "a\n\nb\n", "\n", "a\r\nb", "a\n  b\n", "a\tb\nc", "é\nb\n", "x: |\n  y\n"},
		"lines in maps":  map[string]any{"a": "x\ny\n", "b": map[string]any{"c": "x\ny", "d": []any{"x\ny\n\n", map[string]any{"e": "q\n\n r\n"}}}, "z": 1.0},
		"root lines":     "a\nb\n",
		"other letters":  []any{"é", "日本語", "a\u2028b", "\u0007", "😀", "\u00a0", "a\ufeffb"},
		"long":           map[string]any{"k": long, "l": []any{long, map[string]any{"m": long, "n": []any{[]any{long}}}}, "single": long + ": x", "double": "true" + long + "\t", "spaces": strings.Repeat("a  b ", 30) + "c", "one": strings.Repeat("x", 200)},
		"long root":      long,
		"long quoted":    map[string]any{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": "a: b c", "b": "'" + strings.Repeat("y ", 39) + "z"},
		"keys":           map[string]any{"a10": 1, "a9": 1, "a": 1, "B": 1, "b": 1, "_x": 1, "1": 1, "01": 1, "10": 1, "2": 1, "true": 1, "": 1, "-": 1, "a.b/c": 1, "a:b": 1, "a: b": 1, "é": 1, "a-1": 1, "a100": 1, "c1b2": 1, "c1b10": 1, "d01": 1, "d1": 1, "d001": 1, "~": 1, "x\ny": 1, "1.5": 1, "日": 1, "a 1": 1, "z10": 1, "z100": 1, "z1": 1},
		"values":         Values{"a": Values{"b": "c"}},
		"files":          chartfiles.Files{"a": []byte("x")},
		"long key":       map[string]any{strings.Repeat("k", 200): 1, "b": 2},
		"key of letters": map[string]any{"größe des äußeren": long, "d": []any{map[string]any{"日本語": long}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := encodeYAML(v)
			if err != nil {
				t.Fatal(err)
			}
			if want := longWay(t, v); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestWordsInAllCasesAreWrittenAsTheLongWayDoes(t *testing.T) {
	values, keys := []any{}, map[string]any{}
	for _, word := range []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"} {
		for upper := range 1 << len(word) {
			w := []byte(word)
			for i := range w {
				if upper>>i&1 == 1 {
					w[i] -= 'a' - 'A'
				}
			}
			values = append(values, string(w))
			keys[string(w)] = true
		}
	}
	for name, v := range map[string]any{"values": values, "keys": keys} {
		t.Run(name, func(t *testing.T) {
			got, ok := quickYAML(nil, v)
			if want := longWay(t, v) + "\n"; !ok || string(got) != want {
				t.Errorf("got %v\n%s\nwant\n%s", ok, got, want)
			}
		})
	}
}

func FuzzYAML(f *testing.F) {
	f.Add(`{"a":["b: c",1.5,null,{"x":"y\nz"}],"10":"2001-01-01","9":{}}`)
	f.Add(`{"a b":"` + strings.Repeat("word ", 30) + `","c":[[["d"]]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		quick, ok := quickYAML(nil, v)
		if !ok {
			return // not supported by the fast path
		}
		data, err := sigsyaml.Marshal(v)
		if err != nil {
			return
		}
		if got := string(quick); got != string(data) {
			t.Errorf("got\n%q\nwant\n%q", got, data)
		}
	})
}
