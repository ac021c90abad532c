// SPDX-License-Identifier: Apache-2.0

// Package manifest turns rendered text into Kubernetes objects and back.
//
// In comes the text of one rendered template, a stream of YAML documents; out
// come [Object]s with their heads read, in Helm's order of installation where
// asked, and the manifest text that release records keep. The package checks
// that every document is YAML, not that Kubernetes would accept it, and talks
// to no cluster.
package manifest

import (
	"strings"
	"sync"
)

// Object is one YAML document of a rendered template.
//
// The head's fields are copies and may be changed by who owns the object; Raw
// is the truth that is stored and applied. An Object is safe for concurrent
// reading, [Object.Map] included.
type Object struct {
	// Source is the template that made it, from the root chart: "web/templates/pod.yaml".
	Source string
	// Raw is the document's text, without its separator.
	Raw string

	APIVersion string
	Kind       string
	Name       string
	// Namespace is what the document says, "" where it says nothing.
	Namespace   string
	Labels      map[string]string
	Annotations map[string]string

	// Empty tells that the document holds comments only: Helm prints and
	// records it, and nobody applies it.
	Empty bool

	// List is the list that the object is an item of, nil where it is none.
	// [Flatten] sets it.
	List *Object

	once sync.Once
	data map[string]any
	err  error
}

// Map is the document as the Kubernetes API's JSON would decode: maps,
// slices, strings, bools, nil, int64 for whole numbers and float64 for others.
// It is decoded on first use; the map is shared by all callers and must not be
// changed. It is nil for an empty document.
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

// String names the object as people do: "Deployment/web".
func (o *Object) String() string { return o.Kind + "/" + o.Name }

// Parse splits text, which the template source rendered, into its documents
// and reads their heads. Documents without any content are left out; those
// that hold comments only are kept, marked Empty. An error is a [*SyntaxError].
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
// a manifest may be read and written again any number of times.
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

// Format is the manifest text of objs: every document behind its separator and
// its "# Source:" comment.
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
