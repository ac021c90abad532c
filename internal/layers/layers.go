// SPDX-License-Identifier: Apache-2.0

// Package layers defines the layer of each package, and which imports layers allow. Its test checks
// the imports of all packages.
//
// To add a package, add it here and to the table in ARCHITECTURE.md.
package layers

import (
	"fmt"
	"path"
	"strings"
)

// Module is the path of the module.
const Module = "github.com/moonhelm/moonhelm"

// layer is a layer in the table in ARCHITECTURE.md. Its patterns are package paths relative to the
// module, in the syntax of path.Match.
type layer struct {
	number   int
	patterns []string
}

var layers = []layer{
	{0,
		[]string{"internal/attack", "internal/filetest", "internal/termtest", "internal/testdeps", "chart", "manifest",
			"manifest/yaml",
			"internal/hint", "internal/lazy", "internal/lines", "internal/linger", "internal/plural", "internal/suggest",
			"internal/truncate", "internal/term", "internal/build",
			"internal/layers", "internal/api", "internal/scriptapi",
			"internal/yaml", "internal/yamltest", "internal/jsonschema", "internal/peertest",
			"docs"}},
	{1, []string{"chart/values", "chart/schema", "openapi", "openapi/builtin", "release", "progress",
		"internal/file", "internal/process",
		"internal/markdown", "internal/pager", "internal/yamlpath"}},
	{2, []string{"event", "engine", "engine/*", "plan", "chart/dependency", "chart/lint"}},
	{3, []string{"script/wire", "chart/unused", "internal/policyfiles", "chart/readme", "chart/unittest",
		"chart/unittest/coverage", "plan/patch"}},
	{4, []string{
		"chart/loader", "chart/scaffold", "fetch", "repo", "repo/index", "registry", "provenance", "plugin",
		"plugin/postrender",
		"kube", "kube/*", "kube/internal/*", "storage", "storage/lock", "storage/storetest",
		"planfile", "internal/storagetest", "internal/storagetest/postgres",
		"script", "script/engine", "script/engine/*", "script/engine/internal/*", "script/sandbox",
		"internal/ui", "internal/output", "internal/kubetest", "internal/jsonpath", "internal/apiserver",
	}},
	{5, []string{"action", "script/worker", "chart/unittest/suites", "chart/unittest/report"}},
	{6, []string{"internal/cmdutil", "internal/report", "internal/report/diff", "internal/report/drift",
		"internal/subprocess",
		"internal/lsp", "internal/scripttest"}},
	{7, []string{"internal/cli/*", "internal/cli/*/*"}},
	{8, []string{"internal/cli"}},
	{9, []string{"cmd/*"}},
}

// pure is the last layer of computation. It and lower layers must not import heavy packages.
const pure = 3

// heavy maps the packages that layers of computation must not import to the reason.
var heavy = map[string]string{
	"k8s.io/client-go":       "computation does not access a cluster",
	"net/http":               "computation makes no requests",
	"github.com/spf13/cobra": "computation does not depend on the command line",
	"github.com/arnodel":     "computation runs no scripts",
}

// families are packages that may import their subpackages and each other within one layer.
var families = []string{"manifest", "openapi", "engine", "repo", "kube", "storage", "script/engine", "internal/report"}

// exceptions are other allowed imports within one layer, with the reason.
var exceptions = map[[2]string]string{
	{"chart", "internal/yaml"}:                      "YAML libraries are imported in one place",
	{"manifest", "internal/yaml"}:                   "YAML libraries are imported in one place",
	{"kube/wait", "internal/jsonpath"}:              "one JSONPath for readiness and output; it comes with client-go",
	{"repo", "fetch"}:                               "shares the validator and the error of unchanged downloads",
	{"fetch", "registry"}:                           "shares the type of pulled content",
	{"internal/storagetest", "internal/apiserver"}:  "tests access their cluster with one client",
	{"kube/internal/apitest", "internal/apiserver"}: "tests access their cluster with one client",
	{"chart/scaffold", "chart/loader"}: "a starter is loaded as a chart, and a new chart is " +
		"written as the loader reads it",
}

// yamlLibraries may be imported only by yamlReaders: internal/yaml reads and writes YAML.
var yamlLibraries = []string{"sigs.k8s.io/yaml", "go.yaml.in/yaml", "gopkg.in/yaml", "github.com/goccy/go-yaml"}

// yamlReaders maps the packages that import YAML libraries to the reason.
var yamlReaders = map[string]string{
	"internal/yaml":     "wraps the libraries",
	"internal/yamltest": "reference for tests",
}

// related reports whether two packages are in the same family.
func related(a, b string) bool {
	for _, f := range families {
		in := func(pkg string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") }
		if in(a) && in(b) {
			return true
		}
	}
	return false
}

// Of returns the layer of a package, given by its path relative to the module.
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

// Check returns an error if pkg may not import imported. Both are full import paths.
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
		return fmt.Errorf("%s imports %s: packages of one layer (%d) do not import each other; move shared code to "+
			"a lower layer, or let the caller combine them", from, to, fromLayer)
	}
	return fmt.Errorf("%s (layer %d) imports %s (layer %d): a package imports only layers below its own", from, fromLayer,
		to, toLayer)
}

func unknown(pkg string) error {
	return fmt.Errorf("%s has no layer: add it to internal/layers and to ARCHITECTURE.md", pkg)
}
