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

// Draft is the JSON Schema draft of derived schemas: the latest that all versions of Helm
// with schemas support.
const Draft = "http://json-schema.org/draft-07/schema#"

// Options are the options of [Options.Derive].
type Options struct {
	// ValuesName and ExistingName are the names of the two files in errors. The defaults
	// are values.yaml and values.schema.yaml.
	ValuesName, ExistingName string
	// Chart has the files to which $ref may refer. It may be nil.
	Chart *chart.Chart
}

// Derive returns a JSON Schema, as YAML, for values, the text of a values.yaml. The schema
// has the types and defaults of the values, descriptions from comments, and the keywords of
// "@schema" comments. It does not restrict values that are null, an empty map or an empty
// list, and does not forbid keys that values.yaml does not have.
//
// existing is the text of a schema in YAML or JSON, or nil. Derive adds to it what is missing
// and never overrides it; if nothing is missing, it returns existing unchanged. It replaces a
// schema that Derive wrote and that was not changed since.
//
// Values satisfy the schema derived from them, unless "@schema" comments or the existing
// schema are stricter. Derive is deterministic. Errors that have a line are of type
// [*chart.InvalidError]. Values that package values can parse are an error only if an
// annotation or the existing schema is not valid.
func Derive(values, existing []byte) ([]byte, error) {
	return Options{}.Derive(values, existing)
}

// Derive is like the function [Derive], with options.
func (o Options) Derive(values, existing []byte) ([]byte, error) {
	if o.ValuesName == "" {
		o.ValuesName = chart.FileValues
	}
	if o.ExistingName == "" {
		o.ExistingName = chart.FileSchemaYAML
	}
	if isUnedited(existing) || len(bytes.TrimSpace(existing)) == 0 {
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

// fresh returns a schema that is derived from values only.
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

// merged adds to an existing schema what it lacks.
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
	remove(root, "$schema") // another draft would change the meaning of the schema
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

// check returns an error if text is not a valid schema.
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

// digest returns the first line of a derived schema, which has the digest of the rest. In
// JSON it is a "$comment". If the digest is correct, the file was not edited and can be
// replaced.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return `Derived from values.yaml by "helm schema" (sha256:` + hex.EncodeToString(sum[:8]) +
		"); what is written here by hand stays."
}

func header(body []byte) string { return "# " + digest(body) + "\n" }

// jsonHeader returns the beginning of a schema in JSON, up to its first member.
func jsonHeader(body []byte) string {
	return jsonStart + strconv.Quote(digest(body)) + ",\n"
}

const jsonStart = "{\n  \"$comment\": "

// isUnedited reports whether a schema was written by Derive or JSON and not edited since.
func isUnedited(text []byte) bool {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if rest, ok := bytes.CutPrefix(text, []byte(jsonStart)); ok {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		body := append([]byte("{\n"), rest...)
		return bytes.HasPrefix(text, []byte(jsonHeader(body)))
	}
	line, body, _ := bytes.Cut(text, []byte("\n"))
	return string(line)+"\n" == header(body)
}

// AddTo returns a copy of c with a derived values.schema.yaml, or c itself if it has a
// schema. It does not modify c: the result shares files with c and has copies of the charts
// below, to which it adds no schemas.
func AddTo(c *chart.Chart) (*chart.Chart, error) {
	if FileOf(c) != "" {
		return c, nil
	}
	text, err := Of(c)
	if err != nil {
		return nil, err
	}
	d := c.CopyTree()
	file := &chart.File{Name: chart.FileSchemaYAML, Data: text}
	d.SchemaYAML = text
	d.Schema = nil // an empty file, if there is one
	d.Files = replaceSchema(c.Files, file)
	d.Raw = replaceSchema(c.Raw, file)
	return d, nil
}

// Of returns the schema of a chart derived from its values.yaml and merged with the schema
// that it has.
func Of(c *chart.Chart) ([]byte, error) {
	var vals []byte
	if f := c.File(chart.FileValues); f != nil {
		vals = f.Data
	}
	return Options{ExistingName: FileOf(c), Chart: c}.Derive(vals, textOf(c))
}

// replaceSchema returns files with file added, and without those with its name and without
// values.schema.json.
func replaceSchema(files []*chart.File, file *chart.File) []*chart.File {
	out := make([]*chart.File, 0, len(files)+1)
	for _, f := range files {
		if f.Name != file.Name && f.Name != chart.FileSchema {
			out = append(out, f)
		}
	}
	return append(out, file)
}
