// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// toYaml takes most of the time of a rendering. Values that are common in charts are encoded by
// a fast path, all others by the library, with the same output.

// encodeYAML encodes v like Helm, without the last line feed.
func encodeYAML(v any) (string, error) {
	text, _, err := writeYAML(v)
	return text, err
}

// writeYAML is like encodeYAML, but also returns the number of bytes that were written,
// including those of a failed attempt.
func writeYAML(v any) (text string, written int, err error) {
	out := newBuffer()
	defer out.free()
	var ok bool
	if out.data, ok = quickYAML(out.data, v); ok {
		return strings.TrimSuffix(string(out.data), "\n"), len(out.data), nil
	}
	written = len(out.data)
	if err := checkSize(v); err != nil {
		return "", written, err
	}
	data, err := yaml.Marshal(v)
	if err != nil {
		return "", written, err
	}
	return strings.TrimSuffix(string(data), "\n"), written + len(data), nil
}

func quickYAML(dst []byte, v any) ([]byte, bool) {
	return yaml.AppendMarshal(dst, v, yaml.Limits{Text: maxText, Depth: maxNesting, Convert: plainMap})
}

// plainMap returns v as a map[string]any if it is Values.
func plainMap(v any) any {
	if v, ok := v.(Values); ok {
		return map[string]any(v)
	}
	return v
}
