// SPDX-License-Identifier: Apache-2.0

// Package manifest turns rendered text into Kubernetes objects and back.
//
//	objects, err := manifest.Parse("web/templates/app.yaml", text) // a stream of YAML documents
//	...
//	manifest.SortInstall(objects)
//	for _, o := range objects {
//		fmt.Println(o, o.Namespace, o.Labels["app"]) // Deployment/web
//	}
//	text = manifest.Format(objects) // as in release records; ParseManifest reads it
//
// [Parse] decodes only the head of each document: kind, name, labels, annotations.
// [Object.Map] decodes the rest when it is first called. [Edit] changes an object's text
// and keeps its comments and order; [Encode] encodes an object.
//
// For text that is not YAML, or not a YAML map, the error is a [*SyntaxError] with the line. The
// package does not validate objects against the Kubernetes API, and reads no files. Functions
// may be called concurrently, except that a slice must not be used while it is sorted.
package manifest

import (
	"strings"
	"sync"
)

// Object is one YAML document of a rendered template.
//
// Raw is the text that is stored and applied. The fields from APIVersion on are copied from it:
// changing them changes neither Raw nor the result of Map. Raw must not be changed after the
// first call of Map; create another Object with [Parse] instead. An Object is safe for concurrent
// reading, including [Object.Map], and must not be copied.
type Object struct {
	// Source is the path of the template, starting at the root chart:
	// "web/templates/pod.yaml".
	Source string
	// Raw is the document's text, without its separator.
	Raw string

	APIVersion string
	Kind       string
	Name       string
	// Namespace is metadata.namespace, or "" if it is not set.
	Namespace   string
	Labels      map[string]string
	Annotations map[string]string

	// Empty is set for a document of only comments. As with Helm, it is printed and
	// recorded, and not applied.
	Empty bool

	// List is the list that contains the object, or nil. [Flatten] sets it.
	List *Object

	once sync.Once
	data map[string]any
	err  error
}

// Map returns the document as decoded JSON of the Kubernetes API: map[string]any, []any,
// string, bool, nil, int64 for integers and float64 for other numbers. The first call decodes
// it; all callers share the map and must not change it. It is nil for an Empty document. An
// error is a [*SyntaxError].
func (o *Object) Map() (map[string]any, error) {
	o.once.Do(func() {
		o.data, o.err = decodeMap(o.Source, ended(o.Raw))
	})
	return o.data, o.err
}

// ended returns a document with a newline at the end, as Format writes it. Without it, a block
// scalar at the end would lose its last newline.
func ended(raw string) string {
	if strings.HasSuffix(raw, "\n") {
		return raw
	}
	return raw + "\n"
}

// String returns kind and name: "Deployment/web".
func (o *Object) String() string { return o.Kind + "/" + o.Name }

// Parse splits text, the output of the template source, into documents and decodes their
// heads, in the order of the text. It omits documents of only white space and keeps those of only
// comments, marked Empty. It does not split lists (see [Flatten]). An error is a
// [*SyntaxError].
func Parse(source, text string) ([]*Object, error) {
	var objs []*Object
	line := 1
	for _, d := range split(text) {
		o, err := parseDocument(source, text[d.start:d.end])
		if err != nil {
			line += strings.Count(text[:d.start], "\n")
			return nil, located(err, source, text, line)
		}
		objs = append(objs, o)
	}
	return objs, nil
}

// ParseManifest parses the output of [Format], which is in release records. The "# Source:"
// comment of a document becomes the object's Source. The comment and the newline that Format
// adds are not part of Raw, so that a manifest can be parsed and formatted any number of times. An
// error is a [*SyntaxError].
func ParseManifest(text string) ([]*Object, error) {
	var objs []*Object
	for _, doc := range Split(text) {
		source, rest := "", doc
		if after, ok := strings.CutPrefix(doc, sourcePrefix); ok {
			source, rest, _ = strings.Cut(after, "\n")
			source = strings.TrimSpace(source)
		}
		if strings.TrimSpace(rest) == "" {
			continue
		}
		if strings.HasSuffix(rest, "\n\n") {
			rest = rest[:len(rest)-1] // keep the newline of the last line
		}
		o, err := parseDocument(source, rest)
		if err != nil {
			return nil, located(err, source, rest, 1)
		}
		objs = append(objs, o)
	}
	return objs, nil
}

const sourcePrefix = "# Source: "

// Format returns the manifest of objs, in their order: each document follows a separator
// and a "# Source:" comment.
func Format(objs []*Object) string {
	n := 0
	for _, o := range objs {
		n += len(o.Source) + len(o.Raw) + len("---\n"+sourcePrefix+"\n\n")
	}
	var b strings.Builder
	b.Grow(n)
	for _, o := range objs {
		b.WriteString("---\n")
		b.WriteString(sourcePrefix)
		b.WriteString(o.Source)
		b.WriteByte('\n')
		b.WriteString(o.Raw)
		b.WriteByte('\n')
	}
	return b.String()
}
