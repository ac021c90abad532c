// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// published has the metaschemas as published by json-schema.org.
//
//go:embed meta
var published embed.FS

// draft is a version of the specification.
type draft struct {
	version int
	url     string // of its metaschema
	id      string // the keyword for a schema's identifier
	file    string // of its metaschema
	// The vocabularies that a metaschema may declare, and the prefix of their URLs.
	vocabularies []string
	prefix       string

	once sync.Once
	meta *Schema
	err  error
}

func (d *draft) is2019() bool { return d.version == 2019 }

// latest is the draft of a schema without $schema.
var latest = draft2020

var (
	draft4 = &draft{version: 4, url: "http://json-schema.org/draft-04/schema", id: "id", file: "draft-04.json"}
	draft6 = &draft{version: 6, url: "http://json-schema.org/draft-06/schema", id: "$id", file: "draft-06.json"}
	draft7 = &draft{version: 7, url: "http://json-schema.org/draft-07/schema", id: "$id", file: "draft-07.json"}

	draft2019 = &draft{
		version: 2019, url: "https://json-schema.org/draft/2019-09/schema", id: "$id", file: "2019-09/schema.json",
		vocabularies: []string{"core", "applicator", "validation", "meta-data", "format", "content"},
		prefix:       "https://json-schema.org/draft/2019-09/",
	}
	draft2020 = &draft{
		version: 2020, url: "https://json-schema.org/draft/2020-12/schema", id: "$id", file: "2020-12/schema.json",
		vocabularies: []string{
			"core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "format-assertion", "content",
		},
		prefix: "https://json-schema.org/draft/2020-12/",
	}
)

// draftOf returns the draft whose metaschema is at a URL, or nil if there is none.
func draftOf(url string) *draft {
	rest, ok := strings.CutPrefix(strings.Replace(url, "https://", "http://", 1), "http://json-schema.org/")
	if !ok {
		return nil
	}
	switch strings.TrimSuffix(rest, "/") {
	case "schema":
		return latest
	case "draft-04/schema":
		return draft4
	case "draft-06/schema":
		return draft6
	case "draft-07/schema":
		return draft7
	case "draft/2019-09/schema":
		return draft2019
	case "draft/2020-12/schema":
		return draft2020
	}
	return nil
}

// metaFile returns the name of the file with the metaschema, or a part of one, at a URL. It
// returns "" if there is none.
func metaFile(url string) string {
	if rest, ok := strings.CutPrefix(url, "http://json-schema.org/draft/"); ok {
		url = "https://json-schema.org/draft/" + rest
	}
	for _, d := range []*draft{draft4, draft6, draft7, draft2019, draft2020} {
		if url == d.url {
			return d.file
		}
		if d.prefix == "" {
			continue
		}
		if name, ok := strings.CutPrefix(url, d.prefix+"meta/"); ok && slices.Contains(d.vocabularies, name) {
			return path.Dir(d.file) + "/" + name + ".json"
		}
	}
	return ""
}

// readMeta decodes a published file.
func readMeta(file string) (any, error) {
	text, err := published.ReadFile("meta/" + file)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("metaschema %s: %w", file, err)
	}
	return doc, nil
}

// metaschema returns the draft's metaschema, which it compiles on first use.
func (d *draft) metaschema() (*Schema, error) {
	d.once.Do(func() {
		doc, err := readMeta(d.file)
		if err != nil {
			d.err = err
			return
		}
		d.meta, d.err = compileMeta(d.url, doc)
	})
	return d.meta, d.err
}

// compileMeta compiles a metaschema. It does not check the metaschema itself, and asserts
// formats, which is how an invalid pattern in a schema is found.
func compileMeta(url string, doc any) (*Schema, error) {
	c := newCompilation(&Compiler{})
	c.meta = true
	return c.compile(url, doc)
}

// dialect is a draft, or the part of one that a custom metaschema declares.
type dialect struct {
	draft *draft
	// chosen are the declared vocabularies by name. If it is nil, the vocabularies are those
	// of the draft's metaschema.
	chosen []string
	meta   *Schema // the custom metaschema, once compiled
}

func (d *dialect) has(vocabulary string) bool {
	return d.chosen == nil || slices.Contains(d.chosen, vocabulary)
}

// unevaluated reports whether the dialect has unevaluatedItems and unevaluatedProperties.
func (d *dialect) unevaluated() bool {
	if d.draft.is2019() {
		return d.has("applicator")
	}
	return d.draft.version > 2019 && d.has("unevaluated")
}

// formats reports whether formats are asserted.
func (d *dialect) formats() bool {
	switch {
	case d.draft.version < 2019:
		return true
	case d.draft.is2019():
		return slices.Contains(d.chosen, "format")
	}
	return slices.Contains(d.chosen, "format-assertion")
}

// metaschema returns the schema that schemas of the dialect are checked against.
func (d *dialect) metaschema() (*Schema, error) {
	if d.chosen == nil {
		return d.draft.metaschema()
	}
	if d.meta != nil {
		return d.meta, nil
	}
	parts := make([]any, 0, len(d.chosen)+1)
	for _, name := range d.draft.vocabularies {
		if name == "core" || slices.Contains(d.chosen, name) {
			parts = append(parts, map[string]any{"$ref": d.draft.prefix + "meta/" + name})
		}
	}
	// As in the reference implementation: in 2019-09, a subschema is checked by the
	// vocabulary of its keyword, and later by all declared vocabularies.
	doc := map[string]any{"$schema": d.draft.url, "allOf": parts}
	if !d.draft.is2019() {
		doc["$dynamicAnchor"] = "meta"
	}
	s, err := compileMeta(d.draft.prefix+"chosen", doc)
	if err != nil {
		return nil, err
	}
	s.metaOf, d.meta = d.draft, s
	return s, nil
}
