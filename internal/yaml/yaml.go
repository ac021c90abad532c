// SPDX-License-Identifier: Apache-2.0

// Package yaml parses, writes and edits YAML. It is the only package that imports YAML
// libraries.
//
// It parses the usual subset of YAML without them: [Quick] returns values, and [Walk] passes
// tokens to a [Sink]. Both report whether a text is in the subset; if not, use one of the
// libraries. For a document:
//
//	v, ok := yaml.Quick(text, nil)
//	if !ok {
//		if err := yaml.UnmarshalV2([]byte(text), &v); err != nil {
//			return err
//		}
//	}
//
// [Encode] writes readable YAML, and [AppendMarshal] is a faster [Marshal]. [Edit] changes the
// values of a text, and [SetText] a single value; both keep comments. [Root] parses a text
// into nodes, in which [Find], [Value] and [Line] find a key.
//
// Helm's behavior depends on three ways to use the libraries, which differ in their results:
//
//   - [Unmarshal], [Marshal], [FromJSON] and [ToJSONStrict] convert to or from JSON: JSON
//     tags name the fields, maps have string keys, and numbers are those of JSON.
//     What helm writes, and toYaml in templates, is Marshal's.
//   - [UnmarshalV2], [MarshalV2] and [NewDecoderV2] are YAML 1.1 without JSON, with keys
//     and numbers of any type. Unmarshal and Marshal are built on them.
//   - [UnmarshalV3], [MarshalV3], [NewDecoderV3] and [NewEncoderV3] support a [Node] with
//     its comments, line and column.
//
// Tests may import the libraries for comparison.
package yaml

import (
	"io"

	v2 "go.yaml.in/yaml/v2"
	v3 "go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"
)

// Node is a value with its comments and its position in the text.
type Node = v3.Node

// Style is the style of a node.
type Style = v3.Style

// TypeError is returned if values do not match the types that they are decoded into.
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

// Marshal returns v as YAML like Helm, which converts it from JSON with sorted keys.
func Marshal(v any) ([]byte, error) { return sigs.Marshal(v) }

// Unmarshal converts text into JSON and decodes it into v. Duplicate keys are not an error.
func Unmarshal(text []byte, v any) error { return sigs.Unmarshal(text, v) }

// FromJSON returns JSON text as YAML, as [Marshal] writes it.
func FromJSON(text []byte) ([]byte, error) { return sigs.JSONToYAML(text) }

// ToJSONStrict returns text as JSON. Duplicate keys are an error.
func ToJSONStrict(text []byte) ([]byte, error) { return sigs.YAMLToJSONStrict(text) }

// UnmarshalV2 decodes the first document of text into v as YAML 1.1.
func UnmarshalV2(text []byte, v any) error { return v2.Unmarshal(text, v) }

// MarshalV2 is like [Marshal] without JSON: it uses yaml tags and the types of v.
func MarshalV2(v any) ([]byte, error) { return v2.Marshal(v) }

// NewDecoderV2 returns a decoder for the documents of r as YAML 1.1.
func NewDecoderV2(r io.Reader) *v2.Decoder { return v2.NewDecoder(r) }

// UnmarshalV3 decodes the first document of text into v, which may be a [Node].
func UnmarshalV3(text []byte, v any) error { return v3.Unmarshal(text, v) }

// MarshalV3 returns v, which may be a [Node], with its comments and styles.
func MarshalV3(v any) ([]byte, error) { return v3.Marshal(v) }

// NewDecoderV3 returns a decoder for the documents of r, which can reject unknown fields.
func NewDecoderV3(r io.Reader) *v3.Decoder { return v3.NewDecoder(r) }

// NewEncoderV3 returns an encoder to w, whose indent can be set.
func NewEncoderV3(w io.Writer) *v3.Encoder { return v3.NewEncoder(w) }
