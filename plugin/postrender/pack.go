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

	"github.com/moonhelm/moonhelm/manifest"
)

// Annotation names an object's template on its way through the program, as in
// Helm 4, whose post-renderers may look at it.
const Annotation = "postrenderer.helm.sh/postrender-filename"

// added is the source of the n-th document of the program's, where that is none
// of ours; Helm 4 calls it so.
const added = "generated-by-postrender-%d.yaml"

// packed are objects on their way.
type packed struct {
	documents []*manifest.Object
	// whole leads from a document as it was sent to the objects that look so.
	whole map[string][]*manifest.Object
	// named leads from what an object is to its source.
	named map[identity]string
	// places are where the objects of a source stand, of each kind and of any ("").
	places map[place]int
}

// identity is what makes an object itself.
type identity struct{ apiVersion, kind, namespace, name string }

type place struct{ source, kind string }

func identify(o *manifest.Object) identity {
	return identity{o.APIVersion, o.Kind, o.Namespace, o.Name}
}

// pack makes the documents that are sent.
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
		for _, at := range []place{{o.Source, o.Kind}, {o.Source, ""}} {
			if _, known := p.places[at]; !known {
				p.places[at] = i
			}
		}
	}
	return p, nil
}

func (p *packed) text() string { return manifest.Format(p.documents) }

// unpack reads what the program has printed.
func (p *packed) unpack(text string) ([]*manifest.Object, error) {
	docs, err := manifest.ParseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("what it printed cannot be read: %w", err)
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
	// Templates have their order again, wherever the program has put their
	// objects; those of one template have the program's.
	slices.SortStableFunc(back, func(a, b *manifest.Object) int { return cmp.Compare(p.rank(a), p.rank(b)) })
	return back, nil
}

// object is what the i-th document of the program's comes to.
func (p *packed) object(i int, doc *manifest.Object) (*manifest.Object, error) {
	key := strings.TrimRight(doc.Raw, "\n")
	if same := p.whole[key]; len(same) > 0 {
		p.whole[key] = same[1:]
		return same[0], nil
	}
	source, ours := p.source(i, doc)
	if !ours && (doc.Kind == "" || doc.APIVersion == "") {
		return nil, fmt.Errorf("document %d of what it printed is not an object, it has no apiVersion and kind: %s", i+1,
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
		return nil, fmt.Errorf("document %d of what it printed is %d documents", i+1, len(objs))
	}
	return objs[0], nil
}

// source finds the template of a document again; ours reports whether it has one.
func (p *packed) source(i int, doc *manifest.Object) (source string, ours bool) {
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

// checkSource refuses what could not be a file of a chart: template
// --output-dir writes files of these names.
func checkSource(s string) error {
	clean := path.Clean(s) == s && !path.IsAbs(s) && s != "." && s != ".." && !strings.HasPrefix(s, "../")
	if !clean || strings.ContainsFunc(s, func(r rune) bool { return r == '\\' || r == ':' || !unicode.IsPrint(r) }) {
		return fmt.Errorf("its annotation %s is %q, must be a file of a chart, such as web/templates/pod.yaml", Annotation, s)
	}
	return nil
}

// rank is where an object stands: with those of its kind and source, or with its
// source, or behind all others.
func (p *packed) rank(o *manifest.Object) int {
	for _, at := range []place{{o.Source, o.Kind}, {o.Source, ""}} {
		if i, known := p.places[at]; known {
			return i
		}
	}
	return len(p.documents) + len(p.places)
}

// annotate is the text of o with the annotation, or without it where source is "".
func annotate(o *manifest.Object, source string) (string, error) {
	all, err := o.Map()
	if err != nil {
		return "", err
	}
	now := maps.Clone(all)
	meta := child(now, "metadata")
	annotations := child(meta, "annotations")
	delete(annotations, Annotation)
	if source != "" {
		annotations[Annotation] = source
	}
	meta["annotations"] = annotations
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
	now["metadata"] = meta
	if len(meta) == 0 {
		delete(now, "metadata")
	}
	return manifest.Edit(o.Raw, now)
}

// child is a copy of the map below a key.
func child(of map[string]any, key string) map[string]any {
	m, _ := of[key].(map[string]any)
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

// start is what an error quotes of a text.
func start(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > 80 {
		line = strings.ToValidUTF8(line[:80], "") + "…"
	}
	return fmt.Sprintf("%q", line)
}
