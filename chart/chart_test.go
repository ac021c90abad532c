// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"slices"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

func TestTree(t *testing.T) {
	named := func(name string, files ...string) *chart.Chart {
		c := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
		for _, f := range files {
			c.Files = append(c.Files, &chart.File{Name: f})
		}
		return c
	}
	root, sub, lib, leaf := named("root", "crds/b.yaml", "crds/a.yml", "crds/README.md", "x"), named("sub"), named("lib"), named("leaf", "crds/c.json")
	lib.FromLibrary = true
	sub.SetDependencies(leaf)
	root.SetDependencies(sub, lib)

	if got := leaf.FullPath(); got != "root/charts/sub/charts/leaf" {
		t.Error(got)
	}
	if got := lib.FullPath(); got != "root/library/lib" {
		t.Error(got)
	}
	if got := leaf.ChartPath(); got != "root.sub.leaf" {
		t.Error(got)
	}
	if leaf.Root() != root || leaf.IsRoot() || !root.IsRoot() || !lib.IsLibrary() || sub.IsLibrary() {
		t.Error("the tree is not what was built")
	}
	var crds []string
	for _, c := range root.CRDs() {
		crds = append(crds, c.Source)
	}
	if want := []string{"root/crds/a.yml", "root/crds/b.yaml", "root/charts/sub/charts/leaf/crds/c.json"}; !slices.Equal(crds, want) {
		t.Errorf("CRDs %v, want %v", crds, want)
	}
	inLib := named("in-lib", "crds/d.yaml")
	lib.Files = []*chart.File{{Name: "crds/lib.yaml"}}
	lib.SetDependencies(inLib)
	typed := named("typed", "crds/typed.yaml")
	typed.Metadata.Type = chart.TypeLibrary
	root.SetDependencies(sub, lib, typed)
	if !inLib.IsLibrary() || !typed.IsLibrary() || root.IsLibrary() {
		t.Error("charts below library/ must be libraries, and others must not")
	}
	if got := root.Subcharts(); !slices.Equal(got, []*chart.Chart{sub, typed}) {
		t.Error(got)
	}
	// Helm 4.3.1 installs the CRDs of library charts in charts/.
	if got := len(root.CRDs()); got != len(crds)+1 {
		t.Errorf("%d CRDs: those of charts/ count, those of library/ do not", got)
	}
	if c := sub.Shallow(); c.Parent() != nil || len(c.Dependencies()) != 0 || leaf.Parent() != sub {
		t.Error("a shallow copy has a place in the tree, or took one away")
	}
	tree := sub.CopyTree()
	if below := tree.Dependencies(); tree.Parent() != nil || len(below) != 1 || below[0] == leaf || below[0].Parent() != tree {
		t.Errorf("the copy of the tree has parent %v and dependencies %v", tree.Parent(), below)
	}
	if leaf.Parent() != sub {
		t.Errorf("copying the tree gave the chart parent %v, want %v", leaf.Parent(), sub)
	}
}
