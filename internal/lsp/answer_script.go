// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

// scriptsDirectory is the directory of a chart's scripts.
var scriptsDirectory = path.Join(chart.DirExt, "lua")

// isScript reports whether a file of a tree is a script, or the test of one.
func isScript(name string) bool {
	if path.Ext(name) != ".lua" {
		return false
	}
	return strings.HasPrefix(name, scriptsDirectory+"/") || strings.Contains(name, "/"+scriptsDirectory+"/") ||
		slices.Contains(strings.Split(name, "/"), "tests")
}

var (
	// luaChain matches a chain of fields up to the place, and luaRest the rest of its last name.
	luaChain = lazy.Regexp(`[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]*)*$`)
	luaRest  = lazy.Regexp(`^[A-Za-z0-9_]*`)
	// luaText matches a call with the beginning of its first text.
	luaText = lazy.Regexp(`\b(events?\.on|events?\.off|require)\s*\(?\s*["']([^"']*)$`)
	// luaAlias matches a variable for a part of the context, and luaHandler the name of the context
	// in a handler.
	luaAlias   = lazy.Regexp(`\blocal\s+([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*(?:\.\w+)*)\s*(?:\n|;|--|$)`)
	luaHandler = lazy.Regexp(`\bevents?\.on\s*\(\s*["'][^"']*["']\s*,\s*function\s*\(\s*([A-Za-z_]\w*)`)
)

// luaCursor is what is at a place in a script.
type luaCursor struct {
	call       string   // the function whose first text the place is in, or ""
	path       []string // the chain before the last name, with the context as "ctx"
	name       string   // the last name, up to its end
	start, end int      // of the name, or of the text
}

func (p place) luaCursor() luaCursor {
	text := p.text.data
	start := p.text.lines[p.text.position(p.offset).Line]
	line := text[start:p.offset]
	rest := luaRest().FindString(text[p.offset:])
	if m := luaText().FindStringSubmatchIndex(line); m != nil {
		end := p.offset
		for end < len(text) && !strings.ContainsRune("\"'\n", rune(text[end])) {
			end++
		}
		return luaCursor{call: line[m[2]:m[3]], name: text[start+m[4] : end], start: start + m[4], end: end}
	}
	chain := luaChain().FindString(line)
	names := strings.Split(chain, ".")
	last := names[len(names)-1]
	c := luaCursor{name: last + rest, start: p.offset - len(last), end: p.offset + len(rest)}
	c.path = expand(text[:p.offset], names[:len(names)-1])
	return c
}

// expand replaces a variable at the beginning of a chain by what it stands for.
func expand(text string, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	aliases := map[string]string{}
	for _, m := range luaAlias().FindAllStringSubmatch(text, -1) {
		aliases[m[1]] = m[2]
	}
	contexts := map[string]bool{"ctx": true}
	for _, m := range luaHandler().FindAllStringSubmatch(text, -1) {
		contexts[m[1]] = true
	}
	names = slices.Clone(names)
	for range len(aliases) {
		of, ok := aliases[names[0]]
		if !ok || contexts[names[0]] {
			break
		}
		names = append(strings.Split(of, "."), names[1:]...)
	}
	if contexts[names[0]] {
		names[0] = "ctx"
	}
	return names
}

// class returns the class of a path in the context. values is set if the path leads into values,
// which have no class.
func class(path []string) (c scriptapi.Class, values []string, ok bool) {
	c, ok = scriptapi.ClassOf("Context")
	if len(path) == 0 || path[0] != "ctx" || !ok {
		return c, nil, false
	}
	for i := 1; i < len(path); i++ {
		if c.Name == "Context" && path[i] == "values" {
			return c, path[i+1:], true
		}
		f, found := c.Field(path[i])
		if !found {
			return c, nil, false
		}
		name, list := f.Element()
		if list && f.Name == "charts" {
			i++ // the name of a subchart
		} else if list {
			return c, nil, false
		}
		if c, found = scriptapi.ClassOf(name); !found {
			return c, nil, false
		}
	}
	return c, nil, true
}

