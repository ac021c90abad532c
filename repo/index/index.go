// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/suggest"
)

// Index is the list of a repository's charts. It is safe for concurrent use.
type Index struct {
	source *source
	body   *block
	sorted []string
	place  map[string]int // the charts' indexes in the body
	made   time.Time
}

// Parse parses an index. It keeps data, which must not be changed. It checks the structure
// of the index; the entries are checked when they are decoded, see [Index.Check].
//
// Errors are a [*FormatError] or a [*DuplicateError].
func Parse(data []byte) (*Index, error) {
	return read(&source{data: data, size: int64(len(data))})
}

// Open opens the index at path like [Parse]. The file is not read into memory: it stays open
// until Close, or until the index is garbage collected. Replacing the file by another does not
// change the index.
func Open(path string) (*Index, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the index: %w", err), f.Close())
	}
	x, err := read(&source{file: f, size: info.Size()})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return x, nil
}

// Close closes the file of an index that was opened with [Open].
func (x *Index) Close() error {
	if x.source.file == nil {
		return nil
	}
	return x.source.file.Close()
}

func read(s *source) (*Index, error) {
	head, err := s.piece(span{0, min(s.size, 4096)})
	if err != nil {
		return nil, err
	}
	x := &Index{source: s}
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case s.size == 0:
		return nil, &FormatError{Problem: "empty index.yaml file"}
	case len(head) > 0 && head[0] == '<':
		return nil, &FormatError{Problem: "it is a web page (HTML or XML); ask the repository's owner for the URL below " +
			"which index.yaml is"}
	case len(head) > 0 && head[0] == '{':
		err = x.rewrite()
	default:
		o, usual, err := outlined(s, s.size)
		if err != nil {
			return nil, err
		}
		x.body = &block{source: s, outline: o}
		if !usual || !o.has("apiVersion") { // the full parser returns the error
			if err := x.rewrite(); err != nil {
				return nil, err
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return x, x.begin()
}

// rewrite converts the index to the canonical form.
func (x *Index) rewrite() error {
	data, err := x.source.piece(span{0, x.source.size})
	if err != nil {
		return err
	}
	text, err := canonical(data)
	if err != nil {
		return err
	}
	s := &source{data: text, size: int64(len(text)), rewritten: true}
	o, usual, err := outlined(s, s.size)
	switch {
	case err != nil:
		return err
	case !usual:
		return &FormatError{Problem: "it cannot be put into a usual form of YAML; as Helm writes it, it can be read"}
	}
	x.body = &block{source: s, outline: o}
	return nil
}

// Canonical returns the text of the index in the canonical form, which is the fastest to read
// and which Helm can read. It returns nil if the index was read in that form. The bytes must not
// be changed.
func (x *Index) Canonical() []byte {
	if !x.body.rewritten {
		return nil
	}
	return x.body.data
}

// begin reads the keys of the index except the entries.
func (x *Index) begin() error {
	var d decoder
	if err := x.body.field(&d.tape, "apiVersion"); err != nil {
		return err
	}
	version := ""
	if len(d.tape) > 0 {
		version = d.text(0, "apiVersion")
	}
	switch {
	case d.problem != "":
		return &FormatError{Problem: "apiVersion " + d.problem}
	case version == "":
		return &FormatError{Problem: "it has no apiVersion"}
	}
	d.tape = d.tape[:0]
	if err := x.body.field(&d.tape, "generated"); err != nil {
		return err
	}
	if len(d.tape) > 0 {
		x.made = d.when(0)
	}
	names := x.body.names()
	x.place = make(map[string]int, len(names))
	for i, n := range names {
		x.place[n] = i
	}
	x.sorted = slices.Sorted(slices.Values(names))
	return nil
}

// Names returns a copy of the charts' names, sorted.
func (x *Index) Names() []string { return slices.Clone(x.sorted) }

// Generated returns the time of the index, or zero if it has none.
func (x *Index) Generated() time.Time { return x.made }

// Versions returns the versions of a chart in the order of the index, without entries that
// have none. It does not decode the entries, so some of them may be invalid.
func (x *Index) Versions(name string) []string {
	i, ok := x.place[name]
	if !ok {
		return nil
	}
	items, err := x.body.items(i)
	if err != nil {
		return nil
	}
	return versions(items)
}

func versions(items []item) []string {
	out := make([]string, 0, len(items))
	for _, it := range items {
		if it.version != "" {
			out = append(out, it.version)
		}
	}
	return out
}

// Find returns the entry with the version that [dependency.Version] selects for want and devel.
// It skips invalid entries; if there is no valid one, the error is the [*EntryError] of one.
// Other errors are a [*NotFoundError], a [*dependency.VersionError] (wrapped), or an error of the
// index.
func (x *Index) Find(name, want string, devel bool) (*Entry, error) {
	i, ok := x.place[name]
	if !ok {
		return nil, &NotFoundError{Name: name, Suggestion: suggest.Similar(x.sorted, name, 1+len(name)/4, strings.ToLower)}
	}
	items, err := x.body.items(i)
	if err != nil {
		return nil, err
	}
	r := reader{block: x.body}
	e, err := r.pick(name, items, want, devel)
	if !isEntry(err) {
		return e, err
	}
	r.weed(name, items)
	if e, again := r.pick(name, items, want, devel); again == nil {
		return e, nil
	}
	return nil, err
}

// pick decodes the entry that want selects.
func (r *reader) pick(name string, items []item, want string, devel bool) (*Entry, error) {
	v, err := choose(versions(items), want, devel)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", name, err)
	}
	n := slices.IndexFunc(items, func(it item) bool { return it.version == v })
	return r.entry(name, n, items[n])
}

// weed removes the versions of invalid entries.
func (r *reader) weed(name string, items []item) {
	for n := range items {
		if err := r.into(new(Entry), name, n, items[n]); err != nil {
			items[n].version = ""
		}
	}
}

func choose(have []string, want string, devel bool) (string, error) {
	if want == "" {
		return newest(have, devel)
	}
	return dependency.Version(have, want, devel)
}

// reader decodes entries one after another, reusing a tape.
type reader struct {
	*block
	d decoder
}

// entry decodes entry n of a chart, counted from 0. The error is an [*EntryError], or an
// error of the index.
func (r *reader) entry(name string, n int, it item) (*Entry, error) {
	it.text = strings.Clone(it.text) // so that the entry does not keep the chart's text in memory
	e := new(Entry)
	if err := r.into(e, name, n, it); err != nil {
		return nil, err
	}
	return e, nil
}

func (r *reader) into(e *Entry, name string, n int, it item) error {
	r.d = decoder{tape: r.d.tape[:0]}
	if err := r.read(&r.d.tape, it); err != nil {
		return err
	}
	r.d.entry(0, e)
	if r.d.problem == "" && e.Version != it.version {
		r.d.bad("version", "cannot be told")
	}
	if err := chart.ValidateName(name); err != nil {
		r.d.bad("name", "%s", err)
	}
	e.Name = name
	if r.d.problem != "" {
		return &EntryError{Chart: name, Version: it.version, Number: n + 1, Field: r.d.field, Problem: r.d.problem}
	}
	return nil
}
