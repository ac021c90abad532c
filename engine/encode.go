// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// The functions of this file are the encoders and decoders for templates. If encoding fails,
// those without "must" return "", or the error's text in their result, for which charts look. A
// value that is too large is an error in all of them.

// encoders returns the functions that encode a value.
func encoders() map[string]func(f *frame, args []any) any {
	all := sprig.GenericFuncMap()
	pretty := all["mustToPrettyJson"].(func(any) (string, error))
	raw := all["mustToRawJson"].(func(any) (string, error))
	m := map[string]func(f *frame, args []any) any{}
	for _, e := range []struct {
		name, must string
		encode     func(v any) (text string, written int, err error)
	}{
		{"toYaml", "mustToYaml", writeYAML},
		{"toJson", "mustToJson", weighed(marshalJSON)},
		{"toPrettyJson", "mustToPrettyJson", weighed(pretty)},
		{"", "toRawJson", weighed(raw)}, // fails as well
		{"", "mustToRawJson", weighed(raw)},
	} {
		call := func(name string, must bool) {
			m[name] = func(f *frame, args []any) any {
				text, written, err := e.encode(args[0])
				if err != nil && (must || errors.Is(err, errTooBig)) {
					f.failCall(name, err)
				}
				f.work(written >> 4)
				return text
			}
		}
		call(e.must, true)
		if e.name != "" {
			call(e.name, false)
		}
	}
	return m
}

// weighed returns an encoder that also returns the size of the value, and that refuses values
// that encode could not write in bounded time.
func weighed(encode func(v any) (string, error)) func(v any) (string, int, error) {
	return func(v any) (string, int, error) {
		w := newWeight()
		if err := w.check(v); err != nil {
			return "", w.walked * nodeSize, err
		}
		_, bytes := w.used()
		text, err := encode(v)
		return text, bytes, err
	}
}

func toYAML(v any) string {
	s, err := encodeYAML(v)
	if err != nil {
		return ""
	}
	return s
}

// toYAMLPretty indents lists below their key and does not fold long lines.
func toYAMLPretty(v any) string {
	var b bytes.Buffer
	enc := yaml.NewEncoderV3(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// asFloat converts every number into a float, like JSON decoders.
func asFloat(isWhole bool, whole int64, float float64) any {
	if isWhole {
		return float64(whole)
	}
	return float
}

func fromYAML(text string) map[string]any {
	if v, ok := yaml.Quick(text, asFloat); ok {
		switch v := v.(type) {
		case nil:
			return map[string]any{}
		case map[string]any:
			return v
		}
	}
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}

func fromYAMLArray(text string) []any {
	if v, ok := yaml.Quick(text, asFloat); ok {
		switch v := v.(type) {
		case nil:
			return []any{}
		case []any:
			return v
		}
	}
	a := []any{}
	if err := yaml.Unmarshal([]byte(text), &a); err != nil {
		a = []any{err.Error()}
	}
	return a
}

func marshalJSON(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return string(data), nil
}

func fromJSON(text string) map[string]any {
	m := map[string]any{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		if m == nil {
			m = map[string]any{}
		}
		m["Error"] = err.Error()
	}
	return m
}

func fromJSONArray(text string) []any {
	a := []any{}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		a = []any{err.Error()}
	}
	return a
}

// toTOML returns the error's text for a value that cannot be encoded, except for nil.
func toTOML(v any) (string, error) {
	s, err := mustToTOML(v)
	if err != nil && v != nil {
		return err.Error(), nil
	}
	return s, err
}

func mustToTOML(v any) (string, error) {
	if v == nil {
		return "", errors.New("there is no value to write as TOML")
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(v); err != nil {
		return "", err
	}
	return b.String(), nil
}

func fromTOML(text string) map[string]any {
	m := map[string]any{}
	if err := shallowTOML(text); err != nil {
		m["Error"] = err.Error()
		return m
	}
	if err := toml.Unmarshal([]byte(text), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}
