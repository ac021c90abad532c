// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/script/wire"
)

// makeClasses makes the metatables of the elements of contexts' lists. They are maps, and say
// what fields there can be; an object's name is that in its metadata.
func (e *engine) makeClasses() {
	e.classes = map[string]*rt.Table{}
	for _, class := range []string{"File", "Template", "Dependency", "Object"} {
		meta := e.metatable(map[string]rt.Value{
			"__index": e.one(fieldName, 2, 2, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
				item, err := c.TableArg(0)
				if err != nil {
					return rt.NilValue, err
				}
				get := func(k rt.Value) (rt.Value, error) { return item.Get(k), nil }
				return e.lacking(class, e.pathOf(item), c.Arg(1), get)
			}),
			"__newindex": e.one(fieldName, 3, 3, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
				item, err := c.TableArg(0)
				if err != nil {
					return rt.NilValue, err
				}
				return rt.NilValue, e.addField(class, item, c.Arg(1), c.Arg(2))
			}),
		})
		e.bridge.MapsOf(meta)
		e.classes[class] = meta
	}
}

// classify has the elements of a list of a context know their class.
func (n *node) classify(list []any) error {
	if n.items == "" {
		return nil
	}
	for i, v := range list {
		ref, ok := v.(wire.Ref)
		if !ok {
			continue
		}
		item, err := n.request.node(ref)
		if err != nil {
			return err
		}
		if item.class == "" && !item.loaded {
			item.class, item.path = n.items, n.path+"["+strconv.Itoa(i+1)+"]"
		}
	}
	return nil
}

// lacking returns what a map of a class gives for a field that it does not have: for an
// object's name that in its metadata. get reads its fields; path is what it is called in
// errors, "" for the class.
func (e *engine) lacking(class, path string, k rt.Value, get func(rt.Value) (rt.Value, error)) (rt.Value, error) {
	if name, _ := k.TryString(); class != "Object" || name != "name" {
		return rt.NilValue, unknownOf(class, path, k)
	}
	metadata, err := get(rt.StringValue("metadata"))
	if err != nil {
		return rt.NilValue, err
	}
	return e.field(metadata, "name")
}

// field returns the value of a name in a table, also one that shows a view; nil where v
// is not a table.
func (e *engine) field(v rt.Value, name string) (rt.Value, error) {
	k := rt.StringValue(name)
	if shown, ok := e.viewOf(v); ok {
		return shown.get(k)
	}
	t, ok := v.TryTable()
	if !ok {
		return rt.NilValue, nil
	}
	return t.Get(k), nil
}

// unknownOf returns an error for a field that a class does not have.
func unknownOf(class, path string, k rt.Value) error {
	c, ok := scriptapi.ClassOf(class)
	name, isText := k.TryString()
	if _, known := c.Field(name); !ok || c.Open || isText && known {
		return nil
	}
	return unknownField(cmp.Or(path, c.Text), k, c.Names())
}

// pathOf returns what an element is called in errors, "" for one that a script has made.
func (e *engine) pathOf(item *rt.Table) string {
	if e.request == nil || e.request.tables[item] == nil {
		return ""
	}
	return e.request.tables[item].path
}

// addField sets a field that an element does not have yet.
func (e *engine) addField(class string, item *rt.Table, k, v rt.Value) error {
	if err := unknownOf(class, e.pathOf(item), k); err != nil {
		return err
	}
	if name, _ := k.TryString(); class == "Object" && name == "name" {
		metadata, err := e.field(rt.TableValue(item), "metadata")
		if err != nil {
			return err
		}
		if in, ok := metadata.TryTable(); ok {
			if _, err := e.load(in); err != nil {
				return err
			}
			return e.r.SetTableCheck(in, k, v)
		}
	}
	return e.r.SetTableCheck(item, k, v)
}
