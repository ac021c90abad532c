// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
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

// TestFormats checks that docs/formats.md lists each command that prints JSON and each schema, and
// that a script holds an output to each schema.
func TestFormats(t *testing.T) {
	text := readText(t, filepath.Join(formats, "..", "formats.md"))
	listed := map[string]bool{} // the commands, without flags, in the first columns of tables
	command := regexp.MustCompile("`([a-z ]+)`")
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range command.FindAllStringSubmatch(cells[1], -1) {
				listed[m[1]] = true
			}
		}
	}
	walk(New(cmdutil.New(term.Streams{})), func(c *cobra.Command) {
		f := c.Flags().Lookup("output")
		if f == nil || !strings.Contains(f.Usage, "json") {
			return
		}
		name := strings.TrimPrefix(c.CommandPath(), "helm ")
		if strings.HasPrefix(name, "diff ") {
			name = "diff" // its commands have one form
		}
		if !listed[name] {
			t.Errorf("docs/formats.md does not list helm %s, which prints JSON", name)
		}
	})
	scripts := ""
	for _, file := range matches(t, filepath.Join("testdata", "*", "*.txtar")) {
		scripts += readText(t, file)
	}
	for _, file := range matches(t, filepath.Join(formats, "*.schema.json")) {
		name := strings.TrimSuffix(filepath.Base(file), ".schema.json")
		if !strings.Contains(text, "(formats/"+filepath.Base(file)+")") {
			t.Errorf("docs/formats.md does not list the schema %s", name)
		}
		if !strings.Contains(scripts, "\nschema "+name+"\n") {
			t.Errorf("no script of testdata holds an output to the schema %s", name)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func matches(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}
