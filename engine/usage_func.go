// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strconv"
	"strings"
)

// function returns what a function returns of its arguments. A function that is not here uses
// its arguments whole.
func (f *usageFrame) function(name string, args []*abstract) *abstract {
	arg := func(i int) *abstract {
		if i < 0 {
			i += len(args)
		}
		if i < 0 || i >= len(args) {
			return nil
		}
		return args[i]
	}
	switch name {
	case "include":
		f.include(arg(0), arg(1))
		return nil
	case "tpl":
		f.tpl(arg(0), arg(1))
		return nil
	case "default", "coalesce", "and", "or", "ternary":
		return f.unionOf(args)
	case "required":
		return arg(-1)
	case "not", "empty", "kindIs", "kindOf", "typeOf", "typeIs", "typeIsLike":
		return nil
	case "len":
		f.elements(arg(0))
		return nil
	case "print", "printf":
		if text := printed(args, name == "printf"); text != nil {
			return text
		}
	}
	if v, ok := f.tableFunction(name, args, arg); ok {
		return v
	}
	if v, ok := f.listFunction(name, args, arg); ok {
		return v
	}
	for _, a := range args {
		f.use(a)
	}
	return nil
}

func (f *usageFrame) unionOf(args []*abstract) *abstract {
	var out *abstract
	for _, a := range args {
		out = f.union(out, a)
	}
	if slices.Contains(args, nil) {
		out = out.unlessText()
	}
	return out
}

// parts returns the parts of a text between separators, or nil if they are not known.
func parts(separator, text *abstract) []*abstract {
	sep, ok := separator.text()
	whole, known := text.text()
	if !ok || !known {
		return nil
	}
	var out []*abstract
	for part := range strings.SplitSeq(whole, sep) {
		out = append(out, &abstract{texts: []string{part}})
	}
	return out
}

// tpl follows a text. What the text is made of is used.
func (f *usageFrame) tpl(text, dot *abstract) {
	f.use(text)
	if text == nil {
		return
	}
	for _, t := range text.texts {
		f.tplText(f.def.src.chart, t, f.set, dot)
	}
}

func (f *usageFrame) tableFunction(name string, args []*abstract, arg func(int) *abstract) (*abstract, bool) {
	switch name {
	case "dict":
		t := f.newTable()
		for i := 0; i < len(args); i += 2 {
			f.setEntry(t, args[i], arg(i+1))
		}
		return t, true
	case "set":
		f.setEntry(arg(0), arg(1), arg(2))
		return arg(0), true
	case "get", "hasKey":
		return f.entry(arg(0), arg(1)), true
	case "index":
		v := arg(0)
		for i := 1; i < len(args); i++ {
			v = f.entry(v, args[i])
		}
		return v, true
	case "dig":
		v := arg(-1)
		for i := 0; i < len(args)-2; i++ {
			v = f.entry(v, args[i])
		}
		return f.union(v, arg(-2)), true
	case "pluck":
		var found *abstract
		for i := 1; i < len(args); i++ {
			found = f.union(found, f.entry(args[i], args[0]))
		}
		return &abstract{items: found}, true
	case "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite":
		for i := 1; i < len(args); i++ {
			f.merge(arg(0), args[i])
		}
		return f.unionOf(args), true
	case "deepCopy", "mustDeepCopy", "omit", "unset":
		return arg(0), true
	case "pick":
		return f.pick(args), true
	case "keys":
		f.elements(f.unionOf(args))
		return &abstract{items: keysOf(arg(0))}, true // of a list it is an error
	case "values":
		return &abstract{items: f.elements(arg(0))}, true
	}
	return nil, false
}

// setEntry stores v in table under the key that k may be.
func (f *usageFrame) setEntry(table, k, v *abstract) {
	if k == nil || len(k.texts) == 0 {
		f.use(k)
		f.store(table, "", false, v)
		return
	}
	for _, key := range k.texts {
		f.store(table, key, true, v)
	}
}

// pick returns a table with the named keys of the first argument.
func (f *usageFrame) pick(args []*abstract) *abstract {
	t := f.newTable()
	for _, k := range args[min(1, len(args)):] {
		if k == nil || len(k.texts) == 0 {
			return args[0]
		}
		for _, key := range k.texts {
			t.tables[0].entries[key] = f.key(args[0], key)
		}
	}
	return t
}

// newTable returns the table of a call of dict or pick.
func (u *usageFinder) newTable() *abstract {
	return &abstract{tables: []*abstractTable{{born: u.nextID(), entries: map[string]*abstract{}}}}
}

func (f *usageFrame) listFunction(name string, args []*abstract, arg func(int) *abstract) (*abstract, bool) {
	switch name {
	case "list", "tuple":
		t := f.newTable()
		t.tables[0].list = true
		for i, a := range args {
			t.tables[0].entries[strconv.Itoa(i)] = a
		}
		return t, true
	case "splitList":
		if texts := parts(arg(0), arg(1)); texts != nil {
			return f.function("list", texts), true
		}
	case "split":
		if texts := parts(arg(0), arg(1)); texts != nil {
			t := f.newTable()
			for i, a := range texts {
				t.tables[0].entries["_"+strconv.Itoa(i)] = a
			}
			return t, true
		}
	case "first", "mustFirst", "last", "mustLast":
		return f.elements(arg(0)), true
	case "append", "mustAppend", "push", "mustPush", "prepend", "mustPrepend":
		return &abstract{items: f.union(f.elements(arg(0)), arg(1))}, true
	case "concat":
		var items *abstract
		for _, a := range args {
			items = f.union(items, f.elements(a))
		}
		return &abstract{items: items}, true
	case "rest", "mustRest", "initial", "mustInitial", "reverse", "mustReverse", "uniq", "mustUniq",
		"compact", "mustCompact", "without", "mustWithout", "slice", "mustSlice":
		return &abstract{items: f.elements(arg(0))}, true
	case "sortAlpha":
		f.use(f.elements(arg(0)))
		return &abstract{items: f.elements(arg(0))}, true
	case "has", "mustHas":
		f.use(arg(0))
		f.use(f.elements(arg(1)))
		return nil, true
	}
	return nil, false
}
