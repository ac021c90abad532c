// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/jsonschema"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// base is the base URL of a chart's files while its schema is compiled. No other loader can
// load from the scheme.
const base = "chart:///"

// Limits for untrusted schemas (CVE-2025-32387).
const (
	maxDepth = 256
	maxSteps = 500_000
	maxTime  = 5 * time.Second
)

// ErrOutside is returned for a schema that refers to a document outside of its chart.
var ErrOutside = errors.New("references may only point into the chart itself")

// ErrTooDeep is returned for a schema that is nested too deeply.
var ErrTooDeep = fmt.Errorf("nests deeper than %d levels", maxDepth)

// ErrTooSlow is returned for a schema whose validation takes too long.
var ErrTooSlow = jsonschema.ErrTooSlow

// compile compiles the schema of c.
func compile(c *chart.Chart) (*jsonschema.Schema, error) {
	doc, err := decode(FileOf(c), textOf(c))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.Compiler{Load: files{c}.load, Limits: jsonschema.Limits{Time: maxTime}}
	s, err := compiler.Compile(base+FileOf(c), doc)
	if err != nil {
		return nil, readable(err)
	}
	return s, nil
}

// decode decodes YAML if name has its extension, and JSON otherwise.
func decode(name string, text []byte) (any, error) {
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		return decodeYAML(text)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if isTooDeep(text) {
		return nil, ErrTooDeep
	}
	doc, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON%s: %w", lineOf(text, err), err)
	}
	return doc, nil
}

// lineOf returns " in line N" for an error of the decoder of JSON that has an offset, else "".
func lineOf(text []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset > int64(len(text)) {
		return ""
	}
	return fmt.Sprintf(" in line %d", 1+bytes.Count(text[:syntax.Offset], []byte("\n")))
}

// decodeJSON decodes a single value with numbers as json.Number.
func decodeJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("invalid character after top-level value")
	}
	return doc, nil
}

func decodeYAML(text []byte) (any, error) {
	var doc any
	if err := yaml.UnmarshalV2(text, &doc); err != nil {
		return nil, fmt.Errorf("is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return plain(doc, 0)
}

// plain converts the types of a YAML decoder into those of a JSON decoder.
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

// isTooDeep reports whether JSON text is nested deeper than maxDepth. It does not recurse.
func isTooDeep(text []byte) bool {
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

// files loads referenced files of a chart.
type files struct{ c *chart.Chart }

// load returns the decoded file at a URL.
func (f files) load(url string) (any, error) {
	name, ok := strings.CutPrefix(url, base)
	if !ok {
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

// refersToFiles reports whether a schema may refer to other files of its chart.
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

// readable converts the validator's errors into messages for chart authors.
func readable(err error) error {
	var load *jsonschema.LoadError
	var invalid *jsonschema.InvalidError
	switch {
	case errors.Is(err, ErrTooSlow):
		return err
	case errors.As(err, &load):
		return fmt.Errorf("refers to %w", load.Err)
	case errors.As(err, &invalid):
		parts := make([]string, len(invalid.Violations))
		for i, v := range invalid.Violations {
			parts[i] = v.String()
		}
		return fmt.Errorf("is not a valid JSON Schema: %s", strings.Join(parts, "; "))
	}
	return fmt.Errorf("cannot be used: %s", strings.ReplaceAll(err.Error(), base, ""))
}
