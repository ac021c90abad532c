// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"fmt"
	"math"
	"strings"
	"time"

	rt "github.com/arnodel/golua/runtime"
)

// maxSeconds bounds times so that their year has six digits at most.
const maxSeconds = 30_000_000_000_000

// zone is the time zone of the environment.
func (m *module) zone() *time.Location {
	if name, ok := m.variable("TZ"); ok {
		if l, err := time.LoadLocation(strings.TrimPrefix(name, ":")); err == nil {
			return l
		}
	}
	return time.Local
}

func (c *call) date() error {
	format, err := c.maybeText(0, "%c")
	if err != nil {
		return err
	}
	at := time.Now()
	if !c.arg(1).IsNil() {
		n, err := c.integer(1)
		if err != nil {
			return err
		}
		if n > maxSeconds || n < -maxSeconds {
			return c.wrong(1, "time out of bounds")
		}
		at = time.Unix(n, 0)
	}
	c.spend(200)
	if utc, ok := strings.CutPrefix(format, "!"); ok {
		at, format = at.UTC(), utc
	} else {
		at = at.In(c.zone())
	}
	if strings.HasPrefix(format, "*t") {
		t := rt.NewTable()
		c.keep(1024)
		c.setDate(t, at)
		return c.give(rt.TableValue(t))
	}
	return c.format(format, at)
}

// setDate puts the fields of a time into t.
func (c *call) setDate(t *rt.Table, at time.Time) {
	for k, v := range map[string]int{
		"year": at.Year(), "month": int(at.Month()), "day": at.Day(),
		"hour": at.Hour(), "min": at.Minute(), "sec": at.Second(),
		"wday": int(at.Weekday()) + 1, "yday": at.YearDay(),
	} {
		c.t.SetTable(t, rt.StringValue(k), rt.IntValue(int64(v)))
	}
	c.t.SetTable(t, rt.StringValue("isdst"), rt.BoolValue(at.IsDST()))
}

func (c *call) epoch() error {
	if c.arg(0).IsNil() {
		return c.give(rt.IntValue(time.Now().Unix()))
	}
	t, err := c.loadedTable(0)
	if err != nil {
		return err
	}
	var fields [6]int
	for i, f := range []struct {
		name string
		def  int64 // -1: must be there
	}{{"year", -1}, {"month", -1}, {"day", -1}, {"hour", 12}, {"min", 0}, {"sec", 0}} {
		v, n := t.Get(rt.StringValue(f.name)), f.def
		if !v.IsNil() {
			var ok bool
			if n, ok = rt.ToInt(v); !ok {
				return c.fail("field '%s' is not an integer", f.name)
			}
			if n > math.MaxInt32 || n < math.MinInt32 || i == 0 && (n > 900_000 || n < -900_000) {
				return c.fail("field '%s' is out-of-bound", f.name)
			}
		} else if n < 0 {
			return c.fail("field '%s' missing in date table", f.name)
		}
		fields[i] = int(n)
	}
	at := time.Date(fields[0], time.Month(fields[1]), fields[2], fields[3], fields[4], fields[5], 0, c.zone())
	c.setDate(t, at)
	return c.give(rt.IntValue(at.Unix()))
}

// format writes a time as C's strftime does in the locale C.
func (c *call) format(format string, at time.Time) error {
	w := writer{call: c}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			w.put(format[i : i+1])
			continue
		}
		spec := format[i+1 : min(i+2, len(format))]
		if (spec == "E" || spec == "O") && i+2 < len(format) {
			// Other calendars and digits: there are none in the locale C.
			spec = format[i+1 : i+3]
		}
		text, ok := conversion(spec, at)
		if !ok {
			return c.wrong(0, "invalid conversion specifier '%%%s'", spec)
		}
		w.put(text)
		i += len(spec)
	}
	return w.giveWritten(nil)
}

// conversion is what stands for a conversion specifier.
func conversion(spec string, at time.Time) (string, bool) {
	if len(spec) == 2 {
		allowed := "cCxXyY"
		if spec[0] == 'O' {
			allowed = "deHImMSuUVwWy"
		}
		if strings.IndexByte(allowed, spec[1]) < 0 {
			return "", false
		}
		spec = spec[1:]
	}
	if layout, ok := map[string]string{
		"a": "Mon", "A": "Monday", "b": "Jan", "h": "Jan", "B": "January", "c": "Mon Jan _2 15:04:05 2006",
		"d": "02", "D": "01/02/06", "e": "_2", "F": "2006-01-02", "H": "15", "I": "03", "j": "002", "m": "01", "M": "04",
		"p": "PM", "r": "03:04:05 PM", "R": "15:04", "S": "05", "T": "15:04:05", "x": "01/02/06", "X": "15:04:05",
		"z": "-0700", "Z": "MST",
	}[spec]; ok {
		return at.Format(layout), true
	}
	isoYear, isoWeek := at.ISOWeek()
	weekday := int(at.Weekday())
	monday := (weekday + 6) % 7
	number := func(format string, n int) (string, bool) { return fmt.Sprintf(format, n), true }
	switch spec {
	case "C":
		return number("%02d", floorDiv(at.Year(), 100))
	case "g":
		return number("%02d", isoYear-100*floorDiv(isoYear, 100))
	case "G":
		return number("%d", isoYear)
	case "n":
		return "\n", true
	case "s":
		return number("%d", int(at.Unix()))
	case "t":
		return "\t", true
	case "u":
		return number("%d", monday+1)
	case "U":
		return number("%02d", (at.YearDay()+6-weekday)/7)
	case "V":
		return number("%02d", isoWeek)
	case "w":
		return number("%d", weekday)
	case "W":
		return number("%02d", (at.YearDay()+6-monday)/7)
	case "y":
		return number("%02d", at.Year()-100*floorDiv(at.Year(), 100))
	case "Y":
		return number("%d", at.Year())
	case "%":
		return "%", true
	}
	return "", false
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
