// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/manifest"
)

// maxFile is the largest size of repositories.yaml, in bytes.
const maxFile = 8 << 20

// File is repositories.yaml. The zero value has no repositories. It is not safe for concurrent
// use; to change the file itself, use [Update].
type File struct {
	APIVersion string
	Generated  time.Time
	// Entries are in the order in which they were added. Their names are unique. Names and
	// URLs are validated when they are used, so that an invalid entry can be listed and
	// removed.
	Entries []Entry

	rest map[string]json.RawMessage
}

// Load reads the file at path. The result is empty if the file does not exist, or is
// [os.DevNull], which scripts use for an empty file. Errors are a [*FileError].
func Load(path string) (*File, error) {
	if path == os.DevNull {
		return &File{}, nil
	}
	return load(path)
}

// load is Load without the exception for [os.DevNull], for a file that will be saved.
func load(path string) (*File, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	var f *File
	if err == nil {
		f, err = parse(data)
	}
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	return f, nil
}

func read(path string) ([]byte, error) {
	data, err := file.Read(path, maxFile)
	if err != nil {
		return nil, file.WithoutPath(err)
	}
	return data, nil
}

// parse parses repositories.yaml. Duplicate keys are an error: it is ambiguous which of two
// URLs is used.
func parse(data []byte) (*File, error) {
	text, err := yaml.ToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	var known struct {
		APIVersion   string    `json:"apiVersion"`
		Generated    time.Time `json:"generated"`
		Repositories []*fields `json:"repositories"`
	}
	// YAML numbers are accepted as strings (password: 1234), so this cannot decode the
	// JSON above.
	if err := yaml.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("it is not a list of repositories: %w", err)
	}
	var all struct {
		Repositories []map[string]json.RawMessage `json:"repositories"`
	}
	f := &File{APIVersion: known.APIVersion, Generated: known.Generated}
	if err := errors.Join(json.Unmarshal(text, &f.rest), json.Unmarshal(text, &all)); err != nil {
		return nil, fmt.Errorf("it is not a list of repositories: %w", err)
	}
	for _, key := range []string{"apiVersion", "generated", "repositories"} {
		delete(f.rest, key)
	}
	for i, r := range known.Repositories {
		if r == nil {
			return nil, fmt.Errorf("entry %d of repositories is empty", i+1)
		}
		if err := f.add(*r, all.Repositories[i]); err != nil {
			return nil, fmt.Errorf("entry %d of repositories: %w", i+1, err)
		}
	}
	return f, nil
}

func (f *File) add(r fields, rest map[string]json.RawMessage) error {
	if _, ok := f.Entry(r.Name); ok {
		return fmt.Errorf("there is another one named %q", r.Name)
	}
	known, err := keys(r)
	if err != nil {
		return err
	}
	for key := range known {
		delete(rest, key)
	}
	f.Entries = append(f.Entries, r.entry(rest))
	return nil
}

// Entry returns the repository name.
func (f *File) Entry(name string) (Entry, bool) {
	i := f.index(name)
	if i < 0 {
		return Entry{}, false
	}
	return f.Entries[i], true
}

func (f *File) index(name string) int {
	return slices.IndexFunc(f.Entries, func(e Entry) bool { return e.Name == name })
}

// Set adds e, or replaces the repository with the same name.
func (f *File) Set(e Entry) {
	if i := f.index(e.Name); i >= 0 {
		e.rest = f.Entries[i].rest
		f.Entries[i] = e
		return
	}
	f.Entries = append(f.Entries, e)
}

// Remove removes the repository name and reports whether it existed.
func (f *File) Remove(name string) bool {
	i := f.index(name)
	if i < 0 {
		return false
	}
	f.Entries = slices.Delete(f.Entries, i, i+1)
	return true
}

// Names returns the names of the repositories, in their order.
func (f *File) Names() []string {
	names := make([]string, len(f.Entries))
	for i, e := range f.Entries {
		names[i] = e.Name
	}
	return names
}

// Unknown returns the error for the name of a repository that does not exist.
func (f *File) Unknown(name string) *NotFoundError {
	names := f.Names()
	return &NotFoundError{Name: name, Suggestion: suggest.Similar(names, name, min(2, len(name)/2), nil), Have: names}
}

// Save writes the file in Helm's format, atomically. An existing file keeps its mode; a new
// one is readable only by its owner, because it may contain passwords. If path is a symbolic
// link, its target is replaced.
func (f *File) Save(path string) error {
	text, err := f.text()
	if err != nil {
		return err
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := writeFile(path, mode, text); err != nil {
		return fmt.Errorf("write %s: %w", path, file.WithoutPath(err))
	}
	return nil
}

func (f *File) text() ([]byte, error) {
	repositories := make([]map[string]any, len(f.Entries))
	for i, e := range f.Entries {
		m, err := keys(e.fields())
		if err != nil {
			return nil, err
		}
		repositories[i] = withRest(m, e.rest)
	}
	text, err := json.Marshal(withRest(map[string]any{
		"apiVersion": f.APIVersion, "generated": f.Generated, "repositories": repositories,
	}, f.rest))
	if err != nil {
		return nil, err
	}
	// The JSON is not decoded as YAML: YAML does not allow keys of more than 1,024 bytes, and
	// has line breaks that JSON does not have.
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	out, err := manifest.Encode(numbered(v).(map[string]any))
	return []byte(out), err
}

// numbered converts the numbers in v to the types of package manifest.
func numbered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = numbered(e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbered(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		n, _ := v.Float64() // infinite if it is too large
		return n
	}
	return v
}

func withRest(m map[string]any, rest map[string]json.RawMessage) map[string]any {
	for key, value := range rest {
		m[key] = value
	}
	return m
}

func keys(f fields) (map[string]any, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	return m, json.Unmarshal(text, &m)
}

// writeFile writes text to path, atomically.
func writeFile(path string, mode fs.FileMode, text []byte) error {
	return file.WriteAtomic(path, mode, func(f *os.File) error {
		if _, err := f.Write(text); err != nil {
			return err
		}
		return f.Sync()
	})
}
