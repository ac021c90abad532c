// SPDX-License-Identifier: Apache-2.0

// Package manifest turns rendered text into Kubernetes objects and back.
//
//	objects, err := manifest.Parse("web/templates/app.yaml", text) // a stream of YAML documents
//	...
//	manifest.SortInstall(objects)
//	for _, o := range objects {
//		fmt.Println(o, o.Namespace, o.Labels["app"]) // Deployment/web
//	}
//	text = manifest.Format(objects) // what release records keep; ParseManifest reads it
//
// [Parse] reads only the head of each document: kind, name, labels, annotations.
// [Object.Map] decodes the rest when it is first asked for. [Edit] changes an object's text
// and keeps its comments and order; [Encode] writes an object anew.
//
// Text that is not YAML, or not a YAML map, is a [*SyntaxError] with the line. The package
// does not check that Kubernetes would accept an object, and reads no files. Functions may
// be called concurrently, as long as those that sort have their slice to themselves.
package manifest

import (
	"strings"
	"sync"
)

// Object is one YAML document of a rendered template.
//
// Raw is what is stored and applied. The fields from APIVersion on are copies of what it
// says: to change them does not change Raw, nor what Map returns. Raw must not be changed
// once Map was called; make another Object with [Parse]. An Object is safe for concurrent
// reading, [Object.Map] included, and must not be copied.
type Object struct {
	// Source is the path of the template that rendered it, from the root chart:
	// "web/templates/pod.yaml".
	Source string
	// Raw is the document's text, without its separator.
	Raw string

	APIVersion string
	Kind       string
	Name       string
	// Namespace is metadata.namespace, "" where the document has none.
	Namespace   string
	Labels      map[string]string
	Annotations map[string]string

	// Empty is set for a document of comments only: it is printed and recorded, as by
	// Helm, and not applied.
	Empty bool

	// List is the list that the object is an item of, nil for other objects. [Flatten]
	// sets it.
	List *Object

	once sync.Once
	data map[string]any
	err  error
}

// Map returns the document as the Kubernetes API's JSON would decode: map[string]any,
// []any, string, bool, nil, int64 for whole numbers and float64 for others. It is decoded
// by the first call; the map is shared by all callers and must not be changed. It is nil
// for an Empty document. Errors are a [*SyntaxError].
func (o *Object) Map() (map[string]any, error) {
	o.once.Do(func() {
		o.data, o.err = decodeMap(o.Source, ended(o.Raw))
	})
	return o.data, o.err
}

// ended is a document as Format ends it: a block scalar at the end has its last line's
// end, and what stands behind the document's value is read too.
func ended(raw string) string {
	if strings.HasSuffix(raw, "\n") {
		return raw
	}
	return raw + "\n"
}

// String returns kind and name: "Deployment/web".
func (o *Object) String() string { return o.Kind + "/" + o.Name }

// Parse splits text, which the template source rendered, into its documents and reads
// their heads, in the order of the text. Documents of white space are left out; those of
// comments only are kept, marked Empty. Lists are not taken apart (see [Flatten]). An error
// is a [*SyntaxError].
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

// ParseManifest reads manifest text as [Format] writes it and as release
// records keep it: every document's "# Source:" comment gives the object its
// Source and is not part of Raw, nor is the line end that Format has added. So
// a manifest may be read and written again any number of times. An error is a
// [*SyntaxError].
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
			rest = rest[:len(rest)-1] // a text's last line keeps its end
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

// Format returns the manifest text of objs, in their order: each document after its
// separator and a "# Source:" comment.
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
