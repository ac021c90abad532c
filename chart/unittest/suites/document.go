// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/manifest"
)

// document is a document of the output of a template.
type document struct {
	index int // its place among the documents of its template
	value any // a map for objects; numbers are int, uint64 or float64
	text  string
	// line is the 1-based line of the output at which it begins.
	line int
}

// raw returns the text of a file that is not YAML.
func (d document) raw() (string, bool) {
	m, ok := d.value.(map[string]any)
	if !ok {
		return "", false
	}
	text, ok := m[rawKey].(string)
	return text, ok
}

// rawKey is the only key of the document of a file that is not YAML, such as NOTES.txt.
const rawKey = "raw"

// parseDocuments returns the documents of the output of a template, except those without content.
func parseDocuments(file, text string) ([]document, error) {
	if !isYAML(file) {
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
		return []document{{value: map[string]any{rawKey: strings.TrimLeft(text, "\n")}, text: text, line: 1}}, nil
	}
	var out []document
	line, at := 1, 0
	for _, doc := range manifest.Split(text) {
		from := at + strings.Index(text[at:], doc)
		line += strings.Count(text[at:from], "\n")
		v, err := decode(doc)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, document{index: len(out), value: v, text: doc, line: line})
		}
		at = from
	}
	return out, nil
}

// isYAML reports whether the output of a template is YAML. That of NOTES.txt, for one, is text.
func isYAML(file string) bool { return !strings.HasSuffix(file, ".txt") }

// decode decodes a document with the types of YAML 1.2: yes and on are strings.
func decode(text string) (any, error) {
	if !differs(text) {
		whole := func(isWhole bool, n int64, f float64) any {
			if isWhole {
				return int(n)
			}
			return f
		}
		if v, ok := yaml.Quick(text, whole); ok {
			return v, nil
		}
	}
	var v any
	if err := yaml.UnmarshalV3([]byte(text), &v); err != nil {
		return nil, err
	}
	return plain(v), nil
}

// differs reports whether a document may have a scalar whose type differs between YAML 1.1, which
// yaml.Quick reads, and 1.2: a word such as yes, a number such as 0777 or 1_000, or a date.
func differs(text string) bool {
	for i := 0; i < len(text); {
		if !isScalarByte(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && isScalarByte(text[i]) {
			i++
		}
		if differsWord(text[from:i]) {
			return true
		}
	}
	return false
}

func isScalarByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '+' || c == '.'
}

func differsWord(w string) bool {
	switch c := w[0]; {
	case c >= '0' && c <= '9', c == '+', c == '.', c == '_':
		// Longer numbers do not fit into an int64, and four digits may begin a date.
		return len(w) > 1 && c == '0' && w[1] != '.' || c == '+' || len(w) > 18 || strings.IndexByte(w, '_') >= 0 ||
			len(w) == 4
	}
	switch len(w) {
	case 1:
		return w == "y" || w == "Y" || w == "n" || w == "N"
	case 2:
		return strings.EqualFold(w, "on") || strings.EqualFold(w, "no")
	case 3:
		return strings.EqualFold(w, "yes") || strings.EqualFold(w, "off")
	}
	return false
}

// plain returns v with maps whose keys are strings, and without times.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = plain(item)
		}
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[fmt.Sprint(k)] = plain(item)
		}
		return out
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	}
	return v
}

// encode returns v as YAML with keys sorted and an indent of two spaces.
func encode(v any) string {
	var b strings.Builder
	enc := yaml.NewEncoderV3(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v) + "\n"
	}
	_ = enc.Close() // nothing is left to write
	return b.String()
}
