// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats is the directory of the schemas of JSON output, see docs/formats.md. It is absolute
// because scripts run in their own directories.
var formats = func() string {
	dir, err := filepath.Abs(filepath.Join("..", "..", "docs", "formats"))
	if err != nil {
		panic(err)
	}
	return dir
}()

// scriptCommands are the script commands in addition to testscript's.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){"schema": checkSchema}

// checkSchema implements the script command "schema NAME": the standard output of the last command
// must match that schema.
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
