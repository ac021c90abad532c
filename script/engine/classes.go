// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
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
				return e.lacking(class, c.Arg(0), c.Arg(1))
			}),
			"__newindex": e.one(fieldName, 3, 3, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
				return rt.NilValue, e.addField(class, c.Arg(0), c.Arg(1), c.Arg(2))
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

// lacks returns what a node of a class gives for a field that it does not have.
func (n *node) lacks(k rt.Value) (rt.Value, error) {
	return n.request.e.lacking(n.class, rt.TableValue(n.shown()), k)
}

// lacking returns what an element gives for a field that it does not have.
func (e *engine) lacking(class string, item, k rt.Value) (rt.Value, error) {
	if class != "Object" {
		return rt.NilValue, e.unknownOf(class, item, k)
	}
	if name, _ := k.TryString(); name != "name" {
		return rt.NilValue, nil
	}
	metadata, err := e.field(item, "metadata")
	if err != nil {
		return rt.NilValue, err
	}
	return e.field(metadata, "name")
}

// field returns what stands under a name in a table, also one that shows a view; nil where v
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
func (e *engine) unknownOf(class string, item, k rt.Value) error {
	c, _ := scriptapi.ClassOf(class)
	name, isText := k.TryString()
	if _, known := c.Field(name); isText && known {
		return nil
	}
	path := c.Text
	if t, ok := item.TryTable(); ok && e.request != nil && e.request.tables[t] != nil {
		path = e.request.tables[t].path
	}
	return unknownField(path, k, c.Names())
}

// addField sets a field that an element does not have yet.
func (e *engine) addField(class string, item, k, v rt.Value) error {
	t, ok := item.TryTable()
	if !ok {
		return fmt.Errorf("table expected")
	}
	if class != "Object" {
		if err := e.unknownOf(class, item, k); err != nil {
			return err
		}
	} else if name, _ := k.TryString(); name == "name" {
		metadata, err := e.field(item, "metadata")
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
	return e.r.SetTableCheck(t, k, v)
}
