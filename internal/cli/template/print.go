// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/release"
)

// document is the text of one object and the file that it was rendered from.
type document struct {
	source string
	text   string
	crd    bool
	hook   bool
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
		docs = append(docs, document{source: obj.Source, text: obj.Raw})
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
// relative to the chart directory, or a pattern with "*".
func showOnly(docs []document, names []string) ([]document, error) {
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
			return nil, fmt.Errorf("%w %s in chart", errNoMatch, name)
		}
	}
	return out, nil
}

func writeDocuments(w io.Writer, docs []document) error {
	var b bytes.Buffer
	objects := 0 // end of the objects
	for _, d := range docs {
		d.write(&b)
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
