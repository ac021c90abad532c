// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// An unknownError is returned for a name that a table does not have and never has, such as
// ctx.vales. rawget gives nil for it.
type unknownError struct{ text string }

func (e *unknownError) Error() string { return e.text }

// mostNames is how many names an error lists.
const mostNames = 20

// unknownField returns the error of a field that holder lacks; names are those that it can
// have.
func unknownField(holder string, k rt.Value, names []string) error {
	text := fmt.Sprintf("%s has no field %s", holder, keyText(k))
	name, isText := k.TryString()
	if !isText {
		return &unknownError{text}
	}
	if meant := didYouMean(names, holder+".", name, 2); meant != "" {
		return &unknownError{text + meant}
	}
	listed := slices.Sorted(slices.Values(names))
	if len(listed) > mostNames {
		listed = append(listed[:mostNames:mostNames], "others")
	}
	return &unknownError{text + "; it has " + strings.Join(listed, ", ")}
}

// strictTables has reading an unknown field of Moonhelm's tables of functions fail: helm.nul
// would be nil, and take a value away where null was meant. Tables of Lua's own are as in
// Lua, since libraries look in them for what a version has.
func (e *engine) strictTables(c *chart) {
	index := e.one(fieldName, 2, 2, func(_ *rt.Thread, gc *rt.GoCont) (rt.Value, error) {
		return rt.NilValue, c.unknownFunction(gc.Arg(0), gc.Arg(1))
	})
	shared := e.metatable(map[string]rt.Value{"__index": index})
	for name, v := range c.builtin {
		t, ok := v.TryTable()
		if !ok || name == "_G" || e.lib.tables[name] != nil {
			continue
		}
		if meta := t.Metatable(); meta != nil && meta != shared {
			e.r.SetEnv(meta, "__index", index)
			continue
		}
		t.SetMetatable(shared)
	}
}

// unknownFunction returns the error of a name that one of Moonhelm's tables lacks.
func (c *chart) unknownFunction(table, k rt.Value) error {
	name := ""
	for known, v := range c.builtin {
		if v.Equals(table) && known > name { // events before its other name
			name = known
		}
	}
	t, _ := table.TryTable()
	return unknownField(name, k, textKeys(t))
}

// textKeys returns the text keys of a table, in order.
func textKeys(t *rt.Table) []string {
	var names []string
	each(t, func(name string, v rt.Value) {
		if !v.IsNil() {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

// strictGlobals has reading a global fail that no script of the chart assigns: it is a name
// with a mistake, and would be nil. Names that other versions of Lua have, or that a
// permission adds, are nil.
func (e *engine) strictGlobals(c *chart) {
	index := e.one(fieldName, 2, 2, func(_ *rt.Thread, gc *rt.GoCont) (rt.Value, error) {
		name, ok := gc.Arg(1).TryString()
		if _, known := absent[name]; !ok || known || elsewhere[name] || c.assigns(name) {
			return rt.NilValue, nil
		}
		return rt.NilValue, &unknownError{c.undefined(name)}
	})
	c.env.SetMetatable(e.tableOf(map[string]rt.Value{"__index": index}).AsTable())
}

// strict makes the metatable of tables that have no fields but those of the names: a misspelled
// one would pass for nil. holder is what they are called in errors.
func (e *engine) strict(holder string, names []string) *rt.Table {
	index := e.one(fieldName, 2, 2, func(_ *rt.Thread, gc *rt.GoCont) (rt.Value, error) {
		if name, ok := gc.Arg(1).TryString(); ok && slices.Contains(names, name) {
			return rt.NilValue, nil
		}
		return rt.NilValue, unknownField(holder, gc.Arg(1), names)
	})
	return e.tableOf(map[string]rt.Value{"__index": index}).AsTable()
}

// elsewhere are globals that other versions of Lua, and programs around it, have.
var elsewhere = map[string]bool{
	"bit": true, "bit32": true, "jit": true, "newproxy": true, "unpack": true, "table_unpack": true, "gcinfo": true,
	"arg": true, "_PROMPT": true, "_ENV": true, "ngx": true, "init": true,
}

// undefined describes a global that does not exist, and what was likely meant.
func (c *chart) undefined(name string) string {
	text := fmt.Sprintf("%s is not defined", truncate.Bytes(name, 100, "…"))
	if meant, ok := otherwise()[name]; ok {
		return text + "; did you mean " + meant + "?"
	}
	names := append(textKeys(c.env), c.names.declared...)
	names = slices.AppendSeq(names, maps.Keys(c.names.assigned))
	slices.Sort(names)
	if meant := didYouMean(slices.Compact(names), "", name, max(len(name)/3, 1)); meant != "" {
		return text + meant
	}
	return text + ": no script of the chart assigns it"
}

// otherwise returns how scripts write what other languages, and templates, have as a name.
func otherwise() map[string]string {
	return map[string]string{
		"null": "helm.null", "None": "nil", "undefined": "nil", "True": "true", "False": "false", "len": "#", "this": "ctx",
		"Values": "ctx.values", "values": "ctx.values", "Release": "ctx.release", "release": "ctx.release",
		"Chart": "ctx.chart", "Capabilities": "ctx.capabilities", "capabilities": "ctx.capabilities",
		"Files": "ctx.files", "files": "ctx.files", "objects": "ctx.objects", "templates": "ctx.templates",
		"toYaml": "yaml.encode", "fromYaml": "yaml.decode", "toJson": "json.encode", "fromJson": "json.decode",
		"lookup": "kube.lookup", "fail": "helm.fail", "b64enc": "base64.encode", "b64dec": "base64.decode",
		"printf": "string.format", "sprintf": "string.format",
	}
}

// namesOf returns the names of the chart's scripts, to which those of a file will be added.
func (c *chart) namesOf(at place) *rewriter {
	c.read[at.file] = true
	c.names.at = at
	return c.names
}

// assigns reports whether a script of the chart assigns a global of that name. Files that
// were not required yet are read for it.
func (c *chart) assigns(name string) bool {
	for _, file := range slices.Sorted(maps.Keys(c.files)) {
		if _, ok := c.names.assigned[name]; ok {
			return true
		}
		if !c.read[c.directory+file] && strings.HasSuffix(file, ".lua") {
			c.readNames(file)
		}
	}
	_, ok := c.names.assigned[name]
	return ok
}

// readNames adds the names of a file that may have errors: those are reported where it is
// required.
func (c *chart) readNames(file string) {
	names := c.namesOf(place{c.index, c.directory + file})
	if b, err := parse(c.files[file]); err == nil {
		names.read(b)
	}
}
