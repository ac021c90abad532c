// SPDX-License-Identifier: Apache-2.0

// Package builtin has the schemas of the kinds that Kubernetes itself serves, for several
// versions of it. Nothing is read from a cluster:
//
//	kube, err := builtin.Load(36) // Kubernetes 1.36
//	...
//	problems := kube.Document("apps/v1").Check(object)
//
// The schemas are those of the OpenAPI documents in the module k8s.io/kubernetes, reduced by
// package openapi. `make schemas` writes them. They are decompressed and decoded by Load only.
package builtin

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi"
)

//go:embed schemas.json.gz
var compressed []byte

// First and Last are the minor versions of Kubernetes 1 between which all have schemas.
const (
	First = 25
	Last  = 37
)

// An UnknownVersionError is returned for a version without schemas.
type UnknownVersionError struct{ Minor int }

func (e *UnknownVersionError) Error() string {
	return fmt.Sprintf("there are no schemas of Kubernetes 1.%d, only of 1.%d to 1.%d", e.Minor, First, Last)
}

// A File is the content of the embedded file. The generator writes it.
type File struct {
	// Sources are the versions of k8s.io/kubernetes, the oldest first: "v1.36.3".
	Sources []string `json:"sources"`
	Kinds   []Kind   `json:"kinds"`
	Schemas []Schema `json:"schemas"`
}

// A Kind is a kind of object that can be created.
type Kind struct {
	APIVersion string `json:"a"`
	Kind       string `json:"k"`
	Schema     string `json:"s"` // its name
	Resource   string `json:"r"` // the plural name in URLs
	Namespaced bool   `json:"n,omitempty"`
	// Versions has the bit of each minor version that serves it: 1<<0 for First.
	Versions uint32 `json:"v"`
}

// A Schema is a schema in the versions that have it in this form.
type Schema struct {
	Name     string          `json:"n"`
	Versions uint32          `json:"v"`
	Schema   json.RawMessage `json:"s"`
}

// Release has the kinds of a version of Kubernetes. It is safe for concurrent use.
type Release struct {
	minor     int
	documents map[string]*openapi.Document
	kinds     []Kind // of all versions
}

// Load returns the kinds of Kubernetes 1.minor. It returns an [*UnknownVersionError] for a
// version that is not known.
func Load(minor int) (*Release, error) {
	if minor < First || minor > Last {
		return nil, &UnknownVersionError{minor}
	}
	f, err := read()
	if err != nil {
		return nil, err
	}
	bit := uint32(1) << (minor - First)
	schemas := map[string]*openapi.Schema{}
	for _, s := range f.Schemas {
		if s.Versions&bit == 0 {
			continue
		}
		out := &openapi.Schema{}
		if err := json.Unmarshal(s.Schema, out); err != nil {
			return nil, fmt.Errorf("read the schema %s: %w", s.Name, err)
		}
		schemas[s.Name] = out
	}
	r := &Release{minor: minor, documents: map[string]*openapi.Document{}, kinds: f.Kinds}
	for _, k := range f.Kinds {
		if k.Versions&bit == 0 {
			continue
		}
		d := r.documents[k.APIVersion]
		if d == nil {
			d = &openapi.Document{Kinds: map[string]string{}, Schemas: schemas}
			r.documents[k.APIVersion] = d
		}
		d.Kinds[k.Kind] = k.Schema
	}
	return r, nil
}

func read() (*File, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	f := &File{}
	return f, json.Unmarshal(text, f)
}

// Version returns the version without a patch version: "1.36".
func (r *Release) Version() string { return "1." + strconv.Itoa(r.minor) }

// Document returns the schemas of a group and version, or nil if it is not served.
func (r *Release) Document(apiVersion string) *openapi.Document { return r.documents[apiVersion] }

// Common returns the schemas that definitions of custom resources refer to.
func (r *Release) Common() map[string]*openapi.Schema {
	const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."
	out := map[string]*openapi.Schema{}
	for name, s := range r.documents["v1"].Schemas {
		if strings.HasPrefix(name, meta) {
			out[name] = s
		}
	}
	return out
}

// Kind returns a kind that this version serves, and reports whether it does.
func (r *Release) Kind(apiVersion, kind string) (Kind, bool) {
	for _, k := range r.kinds {
		if k.APIVersion == apiVersion && k.Kind == kind && k.servedBy(r.minor) {
			return k, true
		}
	}
	return Kind{}, false
}

// HasGroup reports whether a version of Kubernetes serves the API group itself. The core group
// is "".
func (r *Release) HasGroup(group string) bool {
	return slices.ContainsFunc(r.kinds, func(k Kind) bool { return k.group() == group })
}

// Minors returns the minor versions that serve a kind, in ascending order.
func (r *Release) Minors(apiVersion, kind string) []int {
	var out []int
	for _, k := range r.kinds {
		for minor := First; minor <= Last && k.APIVersion == apiVersion && k.Kind == kind; minor++ {
			if k.servedBy(minor) {
				out = append(out, minor)
			}
		}
	}
	return out
}

// Kinds returns the kinds that this version serves, sorted by group, version and kind.
func (r *Release) Kinds() []Kind {
	var out []Kind
	for _, k := range r.kinds {
		if k.servedBy(r.minor) {
			out = append(out, k)
		}
	}
	return out
}

func (k Kind) servedBy(minor int) bool { return k.Versions&(1<<(minor-First)) != 0 }

func (k Kind) group() string { return manifest.Group(k.APIVersion) }
