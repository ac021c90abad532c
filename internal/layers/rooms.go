// SPDX-License-Identifier: Apache-2.0

// Package layers is the plan of the house as data: which row each package
// stands in, and what a row may not import. Its test holds every package's
// imports against it.
package layers

import (
	"fmt"
	"path"
	"strings"
)

// Module is the path that all packages of the product begin with.
const Module = "github.com/moonhelm/moonhelm"

// row is one row of the table in ARCHITECTURE.md. A pattern is a package's
// path below the module, with path.Match's wildcards.
type row struct {
	number   int
	patterns []string
}

var rows = []row{
	{0, []string{"chart", "manifest", "manifest/quickyaml", "internal/near", "internal/term", "internal/build", "internal/layers", "internal/yamltest"}},
	{1, []string{"chart/values", "chart/schema", "openapi", "release", "progress", "internal/file", "internal/process"}},
	{2, []string{"event", "engine", "render/*", "plan", "chart/dependency", "chart/lint"}},
	{3, []string{"hook", "script/wire"}},
	{4, []string{"action", "chart/loader", "archive/scaffold", "fetch", "repo", "repo/index", "registry", "provenance", "kube", "storage/lock", "storage", "store/storetest", "store/storetest/postgres", "script", "script/engine", "script/engine/*", "script/sandbox", "plugin", "plugin/postrender", "internal/ui", "internal/output"}},
	{5, []string{"internal/env", "internal/report", "internal/report/diff", "internal/child"}},
	{6, []string{"internal/cli/*", "internal/cli/*/*"}},
	{7, []string{"internal/cli"}},
	{8, []string{"cmd/*"}},
}

// families may import each other although they share a row: a package and
// what lies below it and belongs to it alone.
var families = []string{"chart/loader", "manifest", "engine", "repo", "storage", "script/engine", "internal/report"}

// related tells whether two packages are of one family.
func related(a, b string) bool {
	for _, f := range families {
		in := func(pkg string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") }
		if in(a) && in(b) {
			return true
		}
	}
	return false
}

// heavy are imports that rows 0 to 3 do without, with the reason.
var heavy = map[string]string{
	"k8s.io/client-go":       "rows 0 to 3 know nothing of a cluster",
	"net/http":               "rows 0 to 3 make no requests",
	"github.com/spf13/cobra": "rows 0 to 3 know no command line",
	"github.com/arnodel":     "rows 0 to 3 run no scripts",
}

// Row returns the row of the package at that path below the module.
func Row(pkg string) (int, bool) {
	for _, r := range rows {
		for _, p := range r.patterns {
			if ok, err := path.Match(p, pkg); ok && err == nil {
				return r.number, true
			}
		}
	}
	return 0, false
}

// Check tells what is wrong with pkg importing imported, both full import
// paths; nil for nothing.
func Check(pkg, imported string) error {
	from, ours := strings.CutPrefix(pkg, Module+"/")
	if !ours {
		return nil
	}
	fromRow, known := Row(from)
	if !known {
		return fmt.Errorf("%s has no row: give it one in internal/rooms and ARCHITECTURE.md, with a reason", from)
	}
	if fromRow <= 3 {
		for bad, why := range heavy {
			if imported == bad || strings.HasPrefix(imported, bad+"/") {
				return fmt.Errorf("%s (row %d) imports %s: %s", from, fromRow, imported, why)
			}
		}
	}
	to, ours := strings.CutPrefix(imported, Module+"/")
	if !ours {
		return nil
	}
	toRow, known := Row(to)
	switch {
	case !known:
		return fmt.Errorf("%s has no row: give it one in internal/rooms and ARCHITECTURE.md, with a reason", to)
	case toRow < fromRow, toRow == fromRow && related(from, to):
		return nil
	case toRow == fromRow:
		return fmt.Errorf("%s imports %s: packages of one row (%d) do not know each other; let the caller declare an interface, and wire it in internal/env", from, to, fromRow)
	}
	return fmt.Errorf("%s (row %d) imports %s (row %d): a package imports only rows below its own, or what is simple comes to depend on what is complicated", from, fromRow, to, toRow)
}
