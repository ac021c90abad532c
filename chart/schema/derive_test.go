// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// derived returns the schema of values without the lines that all schemas begin with.
func derived(t *testing.T, vals, existing string) string {
	t.Helper()
	out, err := Derive([]byte(vals), []byte(existing))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Derive([]byte(vals), out)
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("the second time it is another (%v):\n%s", err, again)
	}
	text := string(out)
	if existing == "" {
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimPrefix(text, "$schema: "+Draft+"\ntitle: Values\ntype: object\n")
		text = strings.TrimPrefix(text, "properties:\n")
	}
	return strings.TrimSuffix(text, "\n")
}

func TestDerive(t *testing.T) {
	for name, tc := range map[string]struct{ vals, want string }{
		"nothing": {"", ""},
		"base types": {
			"name: frontend\nport: 443\nratio: 0.5\non: yes\nnone:\nenv: {}\nlist: []\n",
			`  name:
    type: string
    default: frontend
  port:
    type: integer
    default: 443
  ratio:
    type: number
    default: 0.5
  "true":
    type: boolean
    default: true
  none: {}
  env:
    type: object
    default: {}
  list:
    type: array
    default: []`,
		},
		"lists whose items agree": {
			"a: [x, w]\nb: [1, 2.5]\nc: [1, x]\nd: [{p: 1, q: x}, {p: 2, r: [z]}]\ne: [~, 1]\n",
			`  a:
    type: array
    default:
      - x
      - w
    items:
      type: string
  b:
    type: array
    default:
      - 1
      - 2.5
    items:
      type: number
  c:
    type: array
    default:
      - 1
      - x
  d:
    type: array
    default:
      - p: 1
        q: x
      - p: 2
        r:
          - z
    items:
      type: object
      properties:
        p:
          type: integer
        q:
          type: string
        r:
          type: array
          items:
            type: string
  e:
    type: array
    default:
      - null
      - 1`,
		},
		"comments above": {
			`# Copyright Someone

# how many pods
#
# more is better
replicas: 1

# Far away.

image:
  # -- (string) the tag
  # to pull
  # @default -- the chart's appVersion
  tag:
  ## ------
  ## the registry
  ##
  registry: x
resources: {}
#  limits:
#    cpu: 100m
nodes: |
  # no comment
next: 1
`,
			`  replicas:
    description: |-
      how many pods

      more is better
    type: integer
    default: 1
  image:
    type: object
    properties:
      tag:
        description: the tag to pull
        type: [string, "null"]
      registry:
        description: the registry
        type: string
        default: x
  resources:
    type: object
    default: {}
  nodes:
    type: string
    default: |
      # no comment
  next:
    type: integer
    default: 1`,
		},
		"comments that name their key": {
			`## @section Global
## @param auth.user [nullable] Who may enter
## @param auth.list [array] Some
## @param auth.tag [default: TAG] The tag
## @extra auth All about it
## @skip auth.skipped Not in the README
# auth.old -- As helm-docs
# once had it
auth:
  user: ""
  list: {}
  tag: x
  skipped: 1
  old: 2
`,
			`  auth:
    description: All about it
    type: object
    properties:
      user:
        description: Who may enter
        type: [string, "null"]
        default: ""
      list:
        description: Some
        type: [object, array]
        default: {}
      tag:
        description: The tag
        type: string
        default: x
      skipped:
        description: Not in the README
        type: integer
        default: 1
      old:
        description: As helm-docs once had it
        type: integer
        default: 2`,
		},
		"annotations on a line": {
			`# @schema minimum:1; maximum:10
# How many
replicas: 2
mode: http # @schema enum:[http, https]; required
version: "1.10" # @schema enum: [1.9, 1.10]; pattern:^[0-9;.]+$
tag: # @schema type:[string, integer]
size: "" # @schema nullable; maxLength:5; title: The size: in GB; deprecated
hosts: [] # @schema item:object; itemProperties:{"name": {"type": "string"}}; minItems:0
labels: {a: b} # @schema mergeProperties
big: {a: {b: c}} # @schema skipProperties
secret: x # @schema hidden
resources:
  limits: {}
# @schema additionalProperties:false

last: 1
`,
			`  replicas:
    description: How many
    type: integer
    default: 2
    minimum: 1
    maximum: 10
  mode:
    type: string
    default: http
    enum: [http, https]
  version:
    type: string
    default: "1.10"
    enum: ["1.9", "1.10"]
    pattern: ^[0-9;.]+$
  tag:
    type: [string, integer, "null"]
  size:
    title: "The size: in GB"
    type: [string, "null"]
    default: ""
    maxLength: 5
    deprecated: true
  hosts:
    type: array
    default: []
    minItems: 0
    items:
      type: object
      properties:
        name:
          type: string
  labels:
    type: object
    additionalProperties:
      type: string
  big:
    type: object
  resources:
    type: object
    properties:
      limits:
        type: object
        default: {}
    additionalProperties: false
  last:
    type: integer
    default: 1
required:
  - mode`,
		},
		"an annotation after a map is the map's": {
			"a: {b: 1} # @schema additionalProperties:false\nc: \"# @schema foo\"\nd: |\n  # @schema foo\n",
			`  a:
    type: object
    properties:
      b:
        type: integer
        default: 1
    additionalProperties: false
  c:
    type: string
    default: "# @schema foo"
  d:
    type: string
    default: |
      # @schema foo`,
		},
		"annotations in blocks": {
			`# @schema.root
# additionalProperties: false
# description: All of it
# definitions:
#   port:
#     type: integer
# @schema.root

# @schema
# anyOf:
#   - type: integer
#   - pattern: Gi$
# @schema
# -- How much
storage: 30Gi
# @schema
# $ref: '#/definitions/port'
# @schema
port: 80
# @schema
# required: [foo]
# properties:
#   bar: {type: string, format: email}
# @schema
map:
  foo: x
`,
			`  storage:
    description: How much
    default: 30Gi
    anyOf:
      - type: integer
      - pattern: Gi$
  port:
    default: 80
    allOf:
      - $ref: "#/definitions/port"
  map:
    type: object
    properties:
      foo:
        type: string
        default: x
      bar:
        type: string
        format: email
    required: [foo]
additionalProperties: false`,
		},
		"merged and several documents": {
			"base: &b {x: 1, w: z}\nmine:\n  <<: *b\n  x: a\n---\nbase: {w: 2}\n",
			`  base:
    type: object
    properties:
      w:
        type: integer
        default: 2
      x:
        type: integer
        default: 1
  mine:
    type: object
    properties:
      x:
        type: string
        default: a
      w:
        type: string
        default: z`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := derived(t, tc.vals, "")
			if name == "annotations in blocks" {
				_, got, _ = strings.Cut(got, "\nproperties:\n")
			}
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestDeriveInvalidAnnotations(t *testing.T) {
	for vals, want := range map[string]string{
		"a: 1\n# @schema minimun:1\nb: 1\n":                                `values.yaml:2: b: @schema: there is no key "minimun"; did you mean minimum?`,
		"a: [] # @schema x-kubernetes-list-type:list":                      "values.yaml:1: a: @schema: x-kubernetes-list-type must be map, set or atomic",
		"a: 1 # @schema foo":                                               `values.yaml:1: a: @schema: there is no key "foo"; valid keys are the keywords of JSON Schema (type, enum, pattern, minimum, required, ...)`,
		"# @schema\n# type: string\na: x\n":                                "values.yaml:1: a: @schema: the block that begins here has no end: close it with a line # @schema",
		"# @schema\n# type: [\n# @schema\na: x\n":                          "values.yaml:2: a: @schema: is not valid YAML: did not find expected node content",
		"# @schema\n# type: x\n#   y: z\n# @schema\na: x\n":                "values.yaml:3: a: @schema: is not valid YAML: mapping values are not allowed in this context",
		"m:\n  # @schema\n  # title: x\n  # typ: y\n  # @schema\n  a: x\n": `values.yaml:4: m.a: @schema: there is no key "typ"; did you mean type?`,
		"a: x # @schema type:int":                                          "values.yaml:1: a: @schema: type must be one of string, integer, number, boolean, object, array, null, or a list of them; is int",
		"a: x # @schema minimum:much":                                      "values.yaml:1: a: @schema: minimum must be a number",
		"a: x # @schema minimum":                                           "values.yaml:1: a: @schema: minimum needs a value: minimum:...",
		"a: x # @schema pattern:(":                                         "values.yaml:1: a: @schema: is not a valid JSON Schema: pattern: '(' is not valid regex",
		"a: x\nb: x # @schema $ref:#/nope":                                 "values.yaml:2: b: @schema: cannot be used",
		"a: x # @schema $ref:https://example.com/x.json":                   `refers to "https://example.com/x.json": references may only point into the chart itself`,
		"# @schema type:string\n\na: x\n":                                  "values.yaml:1: @schema: is not at a key; write it directly above one, without an empty line between",
		"l:\n  # @schema type:string\n  - x\n":                             "values.yaml:2: @schema: an item of a list cannot have one; annotate the list's key, with items",
		"a: [":                                                             "values.yaml:1: is not valid YAML: did not find expected node content",
		"- a":                                                              "values.yaml:1: must be keys and values (key: value)",
	} {
		t.Run(vals, func(t *testing.T) {
			_, err := Derive([]byte(vals), nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q\ngot  %v\nwant %s", vals, err, want)
			}
			var invalid *chart.InvalidError
			if !errors.As(err, &invalid) || invalid.Line == 0 {
				t.Errorf("%q: no line: %#v", vals, err)
			}
		})
	}
}

func TestDeriveExistingSchema(t *testing.T) {
	const vals = "# the name\nname: x\nport: 80\nimage:\n  tag: v1\n  repo: r\nlabels: {a: b}\nmode: fast\nextra: 1\n"
	for name, tc := range map[string]struct{ existing, want string }{
		"it lacks nothing": {
			"# mine\ntype:   object\nadditionalProperties: {type: string}\n",
			"# mine\ntype:   object\nadditionalProperties: {type: string}",
		},
		"it lacks much": {
			`# mine
type: object
properties:
  port: # the port
    minimum: 0
    type: number
  image:
    properties:
      repo: {pattern: "^[a-z]"}
  labels:
    additionalProperties: {type: string}
  mode:
    enum: [fast, slow]
  extra:
    $ref: '#/definitions/e'
  own:
    type: string
definitions:
  e: {type: integer}
`,
			`# mine
type: object
properties:
  name:
    description: the name
    type: string
    default: x
  port: # the port
    minimum: 0
    type: number
    default: 80
  image:
    properties:
      tag:
        type: string
        default: v1
      repo:
        pattern: "^[a-z]"
        type: string
        default: r
    type: object
  labels:
    additionalProperties:
      type: string
    type: object
  mode:
    enum: [fast, slow]
    type: string
    default: fast
  extra:
    $ref: '#/definitions/e'
  own:
    type: string
definitions:
  e:
    type: integer`,
		},
		"JSON": {
			`{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"name": true, "port": {"type": "string"}, "image": {"type": "object", "patternProperties": {"^t": {}}}, "labels": false, "mode": {"oneOf": [{}]}, "extra": {"type": "integer", "default": 2}}}`,
			`$schema: https://json-schema.org/draft/2020-12/schema
properties:
  name: true
  port:
    type: string
  image:
    type: object
    patternProperties:
      ^t: {}
    properties:
      repo:
        type: string
        default: r
  labels: false
  mode:
    oneOf:
      - {}
    default: fast
  extra:
    type: integer
    default: 2
type: object`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := derived(t, vals, tc.existing)
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
	for existing, want := range map[string]string{
		"[]":           "values.schema.yaml:1: is not a schema, must be a map",
		"a: [":         "values.schema.yaml:1: is not valid YAML",
		"{type: what}": "values.schema.yaml: is not a valid JSON Schema",
	} {
		t.Run(existing, func(t *testing.T) {
			if _, err := Derive([]byte(vals), []byte(existing)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v", existing, err)
			}
		})
	}
}

// A schema without manual changes follows values.yaml; a manual line is kept.
func TestDeriveReplacesUneditedSchema(t *testing.T) {
	first, err := Derive([]byte("port: 80\ngone: x\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Derive([]byte("port: http\n"), first)
	if err != nil || strings.Contains(string(second), "gone") || !strings.Contains(string(second), "default: http") {
		t.Errorf("%v\n%s", err, second)
	}
	byHand := bytes.Replace(first, []byte("    type: integer\n"), []byte("    type: integer\n    minimum: 1\n"), 1)
	third, err := Derive([]byte("port: 81\nnew: x\n"), byHand)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"minimum: 1", "gone", "new"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(string(third), want) {
				t.Errorf("%s is not there:\n%s", want, third)
			}
		})
	}
}

func TestAddTo(t *testing.T) {
	sub := newChart("sub", "", &chart.File{Name: chart.FileValues, Data: []byte("x: 1\n")})
	c := newChart("web", "", &chart.File{Name: chart.FileValues, Data: []byte("port: 80\n")})
	c.SetDependencies(sub)
	d, err := AddTo(c)
	if err != nil {
		t.Fatal(err)
	}
	if FileOf(c) != "" || len(c.Files) != 1 || len(c.Raw) != 1 || sub.Parent() != c {
		t.Error("the chart has changed")
	}
	if FileOf(d) != chart.FileSchemaYAML || d.File(chart.FileSchemaYAML) == nil || len(d.Files) != 2 || len(d.Dependencies()) != 1 || d.Dependencies()[0].Parent() != d {
		t.Errorf("%+v", d)
	}
	if err := Validate(d, map[string]any{"port": "x"}); err == nil {
		t.Error("the schema does nothing")
	}
	if e, err := AddTo(d); e != d || err != nil {
		t.Errorf("a chart with a schema: %v, %v", e, err)
	}
}

func TestJSON(t *testing.T) {
	out, err := Derive([]byte("a: \"<x>\" # @schema pattern:^<.*&\nf: 1.5\nhex: 0x10\nt: \"12\"\nl: |\n  1\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JSON(out)
	const want = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "Values",
  "type": "object",
  "properties": {
    "a": {
      "type": "string",
      "default": "<x>",
      "pattern": "^<.*&"
    },
    "f": {
      "type": "number",
      "default": 1.5
    },
    "hex": {
      "type": "integer",
      "default": 16
    },
    "t": {
      "type": "string",
      "default": "12"
    },
    "l": {
      "type": "string",
      "default": "1\n"
    }
  }
}
`
	if err != nil || string(got) != jsonHeader([]byte(want))+strings.TrimPrefix(want, "{\n") {
		t.Errorf("%v\n%s", err, got)
	}
	if back, err := YAML([]byte(want)); err != nil || !bytes.HasSuffix(out, back) {
		t.Errorf("%v\n%s", err, back)
	}
}

// accepts returns the error of validating values against the schema derived from them.
func accepts(vals []byte) error {
	read, err := values.Parse("values.yaml", vals)
	if err != nil {
		return nil
	}
	out, err := Derive(vals, nil)
	if err != nil {
		return err
	}
	return Validate(&chart.Chart{Metadata: &chart.Metadata{Name: "web"}, SchemaYAML: out}, values.Rounded(read))
}

func TestDeriveUnusualValues(t *testing.T) {
	for _, vals := range []string{
		"1: a\n\"1\": 2\n", "a: 1\na: x\n", "~: x\n", "a: !!binary aGk=\n", "a: !!binary /w==\n", "a: 2001-01-01\n", "a: !!timestamp 2001-01-01\n",
		"a: 0o7\nb: 0777\nc: 1_000\nd: 12:30:45\ne: =\n", "a: &x [1]\nb: [*x, *x]\n", "a: 1e300\nb: 123456789012345678901234567890\n",
		"{\"a\": \"\\ud83d\\ude00\", \"b\": [1.0]}", "a: \" x\\n y\"\nb: \"\\n\"\nc: \"\\u0007\"\nd: \"x \\n\"\n", "\xef\xbb\xbfa: 1\n", "a: 1\r\n# c\r\nb: 2\r\n",
		"? [a, b]\n: 1\n", "a: {}\n---\na: 1\n", strings.Repeat("{a: ", 300) + "1" + strings.Repeat("}", 300), "a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300),
		"y: n\nno: y\n'on': \"off\"\n", "\r0:", "a: 1\u0085b: 2\n", "a: .5\nb: 1.\nc: +1\nd: -0\n",
	} {
		if err := accepts([]byte(vals)); err != nil {
			t.Errorf("%q: %v", vals, err)
		}
	}
}

func TestDeriveManyValues(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'g'; i++ {
		bomb += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+string(i-1)+",", 8) + "*" + string(i-1) + "]\n"
	}
	var wide strings.Builder
	for i := range 80_000 {
		wide.WriteString("k")
		wide.WriteString(strings.Repeat("x", i%7))
		wide.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576%26)))
		wide.WriteString(": {a: 1}\n")
	}
	for name, vals := range map[string]string{"aliases": bomb, "keys": wide.String()} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			out, err := Derive([]byte(vals), nil)
			if took := time.Since(start); took > time.Minute || len(out) > 64<<20 {
				t.Errorf("%s: %d bytes in %s (%v)", name, len(out), took, err)
			}
		})
	}
}

// TestDeriveCorpus derives schemas of the public charts of the corpus, if it exists.
func TestDeriveCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "charts", "*", chart.FileValues))
	if len(files) == 0 {
		t.Skip("no corpus beside the project (../shared/corpus)")
	}
	for _, file := range files {
		vals, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := accepts(vals); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// FuzzDerive checks that for any values the result is an error or a valid schema, which accepts
// the values unless an annotation restricts them.
func FuzzDerive(f *testing.F) {
	f.Add("# a\na: 1\n# @schema minimum:1; enum:[1, 2]\nb: [x, {y: z}]\n", "")
	f.Add("# @schema\n# anyOf: [{type: string}]\n# @schema\na: &x {b: ~}\nc: {<<: *x}\n", "properties: {a: {default: 1}}")
	f.Add("## @param a.b [array, nullable] x\na: {b: 1.5} # @schema additionalProperties:false\n", `{"type":"object","items":{}}`)
	f.Add("# a -- (int) x\n# y\na: 0777\n---\na: |\n  # x\n", "[")
	f.Fuzz(func(t *testing.T, vals, existing string) {
		out, err := Derive([]byte(vals), []byte(existing))
		if err != nil {
			return
		}
		again, err := Derive([]byte(vals), []byte(existing))
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("another the second time: %v\n%s\n%s", err, out, again)
		}
		c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, SchemaYAML: out}
		if _, err := compile(c); err != nil {
			t.Fatalf("%q %q cannot be used: %v\n%s", vals, existing, err, out)
		}
		if strings.TrimSpace(existing) != "" || strings.Contains(vals, annotation) || strings.Contains(vals, "\n---") {
			return
		}
		read, err := values.Parse("values.yaml", []byte(vals))
		if err != nil {
			return
		}
		if err := Validate(c, values.Rounded(read)); err != nil {
			t.Fatalf("%q: %v\n%s", vals, err, out)
		}
	})
}

func TestDeriveReplacesUneditedJSON(t *testing.T) {
	inJSON := func(values, existing string) string {
		t.Helper()
		text, err := Derive([]byte(values), []byte(existing))
		if err == nil {
			text, err = JSON(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := inJSON("a: 1\nb: 2\n", "")
	if got := inJSON("a: x\n", first); got != inJSON("a: x\n", "") {
		t.Errorf("it does not follow the values:\n%s", got)
	}
	if got := inJSON("a: x\n", strings.ReplaceAll(first, "\n", "\r\n")); got != inJSON("a: x\n", "") {
		t.Errorf("the ends of its lines made it another:\n%s", got)
	}
	changed := strings.Replace(first, `"default": 2`, `"maximum": 9`, 1)
	if got := inJSON("a: x\nb: 3\n", changed); !strings.Contains(got, `"maximum": 9`) || !strings.Contains(got, `"default": 1`) {
		t.Errorf("what was written by hand is gone:\n%s", got)
	}
}
