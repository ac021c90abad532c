// SPDX-License-Identifier: Apache-2.0

// Package patches compares patches with kustomize's, which is used as a library.
package patches

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan/patch"
)

// input are the files of a kustomization without its field resources.
type input struct {
	resources string
	patches   string
	files     map[string]string
}

// kustomized returns the objects that kustomize builds.
func (in input) kustomized() ([]*manifest.Object, error) {
	fs := filesys.MakeFsInMemory()
	write := func(name, text string) {
		if err := fs.WriteFile("/app/"+name, []byte(text)); err != nil {
			panic(err)
		}
	}
	write("resources.yaml", in.resources)
	write("kustomization.yaml", "resources: [resources.yaml]\n"+in.patches)
	for name, text := range in.files {
		write(name, text)
	}
	out, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/app")
	if err != nil {
		return nil, err
	}
	text, err := out.AsYaml()
	if err != nil {
		return nil, err
	}
	return manifest.Parse("kustomize", string(text))
}

// patched returns the objects that the package patch makes.
func (in input) patched() ([]*manifest.Object, error) {
	f, err := patch.Read("kustomization.yaml", []byte(in.patches), func(name string) ([]byte, error) {
		text, ok := in.files[name]
		if !ok {
			return nil, fmt.Errorf("no file %s", name)
		}
		return []byte(text), nil
	})
	if err != nil {
		return nil, err
	}
	all, err := f.Patches()
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse("web/templates/all.yaml", in.resources)
	for _, p := range all {
		if err == nil {
			objects, _, err = p.Apply(objects, "default")
		}
	}
	return objects, err
}

// contents returns the contents of objects in a fixed order.
func contents(t *testing.T, objects []*manifest.Object) []map[string]any {
	t.Helper()
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b *manifest.Object) int {
		return strings.Compare(a.String()+a.Namespace, b.String()+b.Namespace)
	})
	var out []map[string]any
	for _, o := range objects {
		m, err := o.Map()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// TestDocumentation compares the patches that kustomize's documentation shows.
func TestDocumentation(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d cases, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in := input{files: map[string]string{}}
			for _, f := range ar.Files {
				switch f.Name {
				case "resources.yaml":
					in.resources = string(f.Data)
				case "kustomization.yaml":
					in.patches = string(f.Data)
				default:
					in.files[f.Name] = string(f.Data)
				}
			}
			theirs, err := in.kustomized()
			if err != nil {
				t.Fatalf("kustomize: %v", err)
			}
			ours, err := in.patched()
			if err != nil {
				t.Fatal(err)
			}
			before, _ := manifest.Parse("", in.resources)
			got, want := contents(t, ours), contents(t, theirs)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", manifest.Format(ours), manifest.Format(theirs))
			}
			if reflect.DeepEqual(want, contents(t, before)) {
				t.Error("the patches change nothing")
			}
		})
	}
}
