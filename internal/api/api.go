// SPDX-License-Identifier: Apache-2.0

// Package api lists the exported declarations of the module's public packages. The listing is
// stored in docs/api, and a test compares the two, so that changes of the API are visible in
// review. After an intended change run:
//
//	go test ./internal/api -update
package api

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Packages returns the paths of the public packages in root, the directory of the module: those
// that are not internal, not commands, and not in a nested module.
func Packages(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "internal", "testdata", "cmd", "test", "bench", "tools", "plugins", "examples", "docs", ".git":
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") && filepath.Dir(rel) != "." {
			found[filepath.ToSlash(filepath.Dir(rel))] = true
		}
		return nil
	})
	out := make([]string, 0, len(found))
	for pkg := range found {
		out = append(out, pkg)
	}
	slices.Sort(out)
	return out, err
}

// Listing returns the exported declarations of the package in dir, sorted, without comments and
// bodies.
func Listing(dir string) (string, error) {
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, "github.com/moonhelm/moonhelm/"+filepath.ToSlash(dir))
	if err != nil {
		return "", fmt.Errorf("list the API of %s: %w", dir, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n", pkg.Name)
	l := lister{fset: fset, out: &b}
	l.values(pkg.Consts)
	l.values(pkg.Vars)
	l.funcs(pkg.Funcs)
	for _, t := range pkg.Types {
		l.node(t.Decl)
		l.values(t.Consts)
		l.values(t.Vars)
		l.funcs(t.Funcs)
		l.funcs(t.Methods)
	}
	return b.String(), l.err
}

type lister struct {
	fset *token.FileSet
	out  *bytes.Buffer
	err  error
}

func (l *lister) values(all []*doc.Value) {
	for _, v := range all {
		l.node(v.Decl)
	}
}

func (l *lister) funcs(all []*doc.Func) {
	for _, f := range all {
		decl := *f.Decl
		decl.Body, decl.Doc = nil, nil
		l.node(&decl)
	}
}

func (l *lister) node(decl ast.Decl) {
	if g, ok := decl.(*ast.GenDecl); ok {
		g.Doc = nil
	}
	l.out.WriteByte('\n')
	config := printer.Config{Mode: printer.TabIndent, Tabwidth: 8}
	if err := config.Fprint(l.out, l.fset, decl); err != nil && l.err == nil {
		l.err = err
	}
	l.out.WriteByte('\n')
}
