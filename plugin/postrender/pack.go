// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/manifest"
)

// Annotation contains an object's template in the input of the program. Programs may read it,
// as with Helm 4.
const Annotation = "postrenderer.helm.sh/postrender-filename"

// added is the source of document n of the output if it has no template. The name is Helm
// 4's.
const added = "generated-by-postrender-%d.yaml"

// packed are the objects in the input of the program.
type packed struct {
	documents []*manifest.Object
	// whole maps a document to the objects with that text.
	whole map[string][]*manifest.Object
	// named maps the identity of an object to its source.
	named map[identity]string
	// places are the positions of the first object of a source, by kind and for any kind ("").
	places map[place]int
}

// identity identifies an object.
type identity struct{ apiVersion, kind, namespace, name string }

type place struct{ source, kind string }

func identify(o *manifest.Object) identity {
	return identity{o.APIVersion, o.Kind, o.Namespace, o.Name}
}

// pack returns the input of the program.
func pack(objs []*manifest.Object) (*packed, error) {
	p := &packed{whole: map[string][]*manifest.Object{}, named: map[identity]string{}, places: map[place]int{}}
	for i, o := range objs {
		if o.Empty {
			continue
		}
		raw, err := annotate(o, o.Source)
		if err != nil {
			return nil, fmt.Errorf("%s (%s): %w", o, o.Source, err)
		}
		p.documents = append(p.documents, &manifest.Object{Source: o.Source, Raw: raw})
		key := strings.TrimRight(raw, "\n")
		p.whole[key] = append(p.whole[key], o)
		p.named[identify(o)] = o.Source
		for _, k := range []place{{o.Source, o.Kind}, {o.Source, ""}} {
			if _, known := p.places[k]; !known {
				p.places[k] = i
			}
		}
	}
	return p, nil
}

func (p *packed) text() string { return manifest.Format(p.documents) }

// unpack parses the output of the program.
func (p *packed) unpack(text string) ([]*manifest.Object, error) {
	docs, err := manifest.ParseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("its output is invalid: %w", err)
	}
	var back []*manifest.Object
	for i, doc := range docs {
		if doc.Empty {
			continue
		}
		o, err := p.object(i, doc)
		if err != nil {
			return nil, err
		}
		back = append(back, o)
	}
	// The templates keep their order. The objects of one template are in the order of the
	// output.
	slices.SortStableFunc(back, func(a, b *manifest.Object) int { return cmp.Compare(p.rank(a), p.rank(b)) })
	return back, nil
}

// object returns the object for document i of the output.
func (p *packed) object(i int, doc *manifest.Object) (*manifest.Object, error) {
	key := strings.TrimRight(doc.Raw, "\n")
	if same := p.whole[key]; len(same) > 0 {
		p.whole[key] = same[1:]
		return same[0], nil
	}
	source, known := p.source(i, doc)
	if !known && (doc.Kind == "" || doc.APIVersion == "") {
		return nil, fmt.Errorf("document %d of its output is not an object, it has no apiVersion and kind: %s", i+1,
			start(doc.Raw))
	}
	if err := checkSource(source); err != nil {
		return nil, fmt.Errorf("%s: %w", doc, err)
	}
	raw := doc.Raw
	if _, marked := doc.Annotations[Annotation]; marked {
		var err error
		if raw, err = annotate(doc, ""); err != nil {
			return nil, fmt.Errorf("%s: %w", doc, err)
		}
	}
	objs, err := manifest.Parse(source, raw)
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("document %d of its output is %d documents", i+1, len(objs))
	}
	return objs[0], nil
}

// source returns the source of a document. ours reports whether it is a template.
func (p *packed) source(i int, doc *manifest.Object) (source string, found bool) {
	if s := doc.Annotations[Annotation]; s != "" {
		return s, true
	}
	if _, known := p.places[place{doc.Source, ""}]; known {
		return doc.Source, true
	}
	if s, known := p.named[identify(doc)]; known {
		return s, true
	}
	return fmt.Sprintf(added, i), false
}

// checkSource returns an error if s is not a valid path in a chart: helm template --output-dir
// writes files with these names.
func checkSource(s string) error {
	clean := path.Clean(s) == s && !path.IsAbs(s) && s != "." && s != ".." && !strings.HasPrefix(s, "../")
	if !clean || strings.ContainsFunc(s, func(r rune) bool { return r == '\\' || r == ':' || !unicode.IsPrint(r) }) {
		return fmt.Errorf("its annotation %s is %q, must be a file of a chart, such as web/templates/pod.yaml", Annotation, s)
	}
	return nil
}

// rank returns the position of an object: that of its source and kind, or else of its source,
// or else after all others.
func (p *packed) rank(o *manifest.Object) int {
	for _, key := range []place{{o.Source, o.Kind}, {o.Source, ""}} {
		if i, known := p.places[key]; known {
			return i
		}
	}
	return len(p.documents) + len(p.places)
}

// annotate returns the text of o with the annotation, or without it if source is "".
func annotate(o *manifest.Object, source string) (string, error) {
	all, err := o.Map()
	if err != nil {
		return "", err
	}
	copied := maps.Clone(all)
	meta := mapField(copied, "metadata")
	annotations := mapField(meta, "annotations")
	delete(annotations, Annotation)
	if source != "" {
		annotations[Annotation] = source
	}
	meta["annotations"] = annotations
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
	copied["metadata"] = meta
	if len(meta) == 0 {
		delete(copied, "metadata")
	}
	return manifest.Edit(o.Raw, copied)
}

// mapField returns a copy of the map in a field, or an empty map.
func mapField(of map[string]any, key string) map[string]any {
	m, _ := of[key].(map[string]any)
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

// start returns the first line of a text, for errors.
func start(text string) string {
	return fmt.Sprintf("%q", truncate.Line(text, 80, "…"))
}
