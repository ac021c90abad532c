// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"

	chartfiles "github.com/moonhelm/moonhelm/engine/engine"
)

// changing are methods without use in templates: they decode into their receiver, or are for
// databases.
var changing = []string{"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "GobDecode", "Scan", "Value"}

// The reference are the methods that reflection finds.
func TestMethodOfKnowsAllMethods(t *testing.T) {
	now := time.Now()
	for _, v := range []any{
		Values{}, chartfiles.Files{}, &KubeVersion{}, VersionSet{}, semver.MustParse("1.2.3"), *semver.MustParse("1.2.3"),
		now, &now, time.Second, time.May, time.Monday, time.UTC,
	} {
		typ := reflect.TypeOf(v)
		t.Run(typ.String(), func(t *testing.T) {
			for i := range typ.NumMethod() {
				name := typ.Method(i).Name
				if slices.Contains(changing, name) || typ == reflect.TypeFor[time.Duration]() && name == "GoString" {
					continue
				}
				want := reflect.ValueOf(v).Method(i).Type()
				if want.NumOut() > 1 && want.Out(1) != errorType {
					continue // templates cannot call it
				}
				got := methodOf(v, name)
				if got == nil {
					t.Errorf("methodOf(%s, %s) = nil, want a %s", typ, name, want)
				} else if sig := reflect.TypeOf(got); sig != want && !writesYAML(name) {
					t.Errorf("methodOf(%s, %s) is a %s, want a %s", typ, name, sig, want)
				}
			}
			if got := methodOf(v, "Nope"); got != nil {
				t.Errorf("methodOf(%s, Nope) = %v, want nil", typ, got)
			}
		})
	}
}

// writesYAML reports whether a method is replaced by a function that returns an error.
func writesYAML(name string) bool { return slices.Contains([]string{"AsConfig", "AsSecrets"}, name) }

func TestTextExecute(t *testing.T) {
	type info struct{ Version string }
	plusOne := func(args ...any) (any, error) { return args[0].(int) + 1, nil }
	for name, test := range map[string]struct {
		text Text
		want string
	}{
		"no action":     {Text{Text: "web"}, "web"},
		"sprig":         {Text{Text: `x{{ "Y" | lower }}`}, "xy"},
		"struct":        {Text{Text: "{{.Version}}", Data: info{"v4"}}, "v4"},
		"missing key":   {Text{Text: "{{.a}}", Data: map[string]any{}}, "<no value>"},
		"definitions":   {Text{Text: `{{define "a"}}[{{.}}]{{end}}{{template "a" 1}}{{include "a" 2}}`}, "[1][2]"},
		"set":           {Text{Text: `{{$_ := set . "a" 1}}{{.a}}`, Data: map[string]any{}}, "1"},
		"function":      {Text{Text: "{{last 1}}", Functions: map[string]func(...any) (any, error){"last": plusOne}}, "2"},
		"method":        {Text{Text: "{{.Format \"2006\"}}", Data: time.Unix(0, 0).UTC()}, "1970"},
		"further types": {Text{Text: "{{.Len}}", Data: strings.NewReader("abc"), Methods: readerMethod}, "3"},
		"slice of text": {Text{Text: "{{slice . 1 3}}{{slice . 2}}", Data: "abcd"}, "bccd"},
		"slice of list": {Text{Text: "{{slice . 1}}", Data: []any{1, 2}}, "[2]"},
		"own slice":     {Text{Text: "{{slice 1}}", Functions: map[string]func(...any) (any, error){"slice": plusOne}}, "2"},
		"no cluster":    {Text{Text: `{{len (lookup "v1" "Secret" "" "")}}`}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := test.text.Execute(&b); err != nil || b.String() != test.want {
				t.Errorf("got %q, %v; want %q", b.String(), err, test.want)
			}
		})
	}
}

func readerMethod(v any, name string) any {
	if r, ok := v.(*strings.Reader); ok && name == "Len" {
		return r.Len
	}
	return nil
}

func TestTextExecuteFails(t *testing.T) {
	for text, want := range map[string]string{
		`{{slice "ab" 3}}`:     "index out of range: 3",
		`{{slice "ab" 2 1}}`:   "invalid slice index: 2 > 1",
		"{{":                   "parse error at (--template:1)",
		"before{{.Nope}}":      "--template:1:9",
		`before{{fail "now"}}`: "execution error at (--template:1:9): now",
		`before{{tpl . .}}`:    "--template:1:13",
	} {
		t.Run(text, func(t *testing.T) {
			var b strings.Builder
			err := Text{Name: "--template", Text: text, Data: struct{}{}}.Execute(&b)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if b.Len() > 0 {
				t.Errorf("wrote %q before it failed, want nothing", &b)
			}
		})
	}
}
