// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"strings"
	"sync"

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

// documentCache keeps the documents of outputs: most tests of a chart render most templates to the same text. It is
// safe for concurrent use; documents are never modified.
type documentCache struct {
	mu   sync.Mutex
	docs map[string][]document
	size int
}

// maxCached limits the outputs of a cache, in bytes.
const maxCached = 64 << 20

// parse is like parseDocuments.
func (c *documentCache) parse(file, text string) ([]document, error) {
	key := text
	if !isYAML(file) {
		key = "\x00" + text
	}
	c.mu.Lock()
	docs, ok := c.docs[key]
	c.mu.Unlock()
	if ok {
		return docs, nil
	}
	docs, err := parseDocuments(file, text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.docs == nil {
		c.docs = map[string][]document{}
	}
	if c.size += len(text); c.size <= maxCached {
		c.docs[key] = docs
	}
	return docs, nil
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
		if mayDiffer(text[from:i], text[i:]) && beginsScalar(text, from) && endsScalar(text[i:]) {
			return true
		}
	}
	return false
}

func isScalarByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '+' || c == '.' ||
		c == '-'
}

// mayDiffer reports whether w, with rest after it, may be such a scalar.
func mayDiffer(w, rest string) bool {
	sign := strings.TrimLeft(w, "+-")
	if sign != "" && sign[0] >= '0' && sign[0] <= '9' {
		if strings.ContainsAny(sign, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY") {
			return false // neither a number nor a date
		}
		if strings.ContainsAny(sign, "acdfACDF") && !strings.HasPrefix(sign, "0x") && !strings.HasPrefix(sign, "0X") {
			return false // such as a hash: only hexadecimal numbers have these letters
		}
		isDate := len(sign) > 5 && sign[4] == '-'
		// Longer numbers do not fit into an int64.
		return len(sign) > 1 && sign[0] == '0' && sign[1] != '.' || w[0] == '+' || len(w) > 18 || isDate ||
			strings.IndexByte(w, '_') >= 0 || strings.HasPrefix(rest, ":")
	}
	switch len(w) {
	case 1:
		return strings.Contains("yYnN", w)
	case 2:
		return strings.EqualFold(w, "on") || strings.EqualFold(w, "no")
	case 3:
		return strings.EqualFold(w, "yes") || strings.EqualFold(w, "off")
	}
	return w[0] == '+'
}

// beginsScalar reports whether a scalar may begin at from.
func beginsScalar(text string, from int) bool {
	before := strings.TrimRight(text[:from], " \t")
	if before == "" {
		return true
	}
	switch before[len(before)-1] {
	case '\n', '[', '{', ',':
		return true
	case '-', ':', '?':
		return len(before) < from
	}
	return false
}

// endsScalar reports whether a scalar may end before rest.
func endsScalar(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r")
	return rest == "" || strings.IndexByte("\n,]}:#", rest[0]) >= 0
}

// plain returns v with maps whose keys are strings.
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
