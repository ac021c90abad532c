// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arnodel/golua/parsing"
	"github.com/arnodel/golua/scanner"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

// typesDirectory has the definitions that package scaffold embeds.
var typesDirectory = filepath.Join("..", "..", "chart", "scaffold", "types")

// typesHead begins every file of definitions.
const typesHead = "---@meta\n\n-- What charts' scripts can use, for editors. Written by \"helm script types\";\n" +
	"-- changes are lost.\n\n"

// TestScriptTypes compares the type definitions with what scripts can use. With -update it
// writes them.
func TestScriptTypes(t *testing.T) {
	want := map[string]string{"moonhelm.lua": typesHead + contextTypes() + functionTypes() + moduleTypes(t, "")}
	for _, permission := range []string{modules.Network, modules.IO, modules.OS} {
		want[permission+".lua"] = typesHead + moduleTypes(t, permission)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(typesDirectory, name)
			if _, err := parsing.ParseChunk(scanner.New(name, []byte(want[name]))); err != nil {
				t.Fatalf("the definitions are not valid Lua: %v", err)
			}
			if *update {
				if err := os.WriteFile(path, []byte(want[name]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != want[name] {
				t.Errorf("%s is out of date (%v): go test ./internal/cli -run TestScriptTypes -update", path, err)
			}
		})
	}
}

// TestScriptTypesHaveTheReference checks that all fields, functions and events of
// docs/scripts-reference.md are in the definitions.
func TestScriptTypesHaveTheReference(t *testing.T) {
	_, page := reference(t)
	files, err := filepath.Glob(filepath.Join(typesDirectory, "*.lua"))
	if err != nil || len(files) != 5 {
		t.Fatalf("files %q, %v", files, err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	definitions := all.String()
	checked := 0
	want := func(what, pattern string) {
		checked++
		if !regexp.MustCompile(`(?m)^` + pattern).MatchString(definitions) {
			t.Errorf("%s is not in the definitions: no line matches %s", what, pattern)
		}
	}
	for _, cells := range rows(under(t, page, "Events")) {
		want("event "+cells[0], `---\| "`+strings.Trim(cells[0], "`")+`"$`)
	}
	for _, cells := range rows(under(t, page, "The context")) {
		path := strings.Split(strings.Trim(cells[0], "`"), ".")
		class := "Context"
		if len(path) == 3 {
			class = strings.ToUpper(path[1][:1]) + path[1][1:]
		}
		want(cells[0], `---@class helm\.`+class+`\n(---.*\n)*?---@field `+path[len(path)-1]+` `)
	}
	for _, heading := range []string{"Functions of a script", "Functions of Moonhelm"} {
		for _, cells := range rows(under(t, page, heading)) {
			name := regexp.MustCompile(`[\w.:]+`).FindString(cells[0])
			if name == "sha256" {
				want(cells[0], `---@overload fun\(bytes: string\): string\nsha256 = `)
				continue
			}
			name = strings.Replace(regexp.QuoteMeta(name), "file:", "Handle:", 1)
			want(cells[0], `(function `+name+`\(|`+name+` = )`)
		}
	}
	if checked < 100 {
		t.Errorf("only %d names were looked for", checked)
	}
}

// TestScriptTypesOfTests checks the definitions that are written by hand.
func TestScriptTypesOfTests(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(typesDirectory, "tests.lua"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsing.ParseChunk(scanner.New("tests.lua", data)); err != nil {
		t.Errorf("the definitions are not valid Lua: %v", err)
	}
	tools, err := os.ReadFile(filepath.Join("..", "..", "docs", "scripts-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range rows(under(t, string(tools), "Tests")) {
		name := regexp.MustCompile(`\w+$`).FindString(strings.TrimRight(strings.Trim(cells[0], "`"), "()"))
		if name == "" || !regexp.MustCompile(`(@field |function |@param )`+name+`\b`).Match(data) {
			t.Errorf("%s is not in the definitions", cells[0])
		}
	}
}

// contextTypes returns the classes of the context, and the names of events.
func contextTypes() string {
	var b strings.Builder
	b.WriteString("---The name of an event.\n---@alias helm.Event\n")
	for _, name := range event.Names() {
		fmt.Fprintf(&b, "---| %q\n", name)
	}
	for _, name := range slices.Sorted(maps.Keys(event.Aliases())) {
		fmt.Fprintf(&b, "---| %q # another name of %s\n", name, event.Aliases()[name])
	}
	for _, c := range scriptapi.Classes() {
		fmt.Fprintf(&b, "\n---%s.\n---@class helm.%s\n", sentence(c.Text), c.Name)
		for _, f := range c.Fields {
			name := f.Name
			if strings.Contains(name, "-") {
				name = fmt.Sprintf("[%q]", name)
			}
			// What is nil at some events is there at those at which it has a meaning.
			fmt.Fprintf(&b, "---@field %s %s # %s\n", name, luaType(f.Type), strings.TrimSuffix(f.Text, ": see below"))
		}
		if c.Open {
			b.WriteString("---@field [string] any\n")
		}
	}
	return b.String()
}

// functionTypes returns the functions that every script has besides modules.
func functionTypes() string {
	var b strings.Builder
	tables := map[string]bool{}
	for _, f := range scriptapi.Functions() {
		if f.Name == "print" || f.Name == "require" {
			fmt.Fprintf(&b, "\n---%s.\n", sentence(f.Text))
			b.WriteString(declaration(f.Name, f.Params, f.Returns))
			continue
		}
		if table, _, ok := strings.Cut(f.Name, "."); ok && !tables[table] {
			tables[table] = true
			fmt.Fprintf(&b, "\n%s = {}\n", table)
		}
		fmt.Fprintf(&b, "\n---%s.\n", sentence(f.Text))
		if f.Name == "events.on" { // the optional parameter is in the middle
			b.WriteString("---@param event helm.Event\n---@param priority number\n---@param handler fun(ctx: helm.Context)\n" +
				"---@overload fun(event: helm.Event, handler: fun(ctx: helm.Context))\n" +
				"function events.on(event, priority, handler) end\n")
			continue
		}
		b.WriteString(declaration(f.Name, f.Params, f.Returns))
	}
	for _, alias := range slices.Sorted(maps.Keys(scriptapi.Aliases())) {
		fmt.Fprintf(&b, "\n%s = %s\n", alias, scriptapi.Aliases()[alias])
	}
	return b.String()
}

func declaration(name string, params []scriptapi.Param, returns string) string {
	var b strings.Builder
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
		if p.Name == "function" {
			names[i] = "f"
		}
		optional := ""
		if p.Optional {
			optional = "?"
		}
		fmt.Fprintf(&b, "---@param %s%s %s\n", names[i], optional, luaType(p.Type))
	}
	if returns != "" {
		fmt.Fprintf(&b, "---@return %s\n", luaType(returns))
	}
	fmt.Fprintf(&b, "function %s(%s) end\n", name, strings.Join(names, ", "))
	return b.String()
}

// luaType returns a type of scriptapi with the names of its classes in full.
func luaType(text string) string {
	names := []string{"Event"}
	for _, c := range scriptapi.Classes() {
		names = append(names, c.Name)
	}
	return regexp.MustCompile(`\b(`+strings.Join(names, "|")+`)\b`).ReplaceAllString(text, "helm.$1")
}

func sentence(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".")
}

// moduleTypes returns the functions of modules that a permission adds, "" for those of every
// script.
func moduleTypes(t *testing.T, permission string) string {
	t.Helper()
	var b strings.Builder
	if permission != "" {
		b.WriteString(moduleClasses[permission])
	}
	tables := map[string]bool{}
	for _, f := range modules.Reference() {
		if f.Permission != permission {
			continue
		}
		if f.Name == "sha256" {
			fmt.Fprintf(&b, "\n---%s.\n---@class helm.sha256\n---@overload fun(bytes: string): string\nsha256 = {}\n",
				sentence(f.Text))
			tables[f.Name] = true
			continue
		}
		table, _, _ := strings.Cut(f.Name, ".")
		if !strings.Contains(f.Name, ":") && !tables[table] {
			tables[table] = true
			if table == "helm" && permission == "" {
				b.WriteString(moduleClasses[""])
			}
			fmt.Fprintf(&b, "\n%s = {}\n", table)
		}
		b.WriteString(moduleFunction(t, f))
	}
	return b.String()
}

// moduleClasses are the tables that functions of modules take and give.
var moduleClasses = map[string]string{
	"": `
---The parts of a version.
---@class helm.Version
---@field major integer
---@field minor integer
---@field patch integer
---@field prerelease string
---@field metadata string
---@field text string
`,
	modules.Network: `---Options of a request.
---@class helm.HTTPOptions
---@field headers? table<string, string>
---@field timeout? number # seconds

---A request.
---@class helm.HTTPRequest: helm.HTTPOptions
---@field url string
---@field method? string
---@field body? string

---The answer to a request.
---@class helm.HTTPResponse
---@field status integer
---@field headers table<string, string>
---@field body string
`,
	modules.IO: "---An open file.\n---@class helm.Handle\nlocal Handle = {}\n",
}

// wordTypes are the types of the words in signatures of modules.
var wordTypes = map[string]string{
	"table": "table", "message": "string", "text": "string", "value": "any", "bytes": "string", "indent": "integer",
	"pattern": "string", "replacement": "string|fun(match: string, ...: string): string?", "n": "integer",
	"version": "string", "range": "string", "a": "string", "b": "string", "url": "string", "options": "helm.HTTPOptions",
	"body": "string", "request": "helm.HTTPRequest", "host": "string", "path": "string", "mode": "string",
	"format": "string|integer", "file or path": "helm.Handle|string", "file": "helm.Handle", "whence": "string",
	"offset": "integer", "size": "integer", "command": "string", "time": "number", "later": "number", "earlier": "number",
	"name": "string", "from": "string", "to": "string", "locale": "string",
	// Results.
	"list": "any[]", "boolean": "boolean", "number": "number", "response": "helm.HTTPResponse", "true": "true",
	"iterator": "fun(): any", "text or table": "string|table", "true or nil": "true?", "capture": "string",
}

// constants are the types of constants of modules.
var constants = map[string]string{"helm.null": "any", "io.stdin": "helm.Handle", "io.stdout": "helm.Handle",
	"io.stderr": "helm.Handle"}

func moduleFunction(t *testing.T, f modules.Function) string {
	t.Helper()
	head := fmt.Sprintf("\n---%s.\n", sentence(f.Text))
	call, results, _ := strings.Cut(f.Signature, " → ")
	name, args, isFunction := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	if !isFunction {
		if constants[name] == "" {
			t.Errorf("no type for the constant %s", name)
		}
		return fmt.Sprintf("%s---@type %s\n%s = {}\n", head, constants[name], name)
	}
	typeOf := func(word string) string {
		if wordTypes[word] == "" {
			t.Errorf("%s: no type for %q", f.Signature, word)
		}
		return wordTypes[word]
	}
	var b strings.Builder
	b.WriteString(head)
	var names []string
	optional := false
	for arg := range strings.SplitSeq(args, ",") {
		optional = optional || strings.HasPrefix(strings.TrimSpace(arg), "[")
		word := strings.Trim(arg, "[] ")
		if word == "" {
			continue
		}
		optional = optional || strings.Contains(arg, "[") && !strings.HasSuffix(arg, "[")
		rest, many := strings.CutSuffix(word, "...")
		mark := ""
		switch {
		case many:
			fmt.Fprintf(&b, "---@param ... %s\n", typeOf(rest))
			names = append(names, "...")
			continue
		case optional:
			mark = "?"
		}
		param, _, _ := strings.Cut(word, " ")
		fmt.Fprintf(&b, "---@param %s%s %s\n", param, mark, typeOf(word))
		names = append(names, param)
		optional = optional || strings.HasSuffix(arg, "[")
	}
	for result := range strings.SplitSeq(results, ", ") {
		switch rest, many := strings.CutSuffix(result, "..."); {
		case result == "":
		case f.Name == "semver.parse":
			b.WriteString("---@return helm.Version\n")
		case many:
			fmt.Fprintf(&b, "---@return %s ...\n", typeOf(rest))
		default:
			fmt.Fprintf(&b, "---@return %s\n", typeOf(result))
		}
	}
	fmt.Fprintf(&b, "function %s(%s) end\n", strings.Replace(name, "file:", "Handle:", 1), strings.Join(names, ", "))
	return b.String()
}
