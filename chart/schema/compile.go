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

// base is the address of a chart's files while its schema is read. The scheme
// is reserved, so that no loader but ours can know it.
const base = "chart:///"

// Bounds for untrusted schemas (CVE-2025-32387): nothing that a person
// writes comes near them.
const (
	maxDepth = 256
	maxSteps = 500_000
	maxTime  = 5 * time.Second
)

// ErrOutside reports that a schema refers to something outside of its chart.
var ErrOutside = errors.New("references may only point into the chart itself")

// ErrTooDeep reports that a schema nests deeper than maxDepth.
var ErrTooDeep = fmt.Errorf("nests deeper than %d levels", maxDepth)

// ErrTooSlow is returned for a schema that keeps the validator busy without end.
var ErrTooSlow = jsonschema.ErrTooSlow

// compile reads the schema of c.
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

// decode reads JSON, or YAML where the file's name says so.
func decode(name string, text []byte) (any, error) {
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		return decodeYAML(text)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if tooDeep(text) {
		return nil, ErrTooDeep
	}
	doc, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	return doc, nil
}

// decodeJSON reads one value, with numbers as they are written.
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

// load returns the file at a URL, decoded.
func (f files) load(url string) (any, error) {
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

// readable shortens the validator's errors to what a chart's author can use.
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
