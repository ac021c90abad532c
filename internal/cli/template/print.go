// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// document is the text of one object and the file that it was rendered from.
type document struct {
	source string
	text   string
	crd    bool
	hook   bool
	// group is the chart and the resource group of an object, where groups are marked.
	group string
}

// sequence sorts the objects by the order in which they would be applied, those of a resource group
// together.
func sequence(out *action.Rendered) error {
	batches, _, err := plan.Sequence(out.Chart, out.Objects)
	if err != nil || batches == nil {
		return err
	}
	out.Objects = nil
	for _, batch := range batches {
		slices.SortStableFunc(batch, func(a, b *manifest.Object) int { return strings.Compare(groupOf(a), groupOf(b)) })
		out.Objects = append(out.Objects, batch...)
	}
	return nil
}

// groupOf returns the chart and the resource group of an object, or "".
func groupOf(o *manifest.Object) string {
	group := plan.GroupOf(o)
	if group == "" {
		return ""
	}
	dir, _, _ := strings.Cut(o.Source, "/"+chart.DirTemplates+"/")
	return term.SafeLine(path.Base(dir) + " " + group)
}

// documents returns the documents to print: CRDs with --include-crds, objects in install order,
// then hooks.
func documents(out *action.Rendered, o Options) []document {
	var docs []document
	if o.IncludeCRDs {
		for _, f := range out.Chart.CRDs() {
			docs = append(docs, document{source: f.Source, text: string(f.Data), crd: true})
		}
	}
	for _, obj := range out.Objects {
		doc := document{source: obj.Source, text: obj.Raw}
		if o.skippedFlags.Ordered() {
			doc.group = groupOf(obj)
		}
		docs = append(docs, doc)
	}
	if o.NoHooks {
		return docs
	}
	for _, h := range out.Hooks {
		if o.SkipTests && h.On(release.Test) {
			continue
		}
		docs = append(docs, document{source: h.Path, text: h.Manifest, hook: true})
	}
	return docs
}

// showOnly returns the documents of the named templates, in the order of names. A name is a path
// relative to the chart directory, or a pattern with "*". It returns a [*noTemplateError] for a name without
// documents.
func showOnly(docs []document, names []string, c *chart.Chart) ([]document, error) {
	var out []document
	for _, name := range names {
		pattern := filepath.ToSlash(name)
		found := false
		for _, d := range docs {
			// The first element of source is the chart's name.
			_, below, _ := strings.Cut(d.source, "/")
			ok, err := path.Match(pattern, below)
			if err != nil {
				return nil, fmt.Errorf("--show-only %s: %w", name, err)
			}
			if ok {
				out, found = append(out, d), true
			}
		}
		if !found {
			return nil, newNoTemplateError(name, docs, c)
		}
	}
	return out, nil
}

// A noTemplateError is returned if --show-only names a template without output.
type noTemplateError struct {
	Name string
	// Empty is set if the chart has the template, and it rendered nothing.
	Empty bool
	// Rendered are the templates with output.
	Rendered []string
}

func newNoTemplateError(name string, docs []document, c *chart.Chart) *noTemplateError {
	e := &noTemplateError{Name: name}
	for _, d := range docs {
		if _, below, _ := strings.Cut(d.source, "/"); !slices.Contains(e.Rendered, below) {
			e.Rendered = append(e.Rendered, below)
		}
	}
	slices.Sort(e.Rendered)
	c.Walk(func(sub *chart.Chart) {
		_, below, _ := strings.Cut(sub.FullPath()+"/", "/")
		for _, f := range sub.Templates {
			e.Empty = e.Empty || below+f.Name == filepath.ToSlash(name)
		}
	})
	return e
}

// Error lists the templates that can be shown, after Helm's words.
func (e *noTemplateError) Error() string {
	text := fmt.Sprintf("could not find template %s in chart", e.Name)
	if e.Empty {
		text += ": it is there, and rendered nothing"
	}
	if len(e.Rendered) == 0 {
		return text + "; no template has output"
	}
	const most = 30
	names := e.Rendered
	if n := len(names); n > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return text + "; the templates with output are\n  " + strings.Join(names, "\n  ")
}

// Hint suggests a similar name.
func (e *noTemplateError) Hint() string {
	if near := suggest.Nearest(e.Rendered, e.Name); len(near) > 0 && !e.Empty {
		return "did you mean " + cmdutil.Enumerate(near, "or") + "?"
	}
	return ""
}

func writeDocuments(w io.Writer, docs []document) error {
	var b bytes.Buffer
	objects := 0 // end of the objects
	for i, d := range docs {
		if d.group != "" && (i == 0 || docs[i-1].group != d.group) {
			fmt.Fprintf(&b, "## START resource-group: %s\n", d.group)
		}
		d.write(&b)
		if d.group != "" && (i == len(docs)-1 || docs[i+1].group != d.group) {
			fmt.Fprintf(&b, "## END resource-group: %s\n", d.group)
		}
		if !d.hook {
			objects = b.Len()
		}
	}
	// Helm trims white space at the end of the objects, but not of hooks.
	trimmed := bytes.TrimSpace(b.Bytes()[:objects])
	if _, err := w.Write(append(trimmed[:len(trimmed):len(trimmed)], '\n')); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes()[objects:])
	return err
}

func (d document) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "---\n# Source: %s\n%s\n", d.source, d.text)
}

// writeFiles writes each document to the file of its source in --output-dir. Documents of the same
// source share a file.
func writeFiles(w io.Writer, docs []document, o Options) error {
	written := map[string]*bytes.Buffer{}
	var order []string
	for _, d := range docs {
		file := filepath.FromSlash(d.source)
		if o.ReleaseName && !d.crd {
			file = filepath.Join(o.Name, file)
		}
		file = filepath.Join(o.OutputDir, file)
		if written[file] == nil {
			written[file] = &bytes.Buffer{}
			order = append(order, file)
		}
		d.write(written[file])
	}
	for _, file := range order {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("--output-dir: %w", err)
		}
		if err := os.WriteFile(file, written[file].Bytes(), 0o644); err != nil {
			return fmt.Errorf("--output-dir: %w", err)
		}
		if _, err := fmt.Fprintf(w, "wrote %s\n", file); err != nil {
			return err
		}
	}
	return nil
}
