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

// published are the metaschemas, as json-schema.org publishes them.
//
//go:embed meta
var published embed.FS

// draft is one version of the specification.
type draft struct {
	version int
	url     string // of its metaschema
	id      string // the keyword that names a schema
	file    string // of its metaschema
	// The vocabularies that a metaschema may choose from, and where they stand.
	vocabularies []string
	prefix       string

	once sync.Once
	meta *Schema
	err  error
}

func (d *draft) is2019() bool { return d.version == 2019 }

// latest is the draft of a schema that does not say.
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

// draftOf returns the draft whose metaschema is at a URL, nil if there is none.
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

// metaFile names the file of the metaschema, or of the part of one, at a URL; "" if
// there is none.
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

// readMeta decodes one of the published files.
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

// metaschema returns the draft's own metaschema, read at its first use.
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

// compileMeta compiles a metaschema. What it is published for is not checked again, and
// its formats count: that is how a bad pattern is found.
func compileMeta(url string, doc any) (*Schema, error) {
	c := newCompilation(&Compiler{})
	c.meta = true
	return c.compile(url, doc)
}

// dialect is a draft, or the part of one that a metaschema of the author chooses.
type dialect struct {
	draft *draft
	// chosen are the vocabularies by name; nil means what the draft's own metaschema
	// says.
	chosen []string
	meta   *Schema // of what was chosen, once read
}

func (d *dialect) has(vocabulary string) bool {
	return d.chosen == nil || slices.Contains(d.chosen, vocabulary)
}

// unevaluated reports whether unevaluatedItems and unevaluatedProperties count.
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
	// As the reference has it: in 2019-09 a schema below another is checked by the
	// vocabulary that has the keyword in between, later by all that were chosen.
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