// completeScript returns what may be written at a place of a script.
func (p place) completeScript() []CompletionItem {
	c := p.luaCursor()
	var items []CompletionItem
	add := func(name string, kind completionKind, detail, text string) {
		items = append(items, CompletionItem{Label: name, Kind: kind, Detail: detail, Documentation: markdown(text),
			TextEdit: p.edit(c.start, c.end, name)})
	}
	switch {
	case c.call == "require":
		for _, name := range p.modules() {
			add(name, kindModule, "", "")
		}
	case c.call != "":
		for _, name := range event.Names() {
			add(name, kindEvent, "", "")
		}
	case len(c.path) > 0 && c.path[0] == "ctx":
		p.completeContext(c, add)
	case len(c.path) == 1:
		for _, f := range scriptFunctions() {
			if table, name, _ := strings.Cut(f.name, "."); table == c.path[0] {
				add(name, kindFunction, f.signature, f.text)
			}
		}
	case len(c.path) == 0:
		for _, f := range scriptFunctions() {
			table, _, _ := strings.Cut(f.name, ".")
			if !slices.ContainsFunc(items, func(i CompletionItem) bool { return i.Label == table }) {
				add(table, kindModule, "", "")
			}
		}
	}
	return sortItems(items)
}

func (p place) completeContext(c luaCursor, add func(name string, kind completionKind, detail, text string)) {
	of, values, ok := class(c.path)
	switch {
	case !ok:
	case slices.Contains(c.path, "values"):
		for _, key := range p.offered(values) {
			if isField(key) {
				keys := append(slices.Clone(values), key)
				add(key, kindProperty, typeOf(p.valueAt(keys)), p.describe(keys))
			}
		}
	default:
		for _, f := range of.Fields {
			add(f.Name, kindField, f.Type, f.Text)
		}
	}
}

// modules returns the names that require knows in the chart of the script.
func (p place) modules() []string {
	_, dir := p.chartOf(p.file)
	prefix := path.Join(dir, scriptsDirectory) + "/"
	var out []string
	for name := range p.texts {
		if rest, ok := strings.CutPrefix(name, prefix); ok && path.Ext(rest) == ".lua" && name != p.file {
			out = append(out, strings.ReplaceAll(strings.TrimSuffix(rest, ".lua"), "/", "."))
		}
	}
	slices.Sort(out)
	return out
}

// scriptFunction is a function that scripts can call.
type scriptFunction struct{ name, signature, text string }

func scriptFunctions() []scriptFunction {
	var out []scriptFunction
	for _, f := range scriptapi.Functions() {
		out = append(out, scriptFunction{f.Name, f.Signature, f.Text})
	}
	for _, f := range modules.Reference() {
		text := f.Text
		if f.Permission != "" {
			text += "\n\nneeds the permission " + f.Permission
		}
		out = append(out, scriptFunction{f.Name, f.Signature, text})
	}
	return out
}

// hoverScript describes what is at a place of a script.
func (p place) hoverScript() *Hover {
	c := p.luaCursor()
	text := ""
	switch {
	case c.call != "" || c.name == "":
	case len(c.path) > 0 && c.path[0] == "ctx":
		text = p.describeField(c)
	default:
		full := strings.Join(append(slices.Clone(c.path), c.name), ".")
		for _, f := range scriptFunctions() {
			if f.name == full {
				text = "```lua\n" + f.signature + "\n```\n\n" + f.text
			}
		}
	}
	if text == "" {
		return nil
	}
	r := p.text.rangeOf(c.start, c.end)
	return &Hover{Contents: markdown(text), Range: &r}
}

func (p place) describeField(c luaCursor) string {
	of, values, ok := class(c.path)
	if !ok {
		return ""
	}
	if slices.Contains(c.path, "values") {
		return p.describe(append(slices.Clone(values), c.name))
	}
	f, ok := of.Field(c.name)
	if !ok {
		return ""
	}
	return "**" + strings.Join(append(slices.Clone(c.path), c.name), ".") + "** · " + f.Type + "\n\n" + f.Text
}

// defineScript returns where what is at a place of a script is defined.
func (p place) defineScript() []Location {
	c := p.luaCursor()
	if c.call == "require" {
		_, dir := p.chartOf(p.file)
		file := path.Join(dir, scriptsDirectory, strings.ReplaceAll(c.name, ".", "/")+".lua")
		if p.texts[file] == nil {
			return nil
		}
		return []Location{p.location(file, Range{})}
	}
	if _, values, ok := class(c.path); ok && slices.Contains(c.path, "values") && c.name != "" {
		return p.definitions(append(slices.Clone(values), c.name))
	}
	return nil
}
