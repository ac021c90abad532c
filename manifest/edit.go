// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/moonhelm/moonhelm/internal/yaml"

// Edit returns the text of an object, raw, changed so that it decodes to now (see
// [Object.Map]), with as few changes as it can: what stays the same keeps its bytes, its
// place and its comments; a key that is removed takes the comments right above it along; a
// new one comes last in its map. Parts in a form of YAML that cannot be edited exactly are
// written anew, in the worst case all of the text. An error is returned for a value that
// YAML cannot hold.
func Edit(raw string, now map[string]any) (string, error) {
	return yaml.Edit(raw, now,
		yaml.Rules{Decode: func(text string) (map[string]any, error) { return decodeMap("", text) }})
}

// Encode returns an object as YAML: apiVersion, kind and metadata first, then spec and
// data, all other keys sorted; text that could be read as another type is quoted, text of
// several lines is a block. The result decodes to the same values. Values are of the types
// of [Object.Map], or other types of integers, floats and strings; an error is returned for
// any other, for text that is not UTF-8, and for nesting of more than 1000 levels.
func Encode(object map[string]any) (string, error) { return yaml.Encode(object) }
