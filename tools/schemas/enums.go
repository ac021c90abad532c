// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/openapi"
)

// enums has the values of fields by the name of their schema and the field. API servers publish them;
// the documents in the module do not have them, but the Go source that they are made of does.
type enums map[string]map[string]enum

// enum has the values of a field, or of the items of a list or a map.
type enum struct {
	values []any
	below  bool
}

// origins map the prefixes of functions of the generated source to those of the names of schemas.
var origins = map[string]string{
	"schema_k8sio_api_":              "io.k8s.api.", // schema_k8sio_api_core_v1_Container
	"schema_pkg_apis_apiextensions_": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.",
}

// readEnums reads the enums of a version of the module, whose directory is dir.
func readEnums(dir string) (enums, error) {
	name := filepath.Join(dir, "pkg", "generated", "openapi", "zz_generated.openapi.go")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	out := enums{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for prefix, name := range origins {
			schema, ok := strings.CutPrefix(f.Name.Name, prefix)
			if fields := fieldEnums(f); ok && len(fields) > 0 {
				out[name+strings.ReplaceAll(schema, "_", ".")] = fields
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no enums", name)
	}
	return out, nil
}

// fieldEnums returns the enums in the function that makes a schema.
func fieldEnums(f *ast.FuncDecl) map[string]enum {
	out := map[string]enum{}
	ast.Inspect(f, func(n ast.Node) bool {
		properties, ok := field(n, "Properties")
		if !ok {
			return true
		}
		for _, e := range properties.Elts {
			p := e.(*ast.KeyValueExpr)
			if found := enumIn(p.Value); found.values != nil {
				out[literal(p.Key)] = found
			}
		}
		return false
	})
	return out
}

// field returns the composite literal that is the value of the field name, if n is that.
func field(n ast.Node, name string) (*ast.CompositeLit, bool) {
	kv, ok := n.(*ast.KeyValueExpr)
	if !ok {
		return nil, false
	}
	key, ok := kv.Key.(*ast.Ident)
	if !ok || key.Name != name {
		return nil, false
	}
	value, ok := kv.Value.(*ast.CompositeLit)
	return value, ok
}

func enumIn(property ast.Node) enum {
	var out enum
	ast.Inspect(property, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && (key.Name == "Items" || key.Name == "AdditionalProperties") {
				out = enumIn(kv.Value)
				out.below = true
				return false
			}
		}
		if values, ok := field(n, "Enum"); ok {
			for _, v := range values.Elts {
				out.values = append(out.values, literal(v))
			}
		}
		return true
	})
	return out
}

// literal returns the value of a string literal.
func literal(e ast.Expr) string {
	text, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		panic(err) // the file has been parsed
	}
	return text
}

// set sets the enums of a schema's fields.
func (e enums) set(name string, s *openapi.Schema) {
	for key, found := range e[name] {
		p := s.Properties[key]
		if p != nil && found.below {
			p = cmp.Or(p.Items, p.Additional)
		}
		if p != nil {
			p.Enum = found.values
		}
	}
}
