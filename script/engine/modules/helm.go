// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
)

func helmFunctions() []function {
	return []function{
		fn("helm.has", "(name) → boolean", "Reports whether scripts have a function or a field of that name here: "+
			"`helm.has(\"http.get\")`, `helm.has(\"ctx.dryRun\")`. Reading one that is not there is an error.", 1,
			takesText((*call).has)),
		constant("helm.null", "The null of YAML and JSON. It is a value of its own, not nil: it keeps its place in a "+
			"table, and is true in a condition.", func(m *module) rt.Value { return m.Null }),
		fn("helm.list", "([table]) → table", "Marks a table as a list and returns it, so that it is written as a list "+
			"even where it is empty.", 1, func(c *call) error { return c.mark(true) }),
		fn("helm.map", "([table]) → table", "Marks a table as a map and returns it. Its numbered keys are then text in "+
			"what is written.", 1, func(c *call) error { return c.mark(false) }),
		fn("helm.fail", "(message)", "Stops the operation with this message, unless pcall catches it.", 1,
			takesText(func(c *call, message string) error {
				if p := c.o.Program; p != nil {
					p.Fail(message)
				}
				return errors.New(message)
			})),
	}
}

// has is helm.has.
func (c *call) has(name string) error {
	c.spend(uint64(len(name)))
	parts := strings.Split(name, ".")
	if parts[0] == "ctx" {
		return c.give(rt.BoolValue(scriptapi.HasField(parts[1:])))
	}
	v := rt.TableValue(c.env)
	for _, part := range parts {
		t, ok := v.TryTable()
		if !ok {
			v = rt.NilValue
			break
		}
		v = t.Get(rt.StringValue(part))
	}
	return c.give(rt.BoolValue(!v.IsNil()))
}

// mark is helm.list and helm.map.
func (c *call) mark(list bool) error {
	if c.cont.NArgs() == 0 {
		c.keep(64)
		return c.give(rt.TableValue(c.marked(rt.NewTable(), list)))
	}
	t, err := c.loadedTable(0)
	if err != nil {
		return err
	}
	is, known := c.IsList(t)
	switch {
	case known && is != list:
		return c.wrong(0, "the table is a %s already; copy it into a new one", kindName(is))
	case !known && t.Metatable() != nil:
		return c.wrong(0, "the table has a metatable of its own")
	case !known:
		c.marked(t, list)
	}
	return c.give(rt.TableValue(t))
}

func (c *call) marked(t *rt.Table, list bool) *rt.Table {
	if list {
		return c.List(t)
	}
	return c.Map(t)
}

func kindName(list bool) string {
	if list {
		return "list"
	}
	return "map"
}
