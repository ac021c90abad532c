// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v2"

	"github.com/moonhelm/moonhelm/chart"
)

// base is the address of a chart's files while its schema is read. The scheme
// is nobody's, so that no loader but ours can know it.
const base = "chart:///"

// Bounds for schemas of strangers (CVE-2025-32387): nothing that a person
// writes comes near them.
const (
	maxDepth = 256
	maxSteps = 500_000
	maxTime  = 5 * time.Second
)

// ErrOutside tells that a schema refers to something outside of its chart.
var ErrOutside = errors.New("references may only point into the chart itself")

// ErrTooDeep tells that a schema nests deeper than maxDepth.
var ErrTooDeep = fmt.Errorf("nests deeper than %d levels", maxDepth)

// ErrTooSlow tells that a schema keeps the validator busy without end.
var ErrTooSlow = errors.New("takes too long to check: it branches or refers to itself too often")

// compiled is a schema that is ready for use, one use at a time.
type compiled struct {
	*jsonschema.Schema
	steps *int
}

// validate holds values against the schema, within the bounds.
func (c *compiled) validate(vals map[string]any) error {
	*c.steps = 0
	return bounded(func() error { return c.Validate(vals) })
}

// counter ends a validation that takes too many steps. The library knows no
// cancellation, but it calls what a vocabulary adds to a schema, every time the
// schema has been held against a value.
type counter struct{ steps *int }

// Validate implements jsonschema.SchemaExt.
func (c counter) Validate(*jsonschema.ValidatorContext, any) {
	if *c.steps++; *c.steps > maxSteps {
		panic(ErrTooSlow)
	}
}

func (c counter) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: base + "steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return c, nil
		},
	}
}

// compile reads the schema of c.
func compile(c *chart.Chart) (*compiled, error) {
	doc, err := decode(FileOf(c), textOf(c))
	if err != nil {
		return nil, err
	}
	count := counter{new(int)}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(files{c})
	compiler.RegisterVocabulary(count.vocabulary())
	compiler.AssertVocabs()
	self := base + FileOf(c)
	if err := compiler.AddResource(self, doc); err != nil {
		return nil, err
	}
	var sch *jsonschema.Schema
	err = bounded(func() (err error) {
		sch, err = compiler.Compile(self)
		return err
	})
	if err != nil {
		return nil, readable(err)
	}
	return &compiled{sch, count.steps}, nil
}

// decode reads JSON, or YAML where the file's name says so.
func decode(name string, text []byte) (any, error) {
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		return decodeYAML(text)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if tooDeep(text) {
		return nil, ErrTooDeep
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	return doc, nil
}

func decodeYAML(text []byte) (any, error) {
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return plain(doc, 0)
}

// plain turns what a YAML reader gives into what a JSON reader would.
func plain(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, ErrTooDeep
	}
	var err error
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if out[fmt.Sprint(k)], err = plain(e, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		for i, e := range v {
			if v[i], err = plain(e, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// tooDeep counts brackets before anything recursive touches the text.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quoted && ch == '\\':
			i++
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == '{' || ch == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case ch == '}' || ch == ']':
			depth--
		}
	}
	return false
}

// files answers references with files of one chart.
type files struct{ c *chart.Chart }

// Load implements jsonschema.URLLoader.
func (f files) Load(url string) (any, error) {
	name, ours := strings.CutPrefix(url, base)
	if !ours {
		return nil, fmt.Errorf("%q: %w", url, ErrOutside)
	}
	name = path.Clean(name)
	file := f.c.File(name)
	if file == nil {
		for _, other := range f.c.Files {
			if other.Name == name {
				file = other
			}
		}
	}
	if file == nil {
		return nil, fmt.Errorf("%q: there is no such file in the chart", name)
	}
	return decode(name, file.Data)
}

// refersToFiles tells whether a schema may refer to other files of its chart.
func refersToFiles(text []byte) bool {
	for rest := text; ; {
		i := bytes.Index(rest, []byte("Ref\""))
		j := bytes.Index(rest, []byte(`"$ref"`))
		if i < 0 && j < 0 {
			return false
		}
		if j >= 0 {
			i = j + len(`"$ref"`) - len(`Ref"`)
		}
		rest = bytes.TrimLeft(rest[i+len(`Ref"`):], " \t\r\n:")
		if !bytes.HasPrefix(rest, []byte(`"#`)) {
			return true
		}
	}
}

// bounded runs fn for at most maxTime and turns a panic into an error. A run
// that does not end, and does not step either, is left behind: the process does
// not outlive the error for long.
func bounded(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			switch p := recover(); p {
			case nil:
			case ErrTooSlow:
				done <- ErrTooSlow
			default:
				done <- fmt.Errorf("cannot be used: %v", p)
			}
		}()
		done <- fn()
	}()
	timer := time.NewTimer(maxTime)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return ErrTooSlow
	}
}

// readable shortens the library's errors to what a chart's author can use.
func readable(err error) error {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("refers to %w", load.Err)
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var cause *jsonschema.ValidationError
		if errors.As(invalid.Err, &cause) {
			var parts []string
			for _, v := range violations("", cause) {
				parts = append(parts, v.String())
			}
			return fmt.Errorf("is no valid JSON Schema: %s", strings.Join(parts, "; "))
		}
	}
	return fmt.Errorf("cannot be used: %s", strings.TrimPrefix(strings.ReplaceAll(err.Error(), base, ""), "cannot be used: "))
}
