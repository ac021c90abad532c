// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"os"
	"time"

	rt "github.com/arnodel/golua/runtime"
)

func osFunctions() []function {
	return []function{
		fn("os.clock", "() → number", "Seconds since the chart's scripts were loaded.", 0, func(c *call) error {
			return c.give(rt.FloatValue(time.Since(c.started).Seconds()))
		}),
		fn("os.date", "([format[, time]]) → text or table", `Writes a time by a format of C's strftime, "%c" where it is `+
			`left out; "*t" gives a table, and "!" in front takes UTC.`, 2, (*call).date),
		fn("os.difftime", "(later, earlier) → number", "Seconds between two times.", 2, (*call).difference),
		fn("os.execute", "([command]) → true or nil, text, number", "Runs a command of the shell and prints what it "+
			`prints. Gives true or nil, "exit" or "signal", and the number of either; without a command, whether there `+
			"is a shell.", 1, (*call).execute),
		fn("os.exit", "()", "Is always an error: a script cannot end helm. helm.fail stops the operation.", 1,
			(*call).exit),
		fn("os.getenv", "(name) → text", "A variable of the environment that helm was started in, or nil.", 1,
			takesText(func(c *call, name string) error {
				if v, ok := c.variable(name); ok {
					return c.giveText(v)
				}
				return c.give(rt.NilValue)
			})),
		fn("os.remove", "(path) → true", "Removes a file or an empty directory.", 1,
			takesText(func(c *call, path string) error {
				c.spend(1000)
				return c.giveOutcome(os.Remove(path))
			})),
		fn("os.rename", "(from, to) → true", "Renames a file or a directory.", 2,
			takesText(func(c *call, from string) error {
				to, err := c.text(1)
				if err != nil {
					return err
				}
				c.spend(1000)
				return c.giveOutcome(os.Rename(from, to))
			})),
		fn("os.setlocale", "([locale]) → text", `Knows the locale "C" only: asked for it or for nothing it gives "C", `+
			"else nil.", 2, (*call).setLocale),
		fn("os.time", "([table]) → number", "Now, or the time that a table with year, month, day, hour, min and sec says, "+
			"in seconds since 1970. Fields that are out of range are put right in the table.", 1, (*call).epoch),
		fn("os.tmpname", "() → text", "Makes an empty file in the directory for temporary files and gives its path.", 0,
			(*call).tmpname),
	}
}

func (c *call) difference() error {
	var times [2]float64
	for i := range times {
		var ok bool
		if times[i], ok = rt.ToFloat(c.arg(i)); !ok {
			return c.expected(i, "number")
		}
	}
	return c.give(rt.FloatValue(times[0] - times[1]))
}

func (c *call) setLocale() error {
	locale, err := c.maybeText(0, "C")
	if err != nil {
		return err
	}
	if locale == "C" || locale == "" || locale == "POSIX" {
		return c.give(rt.StringValue("C"))
	}
	return c.give(rt.NilValue)
}

func (c *call) tmpname() error {
	c.spend(1000)
	f, err := os.CreateTemp("", "lua_")
	if err != nil {
		return c.giveError(err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	return c.giveText(f.Name())
}

// giveOutcome returns true to the script, or what giveError does.
func (c *call) giveOutcome(err error) error {
	if err != nil {
		return c.giveError(err)
	}
	return c.give(rt.BoolValue(true))
}
