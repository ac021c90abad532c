// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats is where the schemas of the commands' JSON are, see docs/formats.md. Scripts run
// in directories of their own.
var formats = func() string {
	dir, err := filepath.Abs(filepath.Join("..", "..", "docs", "formats"))
	if err != nil {
		panic(err)
	}
	return dir
}()

// scriptCommands are those that scripts have besides testscript's.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){"schema": checkSchema}

// checkSchema is the command "schema NAME": the standard output of the last command is
// JSON of that schema.
func checkSchema(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: schema NAME")
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(err)
	f, err := os.Open(filepath.Join(formats, args[0]+".schema.json"))
	ts.Check(err)
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	ts.Check(err)
	compiler := jsonschema.NewCompiler()
	ts.Check(compiler.AddResource(args[0], doc))
	schema, err := compiler.Compile(args[0])
	ts.Check(err)
	switch err := schema.Validate(value); {
	case err != nil && !neg:
		ts.Fatalf("%v", err)
	case err == nil && neg:
		ts.Fatalf("the output meets the schema %s", args[0])
	}
}
