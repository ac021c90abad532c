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
		meta := rt.NewTable()
		e.r.SetEnv(meta, "__metatable", rt.BoolValue(false))
		e.r.SetEnv(meta, "__index", e.one(fieldName, 2, 2, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
			return e.lacking(class, c.Arg(0), c.Arg(1))
		}))
		e.r.SetEnv(meta, "__newindex", e.one(fieldName, 3, 3, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
			return rt.NilValue, e.addField(class, c.Arg(0), c.Arg(1), c.Arg(2))
		}))
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
	metadata, err := e.metadata(item)
	if err != nil || metadata == nil {
		return rt.NilValue, err
	}
	return metadata.Get(rt.StringValue("name")), nil
}

// metadata returns the metadata of an object, nil where it has none.
func (e *engine) metadata(object rt.Value) (*rt.Table, error) {
	v := rt.NilValue
	if shown, ok := e.viewOf(object); ok {
		var err error
		if v, err = shown.get(rt.StringValue("metadata")); err != nil {
			return nil, err
		}
	} else if t, ok := object.TryTable(); ok {
		v = t.Get(rt.StringValue("metadata"))
	}
	t, ok := v.TryTable()
	if !ok {
		return nil, nil
	}
	_, err := e.load(t)
	return t, err
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
		if metadata, err := e.metadata(item); err != nil || metadata != nil {
			if err == nil {
				err = e.r.SetTableCheck(metadata, k, v)
			}
			return err
		}
	}
	return e.r.SetTableCheck(t, k, v)
}
