// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/internal/term"
)

func TestFormats(t *testing.T) {
	type row struct {
		Name string `json:"name"`
	}
	table := func(w io.Writer) error { _, err := io.WriteString(w, "a table\n"); return err }
	for _, test := range []struct {
		name   string
		format Format
		value  any
		want   string
	}{
		{"no format", "", nil, "a table\n"},
		{"table", Table, nil, "a table\n"},
		{"JSON", JSON, []row{{"a"}}, `[{"name":"a"}]` + "\n"},
		{"JSON of an empty list", JSON, []row{}, "[]\n"},
		{"YAML", YAML, []row{{"a"}}, "- name: a\n"},
		{"YAML of an empty list", YAML, []row{}, "[]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := test.format.Write(&b, test.value, table); err != nil || b.String() != test.want {
				t.Errorf("%q: got %q, %v", test.format, b.String(), err)
			}
		})
	}
	for _, f := range []Format{JSON, YAML} {
		if err := f.Write(io.Discard, func() {}, table); err == nil || !strings.HasPrefix(err.Error(), "write ") {
			t.Errorf("%s of a func: %v, want an error", f, err)
		}
	}
	full := errors.New("disk full")
	for _, f := range []Format{JSON, YAML} {
		if err := f.Write(broken{full}, 1, table); !errors.Is(err, full) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestFormatFlag(t *testing.T) {
	for arg, want := range map[string]Format{"-o=json": JSON, "-oyaml": YAML, "--output=table": Table} {
		t.Run(arg, func(t *testing.T) {
			var f Format
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.Bind(fs)
			if err := fs.Parse([]string{arg}); err != nil || f != want || f.String() != string(want) {
				t.Errorf("%s: %s, %v", arg, f, err)
			}
		})
	}
	var f Format
	if f.String() != "table" || f.Set("xml") == nil || f.Type() == "" {
		t.Error("Set(xml): no error")
	}
	cmd := &cobra.Command{Use: "x"}
	f.Bind(cmd.Flags())
	Complete(cmd)
	if fn, ok := cmd.GetFlagCompletionFunc("output"); !ok {
		t.Error("no completion function")
	} else if got, _ := fn(cmd, nil, ""); len(got) != 3 {
		t.Error(got)
	}
}

func TestEscapedYAML(t *testing.T) {
	for name, value := range map[string]any{
		"harmless":       map[string]any{"a": []any{"b", 1.0, true, nil}, "c": map[string]any{}},
		"a control":      "\x1b[2J",
		"one of C1":      "a\u009bb",
		"a bidi mark":    "red\u202eder",
		"in a key":       map[string]any{"red\u202eder": "x", strings.Repeat("k\u2066", 100): "y"},
		"several lines":  map[string]any{"notes": "one\ntwo\u202e\n\nthree\n"},
		"in a list":      []any{"\u2066", map[string]any{"a": "\u2067: #"}, []any{"\u202a"}},
		"beside others":  map[string]any{"a": "\u202e", "b": "0123", "c": "~", "d": "multi\nline\n", "e": "yes", "n": 1e21},
		"no character":   "a\uffff\ufffe\ufeff\u202e",
		"private use":    map[string]any{"a": "\uf000\u202e"},
		"the end of CSV": "a\u0085b\u2028c\u202e",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := marshalYAML(value)
			if err != nil {
				t.Fatal(err)
			}
			escaped, err := escapeYAML(text)
			if err != nil {
				t.Fatal(err)
			}
			if term.Safe(string(escaped)) != string(escaped) {
				t.Errorf("not escaped: %q", escaped)
			}
			want, got := value, any(nil)
			if err := yaml.Unmarshal(escaped, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %q, %v, want %q, as %q", got, err, want, escaped)
			}
		})
	}
}

func FuzzEscapedYAML(f *testing.F) {
	for _, s := range []string{"a", "\u202e", "\x1b", "a: b\n\u0085", "- \u2066\n", "\"\u202e", "\\u202e"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, s string) {
		if len(key) > 100 || len(s) > 100 {
			t.Skip("the library reads no keys of more than 1,024 characters")
		}
		if key == "<<" || s == "<<" {
			t.Skip("the library writes this key without quotes, and then takes it for a merge")
		}
		value := map[string]any{key: []any{s, map[string]any{s: key}}}
		text, err := marshalYAML(value)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		plain, err := json.Marshal(value)
		if err != nil || json.Unmarshal(plain, &want) != nil { // json.Marshal replaces invalid UTF-8
			t.Fatal(err)
		}
		escaped, err := escapeYAML(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if term.Safe(string(escaped)) != string(escaped) {
			t.Errorf("%q is not escaped", escaped)
		}
		if err := yaml.Unmarshal(escaped, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, %v, want %q, as %q", got, err, want, escaped)
		}
	})
}
