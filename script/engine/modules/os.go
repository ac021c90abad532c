// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"os"
	"time"

	rt "github.com/arnodel/golua/runtime"
)

func (m *module) osFunctions() []function {
	fn := func(name, args, text string, n int, do func(*call) error) function {
		return function{
			Function: Function{Name: "os." + name, Signature: "os." + name + args, Text: text, Permission: OS},
			args:     n, do: do,
		}
	}
	return []function{
		fn("clock", "() → number", "Seconds since the chart's scripts were loaded.", 0, func(c *call) error {
			c.give(rt.FloatValue(time.Since(c.started).Seconds()))
			return nil
		}),
		fn("date", "([format[, time]]) → text or table",
			`Writes a time by a format of C's strftime, "%c" where it is left out; "*t" gives a table, and "!" in front takes UTC.`, 2, (*call).date),
		fn("difftime", "(later, earlier) → number", "Seconds between two times.", 2, func(c *call) error {
			a, ok := rt.ToFloat(c.arg(0))
			if !ok {
				return c.expected(0, "number")
			}
			b, ok := rt.ToFloat(c.arg(1))
			if !ok {
				return c.expected(1, "number")
			}
			c.give(rt.FloatValue(a - b))
			return nil
		}),
		fn("execute", "([command]) → true or nil, text, number",
			`Runs a command of the shell and prints what it prints. Gives true or nil, "exit" or "signal", and the number of either; without a command, whether there is a shell.`, 1, (*call).execute),
		fn("exit", "()", "Is always an error: a script cannot end helm. helm.fail stops the operation.", 1,
			func(c *call) error {
				if c.o.Program == nil {
					return c.fail("scripts cannot end helm; helm.fail stops the operation")
				}
				return c.exit()
			}),
		fn("getenv", "(name) → text", "A variable of the environment that helm was started in, or nil.", 1,
			func(c *call) error {
				name, err := c.text(0)
				if err != nil {
					return err
				}
				v, ok := c.variable(name)
				if !ok {
					c.give(rt.NilValue)
					return nil
				}
				c.giveText(v)
				return nil
			}),
		fn("remove", "(path) → true", "Removes a file or an empty directory.", 1, func(c *call) error {
			path, err := c.text(0)
			if err != nil {
				return err
			}
			c.spend(1000)
			return c.giveOutcome(os.Remove(path))
		}),
		fn("rename", "(from, to) → true", "Renames a file or a directory.", 2, func(c *call) error {
			from, err := c.text(0)
			if err != nil {
				return err
			}
			to, err := c.text(1)
			if err != nil {
				return err
			}
			c.spend(1000)
			return c.giveOutcome(os.Rename(from, to))
		}),
		fn("setlocale", "([locale]) → text", `Knows the locale "C" only: asked for it or for nothing it gives "C", else nil.`,
			2, func(c *call) error {
				locale, err := c.maybeText(0, "C")
				if err != nil {
					return err
				}
				if locale != "C" && locale != "" && locale != "POSIX" {
					c.give(rt.NilValue)
					return nil
				}
				c.give(rt.StringValue("C"))
				return nil
			}),
		fn("time", "([table]) → number", "Now, or the time that a table with year, month, day, hour, min and sec says, in "+
			"seconds since 1970. Fields that are out of range are put right in the table.", 1, (*call).epoch),
		fn("tmpname", "() → text", "Makes an empty file in the directory for temporary files and gives its path.", 0,
			func(c *call) error {
				c.spend(1000)
				f, err := os.CreateTemp("", "lua_")
				if err != nil {
					return c.giveError(err)
				}
				c.giveText(f.Name())
				return f.Close()
			}),
	}
}

func (c *call) giveOutcome(err error) error {
	if err != nil {
		return c.giveError(err)
	}
	c.give(rt.BoolValue(true))
	return nil
}
