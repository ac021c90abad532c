// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// parseDocument parses one document and decodes its head. An error is a *problem.
func parseDocument(source, raw string) (*Object, error) {
	if strings.HasPrefix(raw, "\xfe\xff") || strings.HasPrefix(raw, "\xff\xfe") {
		// YAML allows UTF-16, but Format writes a UTF-8 comment before it.
		return nil, &problem{text: "the text is UTF-16: save the template as UTF-8"}
	}
	o := &Object{Source: source, Raw: raw}
	v, ok := yaml.QuickKeys(raw, isHead)
	if !ok {
		if err := yaml.UnmarshalV2([]byte(ended(raw)), &v); err != nil {
			return nil, yamlProblem(err)
		}
		var err error
		if v, err = plainValue(v); err != nil {
			return nil, &problem{text: err.Error()}
		}
	}
	return o, withLine(o.readHead(v), raw)
}

// withLine returns err with the line of its field in the document.
func withLine(err error, raw string) error {
	var p *problem
	if !errors.As(err, &p) || p.line > 0 || p.field == "" {
		return err
	}
	found := *p
	found.line = yaml.FieldLine(yaml.Root([]byte(raw)), p.field)
	return &found
}

func isHead(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

func (o *Object) readHead(v any) error {
	var m map[string]any
	switch v := v.(type) {
	case nil:
		o.Empty = true
		return nil
	case map[string]any:
		m = v
	default:
		return &problem{line: 1,
			text: fmt.Sprintf("a document must be a map with apiVersion and kind, this one is %s", describe(v))}
	}
	var err error
	if o.APIVersion, err = headString(m, "apiVersion", "apiVersion"); err != nil {
		return err
	}
	if o.Kind, err = headString(m, "kind", "kind"); err != nil {
		return err
	}
	var meta map[string]any
	switch v := m["metadata"].(type) {
	case nil:
		return nil
	case map[string]any:
		meta = v
	default:
		return &problem{text: "metadata must be a map, this one is " + describe(v), field: "metadata"}
	}
	if o.Name, err = headString(meta, "name", "metadata.name"); err != nil {
		return err
	}
	o.Namespace, _ = headString(meta, "namespace", "metadata.namespace")
	if o.Annotations, err = stringMap(meta, "annotations"); err != nil {
		return err
	}
	// As with Helm, invalid labels are left to the API server.
	o.Labels, _ = stringMap(meta, "labels")
	return nil
}

func headString(m map[string]any, key, path string) (string, error) {
	s, ok := scalarText(m[key])
	if !ok {
		return "", &problem{text: fmt.Sprintf("%s must be a string, this one is %s", path, describe(m[key])), field: path}
	}
	return s, nil
}

func stringMap(meta map[string]any, key string) (map[string]string, error) {
	switch v := meta[key].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		out := make(map[string]string, len(v))
		for k, e := range v {
			s, ok := scalarText(e)
			if !ok {
				return nil, &problem{text: fmt.Sprintf("metadata.%s: %q must be a string, this one is %s", key, k, describe(e)),
					field: fmt.Sprintf("metadata.%s[%s]", key, k)}
			}
			out[k] = s
		}
		return out, nil
	default:
		return nil, &problem{text: fmt.Sprintf("metadata.%s must be a map, this one is %s", key, describe(v)),
			field: "metadata." + key}
	}
}

// scalarText converts a scalar to a string: like Helm, it accepts a number or a bool
// where a string is expected.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 32), true
	}
	return "", false
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "a bool"
	}
	return "a number"
}

// Decode decodes a YAML document of any type, as [Object.Map] decodes objects. It returns nil for a
// document of only comments. An error is a [*SyntaxError].
func Decode(source, text string) (any, error) {
	v, ok := yaml.Quick(text, nil)
	if ok {
		return v, nil
	}
	if err := yaml.UnmarshalV2([]byte(text), &v); err != nil {
		return nil, located(yamlProblem(err), source, text, 1)
	}
	v, err := plainValue(v)
	if err != nil {
		return nil, located(err, source, text, 1)
	}
	return v, nil
}

// decodeMap decodes a whole document.
func decodeMap(source, raw string) (map[string]any, error) {
	v, err := Decode(source, raw)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return nil, located(&problem{line: 1, text: "a document must be a map, this one is " + describe(v)}, source, raw, 1)
}

// plainValue converts values of the YAML parser to JSON's types, with int64 for integers
// and strings for keys of other types.
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		return anyMap(yaml.TextKeys(v, func(_ string, e any) (any, error) { return plainValue(e) }))
	case []any:
		for i, e := range v {
			p, err := plainValue(e)
			if err != nil {
				return nil, err
			}
			v[i] = p
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("%v is not a valid number here: an object is sent as JSON, which has only finite ones", v)
		}
	case string:
		if !utf8.ValidString(v) { // from a !!binary
			return string([]rune(v)), nil
		}
	}
	return v, nil
}

// anyMap returns m as an any, or nil if there is an error.
func anyMap(m map[string]any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
