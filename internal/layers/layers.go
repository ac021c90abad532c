// SPDX-License-Identifier: Apache-2.0

// Package layers is the architecture as data: the layer of each package, and what a
// layer may not import. Its test checks the imports of every package against it.
//
// To add a package, give it a layer here and a line in the table of ARCHITECTURE.md.
package layers

import (
	"fmt"
	"path"
	"strings"
)

// Module is the path that all packages of the product begin with.
const Module = "github.com/moonhelm/moonhelm"

// layer is one layer of the table in ARCHITECTURE.md. A pattern is a package's path
// below the module, with the wildcards of path.Match.
type layer struct {
	number   int
	patterns []string
}

var layers = []layer{
	{0,
		[]string{"internal/attack", "internal/filetest", "internal/testdeps", "chart", "manifest", "manifest/yaml",
			"internal/hint", "internal/linger", "internal/near", "internal/term", "internal/build", "internal/layers",
			"internal/api", "internal/yaml", "internal/yamltest", "internal/jsonschema", "internal/peertest"}},
	{1, []string{"chart/values", "chart/schema", "openapi", "release", "progress", "internal/file", "internal/process"}},
	{2, []string{"event", "engine", "engine/*", "plan", "chart/dependency", "chart/lint"}},
	{3, []string{"script/wire"}},
	{4, []string{
		"chart/loader", "chart/scaffold", "fetch", "repo", "repo/index", "registry", "provenance", "plugin",
		"plugin/postrender",
		"kube", "kube/*", "kube/internal/*", "storage", "storage/lock", "storage/storetest", "internal/storagetest", "internal/storagetest/postgres",
		"script", "script/engine", "script/engine/*", "script/sandbox", "internal/ui", "internal/output", "internal/kubetest",
		"internal/jsonpath", "internal/apiserver",
	}},
	{5, []string{"action", "script/worker"}},
	{6, []string{"internal/child", "internal/cmdutil", "internal/report", "internal/report/diff"}},
	{7, []string{"internal/cli/*", "internal/cli/*/*"}},
	{8, []string{"internal/cli"}},
	{9, []string{"cmd/*"}},
}

// pure is the last layer of computation: it and those below import nothing heavy.
const pure = 3

// heavy are the imports that the layers of computation do without, with the reason.
var heavy = map[string]string{
	"k8s.io/client-go":       "computation does not know a cluster",
	"net/http":               "computation makes no requests",
	"github.com/spf13/cobra": "computation does not know a command line",
	"github.com/arnodel":     "computation runs no scripts",
}

// families are packages that import each other within one layer: one and those that
// belong to it alone.
var families = []string{"manifest", "engine", "repo", "kube", "storage", "script/engine", "internal/report"}

// exceptions are other imports within one layer, with the reason.
var exceptions = map[[2]string]string{
	{"chart", "internal/yaml"}:                     "YAML libraries are imported in one place",
	{"manifest", "internal/yaml"}:                  "YAML libraries are imported in one place",
	{"kube/wait", "internal/jsonpath"}:             "one JSONPath for readiness and for what is printed; it comes with client-go",
	{"repo", "fetch"}:                              "the validator of a download, and the error where nothing has changed, stand once",
	{"fetch", "registry"}:                          "what is pulled from a registry stands once",
	{"internal/storagetest", "internal/apiserver"}: "tests ask their cluster in one way",
	{"chart/scaffold", "chart/loader"}: "a starter is a chart to be loaded, and a new chart is " +
		"written as the loader reads it",
}

// yamlLibraries are imported by yamlReaders only: what reads and writes YAML is
// internal/yaml.
var yamlLibraries = []string{"sigs.k8s.io/yaml", "go.yaml.in/yaml", "gopkg.in/yaml", "github.com/goccy/go-yaml"}

// yamlReaders are the packages that import YAML libraries, with the reason.
var yamlReaders = map[string]string{
	"internal/yaml":     "the one place",
	"internal/yamltest": "the reference that tests compare with",
}

// related reports whether two packages are of one family.
func related(a, b string) bool {
	for _, f := range families {
		in := func(pkg string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") }
		if in(a) && in(b) {
			return true
		}
	}
	return false
}

// Of returns the layer of the package at that path below the module.
func Of(pkg string) (int, bool) {
	for _, l := range layers {
		for _, p := range l.patterns {
			if ok, err := path.Match(p, pkg); ok && err == nil {
				return l.number, true
			}
		}
	}
	return 0, false
}

// Check returns what is wrong with pkg importing imported, both full import paths; nil
// for nothing.
func Check(pkg, imported string) error {
	from, ours := strings.CutPrefix(pkg, Module+"/")
	if !ours {
		return nil
	}
	fromLayer, known := Of(from)
	if !known {
		return unknown(from)
	}
	if fromLayer <= pure {
		for bad, why := range heavy {
			if imported == bad || strings.HasPrefix(imported, bad+"/") {
				return fmt.Errorf("%s (layer %d) imports %s: %s", from, fromLayer, imported, why)
			}
		}
	}
	for _, lib := range yamlLibraries {
		if (imported == lib || strings.HasPrefix(imported, lib+"/")) && yamlReaders[from] == "" {
			return fmt.Errorf("%s imports %s: YAML libraries are imported by internal/yaml only", from, imported)
		}
	}
	to, ours := strings.CutPrefix(imported, Module+"/")
	if !ours {
		return nil
	}
	toLayer, known := Of(to)
	switch {
	case !known:
		return unknown(to)
	case toLayer < fromLayer, toLayer == fromLayer && related(from, to), exceptions[[2]string{from, to}] != "":
		return nil
	case toLayer == fromLayer:
		return fmt.Errorf("%s imports %s: packages of one layer (%d) do not import each other; put what both need below "+
			"them, or let the caller combine them", from, to, fromLayer)
	}
	return fmt.Errorf("%s (layer %d) imports %s (layer %d): a package imports only layers below its own", from, fromLayer,
		to, toLayer)
}

func unknown(pkg string) error {
	return fmt.Errorf("%s has no layer: add it to internal/layers and to ARCHITECTURE.md", pkg)
}
