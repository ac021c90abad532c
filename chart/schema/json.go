// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// YAML converts a schema in JSON into YAML. It returns a schema in YAML unchanged.
func YAML(schema []byte) ([]byte, error) {
	if !json.Valid(schema) {
		return schema, nil
	}
	var doc yaml.Node
	if err := yaml.UnmarshalV3(schema, &doc); err != nil {
		return nil, yamlError("the schema", 0, err)
	}
	block(&doc, true, 0)
	return encode(&doc)
}

// JSON converts a schema from [Derive] into JSON, for programs that only read
// values.schema.json. It keeps the order of keys, and returns a schema in JSON unchanged. If
// the schema was not edited, the JSON has a "$comment" by which [Derive] recognizes it.
func JSON(schema []byte) ([]byte, error) {
	if json.Valid(schema) {
		return schema, nil
	}
	var doc yaml.Node
	if err := yaml.UnmarshalV3(schema, &doc); err != nil {
		return nil, fmt.Errorf("write the schema as JSON: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("write the schema as JSON: there is none")
	}
	var b, out bytes.Buffer
	if err := writeJSON(&b, doc.Content[0], 0); err != nil {
		return nil, fmt.Errorf("write the schema as JSON: %w", err)
	}
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("write the schema as JSON: %w", err)
	}
	out.WriteByte('\n')
	text := out.Bytes()
	if body, ok := bytes.CutPrefix(text, []byte("{\n")); ok && isUnedited(schema) {
		return append([]byte(jsonHeader(text)), body...), nil
	}
	return text, nil
}

func writeJSON(b *bytes.Buffer, n *yaml.Node, depth int) error {
	if depth > 2*maxDepth {
		return ErrTooDeep
	}
	n = yaml.Target(n)
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, keyName(n.Content[i]))
			b.WriteByte(':')
			if err := writeJSON(b, n.Content[i+1], depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, e := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, e, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	return writeScalar(b, n)
}

func writeScalar(b *bytes.Buffer, n *yaml.Node) error {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		n.Tag == "!!str" && n.Style&yaml.TaggedStyle != 0 {
		writeString(b, n.Value)
		return nil
	}
	var v any
	if err := yaml.UnmarshalV2([]byte(n.Value), &v); err != nil {
		writeString(b, n.Value)
		return nil
	}
	switch v := v.(type) {
	case string:
		writeString(b, v)
	case nil, bool, int, int64, uint64, float64:
		out, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(out)
	default:
		writeString(b, n.Value)
	}
	return nil
}

// writeString writes a JSON string without escaping <, > and &, which are common in patterns.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // cannot fail for a string and a buffer
}
