// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/manifest"
)

// The functions of this file are the encoders and decoders that templates
// call. Those without "must" never fail: they give "" or put the error's text
// into what they return, and charts look for it there.

func toYAML(v any) string {
	s, err := encodeYAML(v)
	if err != nil {
		return ""
	}
	return s
}

func mustToYAML(v any) (string, error) { return encodeYAML(v) }

// toYAMLPretty indents lists below their key, and folds no long lines.
func toYAMLPretty(v any) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// asFloat makes every number a float, as JSON decoders do.
func asFloat(isWhole bool, whole int64, float float64) any {
	if isWhole {
		return float64(whole)
	}
	return float
}

func fromYAML(text string) map[string]any {
	if v, ok := manifest.Quick(text, asFloat); ok {
		switch v := v.(type) {
		case nil:
			return map[string]any{}
		case map[string]any:
			return v
		}
	}
	m := map[string]any{}
	if err := sigsyaml.Unmarshal([]byte(text), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}

func fromYAMLArray(text string) []any {
	if v, ok := manifest.Quick(text, asFloat); ok {
		switch v := v.(type) {
		case nil:
			return []any{}
		case []any:
			return v
		}
	}
	a := []any{}
	if err := sigsyaml.Unmarshal([]byte(text), &a); err != nil {
		a = []any{err.Error()}
	}
	return a
}

func toJSON(v any) string {
	s, err := mustToJSON(v)
	if err != nil {
		return ""
	}
	return s
}

func mustToJSON(v any) (string, error) {
	if err := checkSize(v); err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	return string(data), err
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

func toTOML(v any) string {
	s, err := mustToTOML(v)
	if err != nil {
		return err.Error()
	}
	return s
}

func mustToTOML(v any) (string, error) {
	if v == nil {
		return "", fmt.Errorf("nothing to encode: the value is empty")
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
