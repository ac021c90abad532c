// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"fmt"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// call is one call of a function: its arguments, its results and its budget.
type call struct {
	*module
	t        *rt.Thread
	cont     *rt.GoCont
	name     string
	self     int // arguments in front that scripts do not count
	results  []rt.Value
	borrowed uint64
}

// Budget. CPU is spent and memory is kept for good; borrowed memory is released when the call
// ends. Each ends the script if the budget is exhausted.

func (c *call) spend(cpu uint64)  { c.t.RequireCPU(cpu) }
func (c *call) keep(mem uint64)   { c.t.RequireMem(mem) }
func (c *call) borrow(mem uint64) { c.t.RequireMem(mem); c.borrowed += mem }

// Results. A function ends with one of the methods give: they return the error that the
// function returns, nil if there are results.

func (c *call) give(vs ...rt.Value) error {
	c.results = append(c.results, vs...)
	return nil
}

// giveText returns a new string to the script.
func (c *call) giveText(s string) error {
	c.keep(uint64(len(s)))
	return c.give(rt.StringValue(s))
}

// giveData returns a Go value to the script.
func (c *call) giveData(v any) error {
	lua, err := c.FromGo(v)
	if err != nil {
		return c.fail("%w", err)
	}
	return c.give(lua)
}

// fail returns an error of the function that is not about an argument.
func (c *call) fail(format string, args ...any) error {
	return errors.New(c.name + ": " + clip(fmt.Errorf(format, args...).Error()))
}

// clip shortens a text from outside so that an error stays readable.
func clip(s string) string { return truncate.Bytes(s, 600, "…") }

// short shortens what an error quotes.
func short(s string) string { return truncate.Bytes(s, 80, "…") }

// Arguments, counted from 0; scripts count them from 1.

// arg returns argument i, nil if there is none.
func (c *call) arg(i int) rt.Value {
	if i += c.self; i < c.cont.NArgs() {
		return c.cont.Arg(i)
	}
	return rt.NilValue
}

// wrong returns an error about argument i.
func (c *call) wrong(i int, format string, args ...any) error {
	if strings.Contains(c.name, ":") {
		i-- // the object itself
	}
	return fmt.Errorf("bad argument #%d to '%s' (%s)", i+1, c.name, fmt.Sprintf(format, args...))
}

func (c *call) expected(i int, what string) error {
	got := c.arg(i).CustomTypeName()
	if c.arg(i).IsNil() {
		got = "nothing"
	}
	return c.wrong(i, "%s expected, got %s", what, got)
}

func (c *call) text(i int) (string, error) {
	s, ok := c.arg(i).TryString()
	if !ok {
		return "", c.expected(i, "text")
	}
	return s, nil
}

// takesText returns a function whose first argument is a text.
func takesText(do func(c *call, text string) error) func(*call) error {
	return func(c *call) error {
		text, err := c.text(0)
		if err != nil {
			return err
		}
		return do(c, text)
	}
}

// maybeText returns an argument that may be left out; def is its default.
func (c *call) maybeText(i int, def string) (string, error) {
	if c.arg(i).IsNil() {
		return def, nil
	}
	return c.text(i)
}

// integer accepts a float without a fraction too, as Lua does.
func (c *call) integer(i int) (int64, error) {
	n, ok := rt.ToIntNoString(c.arg(i))
	if !ok {
		return 0, c.expected(i, "whole number")
	}
	return n, nil
}

func (c *call) maybeInteger(i int, def int64) (int64, error) {
	if c.arg(i).IsNil() {
		return def, nil
	}
	return c.integer(i)
}

func (c *call) table(i int) (*rt.Table, error) {
	t, ok := c.arg(i).TryTable()
	if !ok {
		return nil, c.expected(i, "table")
	}
	return t, nil
}

// loadedTable is table for one whose content is then read.
func (c *call) loadedTable(i int) (*rt.Table, error) {
	t, err := c.table(i)
	if err == nil && c.Load != nil {
		if _, err := c.Load(t); err != nil {
			return nil, c.fail("%w", err)
		}
	}
	return t, err
}

// data returns an argument of any type as Go values, lent for the call.
func (c *call) data(i int) (any, error) {
	v, charged, err := c.Lend(c.arg(i))
	c.borrowed += charged
	if err != nil {
		return nil, c.wrong(i, "%s", clip(err.Error()))
	}
	return v, nil
}
