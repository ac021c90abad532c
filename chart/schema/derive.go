// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Draft is the JSON Schema draft that derived schemas are written in: the
// latest that every Helm that knows schemas reads.
const Draft = "http://json-schema.org/draft-07/schema#"

// Options say how a schema is derived. The zero value takes the files for
// values.yaml and values.schema.yaml of no chart in particular.
type Options struct {
	// ValuesName and ExistingName stand for the two files in errors.
	ValuesName, ExistingName string
	// Chart holds the files that $ref may point to; nil for none.
	Chart *chart.Chart
}

// Derive writes a JSON Schema, as YAML, for values, the text of a values.yaml:
// the types and defaults that are there, descriptions from comments, and what
// "@schema" comments say. What is unknown stays open: null, an empty map and an
// empty list say nothing about what may be put there, and keys that
// values.yaml does not have are never forbidden.
//
// existing is the text of a schema, YAML or JSON, nil for none. What is written
// there wins; what it lacks is filled in, and where it lacks nothing it comes
// back as it is. A schema that Derive wrote and no one changed since is made
// again.
//
// A schema that is derived from values alone accepts them; "@schema" comments
// and an existing schema may ask for more. The same texts give the same bytes.
// The error is a [*chart.InvalidError] where it has a line, and there is none
// for values that package values reads, unless an annotation is wrong.
func Derive(values, existing []byte) ([]byte, error) {
	return Options{}.Derive(values, existing)
}

// Derive is [Derive] with options.
func (o Options) Derive(values, existing []byte) ([]byte, error) {
	if o.ValuesName == "" {
		o.ValuesName = chart.FileValues
	}
	if o.ExistingName == "" {
		o.ExistingName = chart.FileSchemaYAML
	}
	if isOurs(existing) || len(bytes.TrimSpace(existing)) == 0 {
		existing = nil
	}
	src, err := readSource(o.ValuesName, values)
	if err != nil {
		return nil, err
	}
	d := &deriver{source: src}
	root, err := d.document()
	if err != nil {
		return nil, err
	}
	if existing == nil {
		return o.fresh(d, root)
	}
	return o.merged(d, root, existing)
}

// fresh writes a schema that is derived from values alone.
func (o Options) fresh(d *deriver, root *yaml.Node) ([]byte, error) {
	body, err := encode(root)
	if err != nil {
		return nil, fmt.Errorf("write the schema derived from %s: %w", o.ValuesName, err)
	}
	if len(d.annotated) > 0 {
		if err := o.check(body); err != nil {
			return nil, d.blame(err)
		}
	}
	return append([]byte(header(body)), body...), nil
}

// merged fills what an existing schema lacks.
func (o Options) merged(d *deriver, root *yaml.Node, existing []byte) ([]byte, error) {
	var doc yaml.Node
	text := bytes.TrimPrefix(existing, []byte("\xef\xbb\xbf"))
	if err := yaml.UnmarshalV3(text, &doc); err != nil {
		return nil, yamlError(o.ExistingName, 0, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, &chart.InvalidError{File: o.ExistingName, Line: 1, Problem: "is not a schema, must be a map"}
	}
	have := doc.Content[0]
	remove(root, "$schema") // another draft would change what is written
	remove(root, "title")
	if !fill(have, root, 0) {
		return existing, o.check(existing)
	}
	block(have, json.Valid(text), 0)
	body, err := encode(&doc)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.ExistingName, err)
	}
	if err := o.check(existing); err != nil {
		return nil, err
	}
	if err := o.check(body); err != nil {
		return nil, d.blame(err)
	}
	return body, nil
}

// check tells why a text is not a schema that could be used.
func (o Options) check(text []byte) error {
	c := &chart.Chart{SchemaYAML: text}
	if o.Chart != nil {
		c.Files, c.Raw = o.Chart.Files, o.Chart.Raw
	}
	if _, err := compile(c); err != nil {
		return &chart.InvalidError{File: o.ExistingName, Problem: err.Error()}
	}
	return nil
}

// The first line of a derived schema names the rest by its digest, in JSON the
// comment that is its first member. As long as it is right no one has written in
// the file, and nothing can be lost.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return `Derived from values.yaml by "helm schema" (sha256:` + hex.EncodeToString(sum[:8]) +
		"); what is written here by hand stays."
}

func header(body []byte) string { return "# " + digest(body) + "\n" }

// jsonHeader is the first member of a schema in JSON, and what precedes it.
func jsonHeader(body []byte) string {
	return jsonStart + strconv.Quote(digest(body)) + ",\n"
}

const jsonStart = "{\n  \"$comment\": "

// isOurs reports whether a schema is as Derive or JSON has written it.
func isOurs(text []byte) bool {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if rest, ok := bytes.CutPrefix(text, []byte(jsonStart)); ok {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		body := append([]byte("{\n"), rest...)
		return bytes.HasPrefix(text, []byte(jsonHeader(body)))
	}
	line, body, _ := bytes.Cut(text, []byte("\n"))
	return string(line)+"\n" == header(body)
}

// AddTo returns c with a derived values.schema.yaml, and c itself if it has a
// schema already. c is not changed: the result is a copy that shares its files,
// with copies of the charts below. Subcharts are left as they are.
func AddTo(c *chart.Chart) (*chart.Chart, error) {
	if FileOf(c) != "" {
		return c, nil
	}
	text, err := Of(c)
	if err != nil {
		return nil, err
	}
	d := copyTree(c)
	file := &chart.File{Name: chart.FileSchemaYAML, Data: text}
	d.SchemaYAML = text
	d.Schema = nil // it was empty, if it was there
	d.Files = withFile(c.Files, file)
	d.Raw = withFile(c.Raw, file)
	return d, nil
}

// Of derives the schema of a chart from its values.yaml, merged with the schema
// that it has.
func Of(c *chart.Chart) ([]byte, error) {
	var vals []byte
	if f := c.File(chart.FileValues); f != nil {
		vals = f.Data
	}
	return Options{ExistingName: FileOf(c), Chart: c}.Derive(vals, textOf(c))
}

// withFile puts a file in the place of those of its name.
func withFile(files []*chart.File, file *chart.File) []*chart.File {
	out := make([]*chart.File, 0, len(files)+1)
	for _, f := range files {
		if f.Name != file.Name && f.Name != chart.FileSchema {
			out = append(out, f)
		}
	}
	return append(out, file)
}

func copyTree(c *chart.Chart) *chart.Chart {
	d := c.Shallow()
	var below []*chart.Chart
	for _, sub := range c.Dependencies() {
		below = append(below, copyTree(sub))
	}
	d.SetDependencies(below...)
	return d
}
