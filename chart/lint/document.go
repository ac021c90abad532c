// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// document is one YAML document of a file or of what a template rendered.
type document struct {
	text  string
	first int // its first line, from 1
	// junk is what follows the dashes of the separator before it, where only a
	// comment may.
	junk string

	parsed *yaml.Node
}

// head is what rules want to know of an object. The reader is that of Helm's
// linter: keys of any case, numbers taken as text.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// textError is what is wrong with a document.
type textError struct {
	line int // in the stream; the document's first where exact is false
	text string
	// exact reports that the line is the one that is wrong.
	exact bool
}

// documents cuts a stream at its separators: lines that begin with "---".
// Unlike [manifest.Split] it keeps empty documents and looks at what follows
// the dashes.
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

// jsonDocuments cuts a stream of JSON objects.
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

// head reads the document; nil is one without content.
func (d *document) head() (*head, *textError) {
	if d.junk != "" {
		return nil, &textError{line: d.first - 1, text: "only a comment may follow the document separator ---, this is: " +
			d.junk, exact: true}
	}
	var h *head
	if err := yaml.Unmarshal([]byte(d.text), &h); err != nil {
		return nil, d.problem(err)
	}
	return h, nil
}

// problem makes a sentence of the reader's complaint and finds its line.
func (d *document) problem(err error) *textError {
	text := yaml.Complaint(err)
	at := func(line int, text string) *textError { return &textError{d.first + line - 1, text, true} }
	// The reader of nodes knows lines better.
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

// wrongKind reads the JSON decoder's complaint about a field.
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

// node is the document with the lines of everything in it, nil where it cannot
// be read that way.
func (d *document) node() *yaml.Node {
	if d.parsed == nil {
		d.parsed = yaml.Root([]byte(d.text))
	}
	return d.parsed
}

// lineOf is the line, in the whole stream, of a key on a path of keys; where
// it is not there, of the nearest thing above it.
func (d *document) lineOf(path ...string) int {
	if line := yaml.Line(d.node(), path...); line > 0 {
		return d.first + line - 1
	}
	text := d.text
	blank := text[:len(text)-len(strings.TrimLeft(text, " \t\r\n"))]
	return d.first + strings.Count(blank, "\n")
}
