// SPDX-License-Identifier: Apache-2.0

// Package yaml reads, writes and edits YAML, and is the one package that imports YAML
// libraries.
//
// What people and programs usually write is read without them: [Quick] makes values of it,
// and [Walk] tells a [Sink] what it finds. Both say where a text is not usual, and then one of
// the libraries reads it. For a document:
//
//	v, ok := yaml.Quick(text, nil)
//	if !ok {
//		if err := yaml.UnmarshalV2([]byte(text), &v); err != nil {
//			return err
//		}
//	}
//
// [Encode] writes a map for people to read, [AppendMarshal] writes what [Marshal] does in less
// time. [Edit] changes a text so that it reads as other values, [SetText] one value of it; both
// keep comments. [Root] reads a text as nodes, in which [Find], [Value] and [Line] look for a
// key.
//
// Three readings by libraries are part of what Helm's users see, and the names say which is
// meant:
//
//   - [Unmarshal], [Marshal], [FromJSON] and [ToJSONStrict] go by way of JSON: JSON
//     tags name the fields, maps have string keys, and numbers are those of JSON.
//     What helm writes, and toYaml in templates, is Marshal's.
//   - [UnmarshalV2], [MarshalV2] and [NewDecoderV2] are YAML 1.1 of Go values: what
//     Unmarshal and Marshal rest on, with keys and numbers as they stand.
//   - [UnmarshalV3], [MarshalV3], [NewDecoderV3] and [NewEncoderV3] know a [Node],
//     with its comments, line and column.
//
// Tests may import the libraries themselves, as references.
package yaml

import (
	"io"

	v2 "go.yaml.in/yaml/v2"
	v3 "go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"
)

// Node is a value with its comments and its place in the text.
type Node = v3.Node

// Style says how a node is written.
type Style = v3.Style

// TypeError is returned when values do not fit the fields that they are read into.
type TypeError = v3.TypeError

// The kinds of nodes.
const (
	DocumentNode = v3.DocumentNode
	SequenceNode = v3.SequenceNode
	MappingNode  = v3.MappingNode
	ScalarNode   = v3.ScalarNode
	AliasNode    = v3.AliasNode
)

// The styles of nodes.
const (
	TaggedStyle       = v3.TaggedStyle
	DoubleQuotedStyle = v3.DoubleQuotedStyle
	SingleQuotedStyle = v3.SingleQuotedStyle
	LiteralStyle      = v3.LiteralStyle
	FoldedStyle       = v3.FoldedStyle
	FlowStyle         = v3.FlowStyle
)

// Marshal returns v as Helm writes it: by way of JSON, with keys in order.
func Marshal(v any) ([]byte, error) { return sigs.Marshal(v) }

// Unmarshal reads text into v by way of JSON. A duplicate key is not an error.
func Unmarshal(text []byte, v any) error { return sigs.Unmarshal(text, v) }

// FromJSON returns JSON text as YAML, as [Marshal] writes it.
func FromJSON(text []byte) ([]byte, error) { return sigs.JSONToYAML(text) }

// ToJSONStrict returns text as JSON; a key that stands twice is an error.
func ToJSONStrict(text []byte) ([]byte, error) { return sigs.YAMLToJSONStrict(text) }

// UnmarshalV2 reads the first document of text into v as YAML 1.1.
func UnmarshalV2(text []byte, v any) error { return v2.Unmarshal(text, v) }

// MarshalV2 returns v as [Marshal] does, but by the tags and types of v itself.
func MarshalV2(v any) ([]byte, error) { return v2.Marshal(v) }

// NewDecoderV2 returns a decoder of the documents of r as YAML 1.1.
func NewDecoderV2(r io.Reader) *v2.Decoder { return v2.NewDecoder(r) }

// UnmarshalV3 reads the first document of text into v, which may be a [Node].
func UnmarshalV3(text []byte, v any) error { return v3.Unmarshal(text, v) }

// MarshalV3 returns v, which may be a [Node], with its comments and styles.
func MarshalV3(v any) ([]byte, error) { return v3.Marshal(v) }

// NewDecoderV3 returns a decoder of the documents of r, which can refuse unknown fields.
func NewDecoderV3(r io.Reader) *v3.Decoder { return v3.NewDecoder(r) }

// NewEncoderV3 returns an encoder to w, whose indent can be set.
func NewEncoderV3(w io.Writer) *v3.Encoder { return v3.NewEncoder(w) }
