// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Edit changes raw, the text of an object, so that it decodes to now (see [Object.Map]).
// Unchanged parts keep their bytes, their position and their comments. A removed key is removed
// with the comments right above it; a new key is appended to its map. Parts in a YAML style that
// cannot be edited exactly are encoded again, in the worst case the whole text. Edit returns an
// error if now contains a value that YAML cannot represent.
func Edit(raw string, object map[string]any) (string, error) {
	return yaml.Edit(raw, object,
		yaml.Rules{Decode: func(text string) (map[string]any, error) { return decodeMap("", text) }})
}

// Edit returns an object whose content is now (see [Object.Map]) and whose text is that of o, edited as
// by the function [Edit]. It decodes the text of o only if Map has not. An error is that of the function,
// a [*SyntaxError], or says that the text would be another number of documents than one.
func (o *Object) Edit(now map[string]any) (*Object, error) {
	old, err := o.Map()
	if err != nil {
		return nil, err
	}
	var last string
	var content map[string]any
	text, err := yaml.Edit(o.Raw, now, yaml.Rules{Old: old, Decode: func(text string) (map[string]any, error) {
		m, err := decodeMap("", text)
		last, content = text, m
		return m, err
	}})
	if err != nil {
		return nil, err
	}
	docs := split(text)
	if len(docs) != 1 {
		return nil, fmt.Errorf("the object would be %d documents", len(docs))
	}
	raw := text[docs[0].start:docs[0].end]
	if content == nil || ended(raw) != last {
		return single(o.Source, raw)
	}
	edited := &Object{Source: o.Source, Raw: raw}
	if err := withLine(edited.readHead(content), raw); err != nil {
		return nil, located(err, o.Source, raw, 1)
	}
	edited.once.Do(func() { edited.data = content })
	return edited, nil
}

// single returns the object that a document has.
func single(source, raw string) (*Object, error) {
	o, err := parseDocument(source, raw)
	if err != nil {
		return nil, located(err, source, raw, 1)
	}
	return o, nil
}

// Encode returns an object as YAML: apiVersion, kind and metadata first, then spec and
// data, then all other keys, sorted. Strings that could be read as another type are quoted;
// strings of several lines become block scalars. The result decodes to the same values.
// Values must have the types of [Object.Map] or other integer, float and string types. Encode
// returns an error for other types, for strings that are not valid UTF-8, and for more than 1000
// levels of nesting.
func Encode(object map[string]any) (string, error) { return yaml.Encode(object) }
