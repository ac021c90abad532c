// SPDX-License-Identifier: Apache-2.0

// Command schemas writes the schemas of Kubernetes' own kinds, the embedded file of package
// openapi/builtin.
//
//	schemas FILE
//
// It reads the OpenAPI documents of the module k8s.io/kubernetes in each of the
// versions below, which it has the Go command download, about 20 MB each. The same versions make
// the same file. To add a version, add it below, move builtin.First or Last, and run make schemas.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// source is a version of k8s.io/kubernetes with its checksum, as in go.sum.
type source struct{ version, sum string }

// sources are the versions, from builtin.First to builtin.Last.
var sources = [builtin.Last - builtin.First + 1]source{
	{"v1.25.16", "h1:pdtEdre7aInDvXas+mWzpTiK/7cpcaGRyYB+Bedr2+Q="},
	{"v1.26.15", "h1:o65B3kKH7q9xK2h2323rKKThI1rp3ZarXpb8asT932U="},
	{"v1.27.16", "h1:DHFqj/HTUqHStFlRH9wCKPocqgHsjR6Q/DzYarB2QQE="},
	{"v1.28.15", "h1:d91N2Znk+E8REIJZlrD6za2JtIwvEypa0DB1IoU4fJ0="},
	{"v1.29.15", "h1:hLcyf3XmxtfkubCEmmPX5QVD7lDclXjvEUrJeP283LM="},
	{"v1.30.14", "h1:MrlKXh9uhLIJpyxOeXhcndzRVSvwiV9iJ8NgH8nqPsg="},
	{"v1.31.14", "h1:UtjLfqvXLuSVDdJ4+NpQCIfFkKkLnAAVmxAEMsnkhjk="},
	{"v1.32.13", "h1:5TGYdZ6YZqdp6h/Rp1vX/4TIoybMPdgv97LCZCtPuNQ="},
	{"v1.33.13", "h1:bmH31xUdSzeA5vk0wZAK9MZp11mdLuzUSeKk0qN3hPQ="},
	{"v1.34.4", "h1:Yy6R4QB8C9kJPp25GFqEvX5XQwY5qzKeqD0Xx6oAcmk="},
	{"v1.35.4", "h1:o/8dBC/pHVpYoGV4OAIytAlNPZbdYVTXJHoYvXC4qzM="},
	{"v1.36.3", "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o="},
	{"v1.37.2", "h1:A2VDEiObzkYqFTKhSsn0ZEb0RlLEXpHWj93gi2HqEwE="},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemas FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(name string) error {
	c := collection{kinds: map[builtin.Kind]uint32{}, schemas: map[schemaKey]uint32{}}
	for i, s := range sources {
		dir, err := download(s)
		if err != nil {
			return err
		}
		if err := c.add(dir, 1<<i); err != nil {
			return fmt.Errorf("%s: %w", s.version, err)
		}
	}
	c.fill()
	text, err := json.Marshal(c.file())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf("%d kinds, %d schemas: %d bytes, %d compressed\n", len(c.kinds), len(c.schemas), len(text), b.Len())
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// download returns the directory of a version of the module k8s.io/kubernetes.
func download(s source) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+s.version)
	cmd.Dir = os.TempDir() // outside of any module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil || m.Error != "" {
		return "", fmt.Errorf("download k8s.io/kubernetes %s: %w", s.version, errors.Join(err, jsonErr, errors.New(m.Error)))
	}
	if m.Sum != s.sum {
		return "", fmt.Errorf("k8s.io/kubernetes %s has the checksum %s, want %s", s.version, m.Sum, s.sum)
	}
	return m.Dir, nil
}

// collection holds kinds and schemas with the bits of their versions.
type collection struct {
	kinds   map[builtin.Kind]uint32
	schemas map[schemaKey]uint32
}

type schemaKey struct{ name, text string }

// add adds the kinds and schemas of a version. dir is its directory.
func (c *collection) add(dir string, bit uint32) error {
	files, err := filepath.Glob(filepath.Join(dir, "api", "openapi-spec", "v3", "api*__v*_openapi.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("it has no OpenAPI documents: %w", err)
	}
	enums, err := readEnums(dir)
	if err != nil {
		return err
	}
	texts := map[string]string{} // the schemas of this version, which all documents share
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "_openapi.json") // api__v1, apis__apps__v1
		_, name, _ = strings.Cut(name, "__")
		if err := c.addDocument(file, strings.Replace(name, "__", "/", 1), enums, texts, bit); err != nil {
			return err
		}
	}
	for name, text := range texts {
		c.schemas[schemaKey{name, text}] |= bit
	}
	return nil
}

