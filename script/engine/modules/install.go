// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
)

// goFunction returns f as a function of a script. Waiting for a file, a command or an answer
// is not charged: the host's deadline limits it.
func (m *module) goFunction(f function) rt.Value {
	return bridge.Function(f.name, f.args, f.etc, func(t *rt.Thread, cont *rt.GoCont) (rt.Cont, error) {
		c := &call{module: m, t: t, cont: cont, name: f.name}
		err := f.do(c)
		t.ReleaseMem(c.borrowed)
		if err != nil {
			return nil, err
		}
		return cont.PushingNext(t.Runtime, c.results...), nil
	})
}

// place adds f under its name. "sha256" and "sha256.sum" share a table that can be called;
// methods such as "file:read" are for the files' metatable.
func (m *module) place(env *rt.Table, f function) {
	if _, method, ok := strings.Cut(f.name, ":"); ok {
		m.files.methods.Set(rt.StringValue(method), m.goFunction(f))
		return
	}
	table, name, ok := strings.Cut(f.name, ".")
	in, made := env.Get(rt.StringValue(table)).TryTable()
	if !made {
		in = rt.NewTable()
		m.Runtime.SetTable(env, rt.StringValue(table), rt.TableValue(in))
	}
	switch {
	case f.value != nil:
		m.Runtime.SetTable(in, rt.StringValue(name), f.value(m))
	case ok:
		m.Runtime.SetTable(in, rt.StringValue(name), m.goFunction(f))
	default:
		f.args++ // the table itself
		inner := f.do
		f.do = func(c *call) error { c.self = 1; return inner(c) }
		meta := rt.NewTable()
		meta.Set(rt.StringValue("__call"), m.goFunction(f))
		meta.Set(rt.StringValue("__metatable"), rt.BoolValue(false))
		in.SetMetatable(meta)
	}
}
