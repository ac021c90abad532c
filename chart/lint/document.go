// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// document is a YAML document of a file or of a template's output.
type document struct {
	text  string
	first int // its first line, from 1
	// junk is the text on the separator line before the document, after the dashes, if
	// it is not a comment.
	junk string

	parsed *yaml.Node
}

// head has the fields of an object that the checks use. As in Helm's linter, keys are
// case-insensitive and numbers are decoded as strings.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// textError is an error about a document.
type textError struct {
	line int // in the stream; the document's first line if exact is not set
	text string
	// exact is set if line is that of the error.
	exact bool
}

// documents splits a stream at its separators, the lines that begin with "---". Unlike
// [manifest.Split], it keeps empty documents and the text after the dashes.
func documents(text string) []document {
	if docs, ok := jsonDocuments(text); ok {
		return docs
	}
	docs := []document{{first: 1}}
	line, begin := 0, 0
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			end = len(text) - at
		}
		line++
		if strings.HasPrefix(text[at:], "---") {
			rest := strings.TrimSpace(text[at+3 : at+end])
			docs[len(docs)-1].text = text[begin:at]
			begin = at + end
			d := document{first: line + 1}
			if rest != "" && !strings.HasPrefix(rest, "#") {
				d.junk = rest
			}
			docs = append(docs, d)
		}
		at += end
	}
	docs[len(docs)-1].text = text[begin:]
	return docs
}

// jsonDocuments splits a stream of JSON objects.
func jsonDocuments(text string) ([]document, bool) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var docs []document
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil {
			return nil, false
		}
		start := int(dec.InputOffset()) - len(raw)
		docs = append(docs, document{text: string(raw), first: lineAt(text, start)})
	}
}

// head decodes the document. It returns nil for an empty document.
func (d *document) head() (*head, *textError) {
	if d.junk != "" {
		return nil, &textError{line: d.first - 1, exact: true,
			text: "only a comment may follow the document separator ---, not: " + d.junk}
	}
	var h *head
	if err := yaml.Unmarshal([]byte(d.text), &h); err != nil {
		return nil, d.problem(err)
	}
	return h, nil
}

// problem converts an error of the YAML parser and finds its line.
func (d *document) problem(err error) *textError {
	text := yaml.Complaint(err)
	at := func(line int, text string) *textError { return &textError{d.first + line - 1, text, true} }
	// Decoding into a node reports more precise lines.
	var node yaml.Node
	if err := yaml.UnmarshalV3([]byte(d.text), &node); err != nil {
		if line, rest, ok := yaml.CutLine(yaml.Complaint(err)); ok {
			return at(line, rest)
		}
	}
	if line, rest, ok := yaml.CutLine(text); ok {
		return at(line, rest)
	}
	name, what, ok := wrongKind(text)
	if !ok {
		return &textError{d.lineOf(), text, false}
	}
	text = name + " must be " + what
	if line := yaml.Line(d.node(), strings.Split(name, ".")...); line > 0 {
		return at(line, text)
	}
	return &textError{d.lineOf(), text, name == "a document"}
}

// wrongKind parses a JSON decoder's error about the type of a field.
func wrongKind(text string) (field, want string, ok bool) {
	rest, found := strings.CutPrefix(text, "cannot unmarshal ")
	if !found {
		return "", "", false
	}
	got, rest, _ := strings.Cut(rest, " into Go ")
	names := map[string]string{"array": "a list", "object": "a map", "string": "text", "number": "a number",
		"bool": "true or false"}
	if n := names[got]; n != "" {
		got = n
	}
	where, isField := strings.CutPrefix(rest, "struct field ")
	if !isField {
		return "a document", "a map with apiVersion and kind, this one is " + got, true
	}
	where, kind, _ := strings.Cut(where, " of type ")
	_, path, _ := strings.Cut(where, ".")
	if kind != "string" {
		kind = "map"
	}
	return path, "a " + kind + ", not " + got, true
}

// node returns the document's node, which has line numbers, or nil if the document cannot
// be parsed.
func (d *document) node() *yaml.Node {
	if d.parsed == nil {
		d.parsed = yaml.Root([]byte(d.text))
	}
	return d.parsed
}

// lineOf returns the line, in the whole stream, of the key at path. For a missing key it
// returns the line of the nearest ancestor.
func (d *document) lineOf(path ...string) int {
	if line := yaml.Line(d.node(), path...); line > 0 {
		return d.first + line - 1
	}
	text := d.text
	blank := text[:len(text)-len(strings.TrimLeft(text, " \t\r\n"))]
	return d.first + strings.Count(blank, "\n")
}