func (c *collection) addDocument(file, apiVersion string, enums enums, texts map[string]string, bit uint32) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d, err := openapi.Parse(apiVersion, text)
	if err != nil {
		return err
	}
	if d.Custom {
		return fmt.Errorf("the document of %s looks like that of a custom resource", apiVersion)
	}
	created, err := resources(text, apiVersion)
	if err != nil {
		return err
	}
	var names []string
	for _, k := range created {
		if k.Schema = d.Kinds[k.Kind]; k.Schema == "" {
			return fmt.Errorf("the document of %s has no schema of %s", apiVersion, k.Kind)
		}
		c.kinds[k] |= bit
		names = append(names, k.Schema)
	}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		s := d.Schemas[name]
		if s == nil {
			return fmt.Errorf("the document of %s has no schema %s", apiVersion, name)
		}
		enums.set(name, s)
		if text, err = json.Marshal(s); err != nil {
			return err
		}
		switch before, ok := texts[name]; {
		case !ok:
			texts[name] = string(text)
			names = append(names, refs(s)...)
		case before != string(text):
			return fmt.Errorf("two documents differ in the schema %s", name)
		}
	}
	return nil
}

// refs returns the names of the schemas that s refers to.
func refs(s *openapi.Schema) []string {
	if s == nil {
		return nil
	}
	var out []string
	if s.Ref != "" {
		out = append(out, s.Ref)
	}
	out = append(append(out, refs(s.Items)...), refs(s.Additional)...)
	for _, p := range s.Properties {
		out = append(out, refs(p)...)
	}
	return out
}

// resources returns the kinds that can be created, by the paths of a document.
func resources(text []byte, apiVersion string) ([]builtin.Kind, error) {
	var in struct {
		Paths map[string]struct {
			Post struct {
				Action string `json:"x-kubernetes-action"`
				Of     struct {
					Kind string `json:"kind"`
				} `json:"x-kubernetes-group-version-kind"`
			} `json:"post"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	root := "/apis/"
	if !strings.Contains(apiVersion, "/") {
		root = "/api/"
	}
	var out []builtin.Kind
	for name, p := range in.Paths {
		rest, ok := strings.CutPrefix(name, root+apiVersion+"/")
		resource, namespaced := strings.CutPrefix(rest, "namespaces/{namespace}/")
		if ok && !strings.Contains(resource, "/") && p.Post.Action == "post" {
			k := builtin.Kind{APIVersion: apiVersion, Kind: p.Post.Of.Kind, Resource: resource, Namespaced: namespaced}
			out = append(out, k)
		}
	}
	return out, nil
}

// fill adds the kinds of the aggregator to the versions whose modules have no document of them,
// those before 1.27. They are the same in all versions.
func (c *collection) fill() {
	const all = 1<<len(sources) - 1
	for k := range c.kinds {
		if k.APIVersion == "apiregistration.k8s.io/v1" {
			c.kinds[k] = all
		}
	}
	for key := range c.schemas {
		if strings.HasPrefix(key.name, "io.k8s.kube-aggregator.") {
			c.schemas[key] = all
		}
	}
}

// file returns what has been added, sorted.
func (c *collection) file() *builtin.File {
	f := &builtin.File{}
	for _, s := range sources {
		f.Sources = append(f.Sources, s.version)
	}
	for k, versions := range c.kinds {
		k.Versions = versions
		f.Kinds = append(f.Kinds, k)
	}
	for key, versions := range c.schemas {
		f.Schemas = append(f.Schemas, builtin.Schema{Name: key.name, Versions: versions, Schema: json.RawMessage(key.text)})
	}
	slices.SortFunc(f.Kinds, func(a, b builtin.Kind) int {
		if n := strings.Compare(a.APIVersion, b.APIVersion); n != 0 {
			return n
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	slices.SortFunc(f.Schemas, func(a, b builtin.Schema) int {
		if n := strings.Compare(a.Name, b.Name); n != 0 {
			return n
		}
		return int(a.Versions) - int(b.Versions)
	})
	return f
}
