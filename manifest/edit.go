// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/moonhelm/moonhelm/internal/yaml"

// Edit changes raw, the text of an object, so that it decodes to now (see [Object.Map]).
// Unchanged parts keep their bytes, their position and their comments. A removed key is removed
// with the comments right above it; a new key is appended to its map. Parts in a YAML style that
// cannot be edited exactly are encoded again, in the worst case the whole text. Edit returns an
// error if now contains a value that YAML cannot represent.
func Edit(raw string, object map[string]any) (string, error) {
	return yaml.Edit(raw, object,
		yaml.Rules{Decode: func(text string) (map[string]any, error) { return decodeMap("", text) }})
}

// Encode returns an object as YAML: apiVersion, kind and metadata first, then spec and
// data, then all other keys, sorted. Strings that could be read as another type are quoted;
// strings of several lines become block scalars. The result decodes to the same values.
// Values must have the types of [Object.Map] or other integer, float and string types. Encode
// returns an error for other types, for strings that are not valid UTF-8, and for more than 1000
// levels of nesting.
func Encode(object map[string]any) (string, error) { return yaml.Encode(object) }
