// SPDX-License-Identifier: Apache-2.0

package scriptapi_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
)

func TestTypesOfFields(t *testing.T) {
	known := regexp.MustCompile(`^(string|boolean|integer|any|table<string, (any|string)>|fun\(.*\)(: \w+)?)(\[\])?$`)
	for _, c := range scriptapi.Classes() {
		for _, f := range c.Fields {
			if class, _ := f.Element(); class == "" && !known.MatchString(f.Type) {
				t.Errorf("%s.%s has the unknown type %q", c.Name, f.Name, f.Type)
			}
			if f.Text == "" {
				t.Errorf("%s.%s has no text", c.Name, f.Name)
			}
		}
	}
}

func TestElement(t *testing.T) {
	for typ, want := range map[string]struct {
		class string
		list  bool
	}{
		"Chart":                  {"Chart", false},
		"File[]":                 {"File", true},
		"table<string, Context>": {"Context", true},
		"table<string, any>":     {"", true},
		"string":                 {"", false},
		"string[]":               {"", true},
	} {
		t.Run(typ, func(t *testing.T) {
			class, list := scriptapi.Field{Type: typ}.Element()
			if class != want.class || list != want.list {
				t.Errorf("Element of %q: got %q, %t, want %q, %t", typ, class, list, want.class, want.list)
			}
		})
	}
}

func TestFieldOfClass(t *testing.T) {
	c, ok := scriptapi.ClassOf("Release")
	if !ok {
		t.Fatal("no class Release")
	}
	if f, ok := c.Field("revision"); !ok || f.Type != "integer" {
		t.Errorf("Field(revision): got %+v, %t", f, ok)
	}
	if _, ok := c.Field("nme"); ok {
		t.Error("Field(nme): got a field")
	}
	if _, ok := scriptapi.ClassOf("Nothing"); ok {
		t.Error("ClassOf(Nothing): got a class")
	}
}

func TestTables(t *testing.T) {
	tables := scriptapi.Tables()
	for name, want := range map[string][]string{
		"events": {"on", "off"}, "event": {"on", "off"}, "subchart": {"get", "init"},
	} {
		if got := tables[name]; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestHasField(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "chart": true, "chart.name": true, "capabilities.has": true, "chart.nme": false, "vales": false,
		"files.name": false, "values.image": false, "chart.name.x": false,
	} {
		var names []string
		if name != "" {
			names = strings.Split(name, ".")
		}
		if got := scriptapi.HasField(names); got != want {
			t.Errorf("HasField(%q): got %t, want %t", name, got, want)
		}
	}
}
