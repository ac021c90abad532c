// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

func newChart(name, schema string, files ...*chart.File) *chart.Chart {
	return &chart.Chart{Metadata: &chart.Metadata{Name: name}, Schema: []byte(schema), Raw: files, Files: files}
}

func TestValidate(t *testing.T) {
	const ports = `{"type":"object","required":["port"],"properties":{
		"port":{"type":"integer","minimum":1},
		"name":{"type":"string"},
		"image":{"type":"object","properties":{"tag":{"type":"string"}}},
		"hosts":{"type":"array","items":{"type":"string"}},
		"mode":{"enum":["a","b"]},
		"size":{"oneOf":[{"type":"integer"},{"type":"string","pattern":"^[0-9]+Gi$"}]}}}`
	for name, tc := range map[string]struct {
		vals map[string]any
		want []string
	}{
		"all is well":                {map[string]any{"port": float64(80), "image": map[string]any{"tag": "1"}}, nil},
		"whole numbers are integers": {map[string]any{"port": int64(80)}, nil},
		"a fraction is none":         {map[string]any{"port": 80.5}, []string{"port: got number, want integer"}},
		"something is missing":       {map[string]any{}, []string{"missing property 'port'"}},
		"all violations": {
			map[string]any{"port": float64(0), "name": true, "image": map[string]any{"tag": float64(2)}, "hosts": []any{"a", float64(1)}},
			[]string{"hosts[1]: got number, want string", "image.tag: got number, want string", "name: got boolean, want string", "port: minimum: got 0, want 1"},
		},
		"numbers are not grouped": {
			map[string]any{"port": float64(-70000)},
			[]string{"port: minimum: got -70000, want 1"},
		},
		"none of several forms": {
			map[string]any{"port": float64(1), "size": "big"},
			[]string{"size: 'oneOf' failed, none matched (got string, want integer; or 'big' does not match pattern '^[0-9]+Gi$')"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := Validate(newChart("web", ports), tc.vals)
			if len(tc.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var invalid *Error
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, v := range invalid.Violations {
				got = append(got, v.String())
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

func TestValidateSubcharts(t *testing.T) {
	root := newChart("web", `{"required":["title"]}`)
	root.SetDependencies(newChart("db", `{"properties":{"port":{"type":"integer"}},"required":["user"]}`))
	err := Validate(root, map[string]any{"db": map[string]any{"port": "x"}})
	const want = `values don't meet the specifications of the schema(s) in the following chart(s):
web:
- missing property 'title'
db:
- missing property 'user'
- port: got string, want integer`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestValidateReferences(t *testing.T) {
	inside := newChart("web", `{"properties":{"port":{"$ref":"schemas/port.json"},"p2":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"string"}}}`,
		&chart.File{Name: "schemas/port.json", Data: []byte(`{"type":"integer"}`)})
	if err := Validate(inside, map[string]any{"port": float64(1), "p2": "x"}); err != nil {
		t.Error(err)
	}
	if err := Validate(inside, map[string]any{"port": "x"}); err == nil {
		t.Error("the file in the chart was not looked at")
	}
	for _, ref := range []string{"file:///dev/zero", "file:///etc/passwd", "http://127.0.0.1:1/x.json", "https://example.com/x.json", "/dev/zero", "../../x.json", "nope.json"} {
		t.Run(ref, func(t *testing.T) {
			err := Validate(newChart("web", `{"$ref":"`+ref+`"}`), nil)
			var bad *SchemaError
			if !errors.As(err, &bad) {
				t.Errorf("$ref %s: got %v", ref, err)
			}
		})
	}
	// Relative references are resolved against an $id of the author.
	if err := Validate(newChart("web", `{"$id":"https://example.com/a.json","$ref":"b.json"}`), nil); !errors.Is(err, ErrOutside) {
		t.Errorf("got %v", err)
	}
}

// Later drafts use formats only as annotations, as in Helm.
func TestValidateFormats(t *testing.T) {
	const rest = `"properties":{"a":{"format":"email"}}}`
	for draft, fine := range map[string]bool{
		"": true, "https://json-schema.org/draft/2020-12/schema": true, "https://json-schema.org/draft/2019-09/schema": true,
		"http://json-schema.org/draft-07/schema#": false, "http://json-schema.org/draft-04/schema#": false,
	} {
		t.Run(draft, func(t *testing.T) {
			text := `{"$schema":"` + draft + `",` + rest
			if draft == "" {
				text = "{" + rest
			}
			if err := Validate(newChart("web", text), map[string]any{"a": "x"}); (err == nil) != fine {
				t.Errorf("%q: %v", draft, err)
			}
		})
	}
}

func TestValidateYAMLSchema(t *testing.T) {
	c := newChart("web", "", &chart.File{Name: "port.yaml", Data: []byte("type: integer\nmaximum: 9\n")})
	c.SchemaYAML = []byte("title: Values\ntype: object\nproperties:\n  port: {$ref: port.yaml}\n  80: {type: string}\n")
	if err := Validate(c, map[string]any{"port": float64(3), "80": "x"}); err != nil {
		t.Error(err)
	}
	err := Validate(c, map[string]any{"port": float64(10), "80": true})
	const want = `values don't meet the specifications of the schema(s) in the following chart(s):
web:
- [80]: got boolean, want string
- port: maximum: got 10, want 9`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	c.Schema = []byte(`{"required":["nope"]}`)
	if err := Validate(c, map[string]any{}); err != nil {
		t.Errorf("values.schema.yaml goes first: %v", err)
	}
	c.SchemaYAML = []byte("a: [")
	if err := Validate(c, nil); err == nil || !strings.HasPrefix(err.Error(), "schema of chart web (values.schema.yaml): is not valid YAML") {
		t.Errorf("got %v", err)
	}
}

// If every branch fails, the number of errors must be limited.
func TestValidateManyBranches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for _, branch := range []string{"allOf", "anyOf", "oneOf"} {
		t.Run(branch, func(t *testing.T) {
			text := `{"$defs":{"x0":{"required":["nope"]}`
			for i := 1; i < 40; i++ {
				text += fmt.Sprintf(`,"x%d":{"%s":[{"$ref":"#/$defs/x%d"},{"$ref":"#/$defs/x%d"}]}`, i, branch, i-1, i-1)
			}
			text += `},"$ref":"#/$defs/x39"}`
			err := Validate(newChart("web", text), map[string]any{})
			if !errors.Is(err, ErrTooSlow) {
				t.Errorf("%s: got %v", branch, err)
			}
		})
	}
}

func TestValidateDrafts(t *testing.T) {
	for _, draft := range []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	} {
		t.Run(draft, func(t *testing.T) {
			c := newChart("web", `{"$schema":"`+draft+`","properties":{"a":{"type":"string"}}}`)
			if err := Validate(c, map[string]any{"a": "x"}); err != nil {
				t.Errorf("%s: %v", draft, err)
			}
			if err := Validate(c, map[string]any{"a": true}); err == nil {
				t.Errorf("%s: a boolean passed as a string", draft)
			}
		})
	}
}

func TestValidateInvalidSchemas(t *testing.T) {
	wide := `{"$defs":{"x0":{"type":"object"}`
	for i := 1; i < 60; i++ {
		n, p := string(rune('a'+i%26))+strings.Repeat("x", i), string(rune('a'+(i-1)%26))+strings.Repeat("x", i-1)
		if i == 1 {
			p = "x0"
		}
		wide += `,"` + n + `":{"allOf":[{"$ref":"#/$defs/` + p + `"},{"$ref":"#/$defs/` + p + `"}]}`
	}
	last := string(rune('a'+59%26)) + strings.Repeat("x", 59)
	wide += `},"$ref":"#/$defs/` + last + `"}`
	for name, text := range map[string]string{
		"no JSON":           `{`,
		"a list":            `[]`,
		"a number":          `7`,
		"null":              `null`,
		"wrong keyword":     `{"type":7}`,
		"unknown type":      `{"type":"strin"}`,
		"bad pattern":       `{"properties":{"a":{"pattern":"("}}}`,
		"refers to nothing": `{"$ref":"#/nope"}`,
		"itself":            `{"$ref":"#"}`,
		"deep":              strings.Repeat(`{"not":`, 100000) + `{}` + strings.Repeat(`}`, 100000),
		"deep list":         strings.Repeat(`[`, 100000),
		"exponential":       wide,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			err := Validate(newChart("web", text), map[string]any{"a": "x"})
			if err == nil {
				t.Error("this was accepted")
			}
			if took := time.Since(start); took > 2*maxTime {
				t.Errorf("took %s", took)
			}
		})
	}
}

// As in Helm, a schema is validated against the whole metaschema, and each problem is reported
// once.
func TestValidateMetaschema(t *testing.T) {
	for text, want := range map[string]string{
		`{"title":7}`:         "schema of chart web (values.schema.json): is not a valid JSON Schema: title: got number, want string",
		`{"prefixItems":[7]}`: "schema of chart web (values.schema.json): is not a valid JSON Schema: prefixItems[0]: got number, want boolean or object",
	} {
		t.Run(text, func(t *testing.T) {
			if err := Validate(newChart("web", text), nil); err == nil || err.Error() != want {
				t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
			}
		})
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`))
	f.Add([]byte(`{"$ref":"#"}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","items":[{},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		// Any text gives nil or an error.
		_ = Validate(newChart("web", string(text)), map[string]any{"a": "x", "b": []any{float64(1)}})
	})
}
