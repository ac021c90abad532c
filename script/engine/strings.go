// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// hardenStrings replaces functions of golua's string library that are wrong or do not charge
// what they use.
func (e *engine) hardenStrings(l *library) {
	s := l.tables["string"]
	delete(s, "dump")
	s["rep"] = e.one("rep", 0, 3, repeat)
	s["format"] = e.value("format", 1, true, e.format(s["format"]))
	s["find"] = e.value("find", 4, false, search(s["find"], true))
	s["match"] = e.value("match", 3, false, search(s["match"], false))
	s["gsub"] = e.value("gsub", 4, false, gsub)
	s["lower"] = e.one("lower", 0, 1, mapASCII('A', 'Z'))
	s["upper"] = e.one("upper", 0, 1, mapASCII('a', 'z'))
}

// textArg returns an argument that is a string or a number.
func textArg(c *rt.GoCont, n int) (string, error) {
	if s, ok := arg(c, n).ToString(); ok {
		return s, nil
	}
	return "", fmt.Errorf("bad argument #%d (string expected)", n+1)
}

// makeText charges for a string before it is made.
func makeText(t *rt.Thread, n int) {
	t.RequireBytes(n)
	t.RequireCPU(uint64(n / 16))
}

// repeat is string.rep. A result that exceeds any limit is charged before it is made.
func repeat(t *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	s, err := textArg(c, 0)
	if err != nil {
		return rt.NilValue, err
	}
	if c.NArgs() < 2 {
		return rt.NilValue, errors.New("bad argument #2 (number expected)")
	}
	n, err := c.IntArg(1)
	if err != nil {
		return rt.NilValue, err
	}
	sep := ""
	if !arg(c, 2).IsNil() {
		if sep, err = textArg(c, 2); err != nil {
			return rt.NilValue, err
		}
	}
	if n <= 0 || len(s)+len(sep) == 0 {
		return rt.StringValue(""), nil
	}
	const most = min(1<<40, math.MaxInt)
	if n > most/int64(len(s)+len(sep)) {
		t.RequireMem(most)
		return rt.NilValue, errors.New("resulting string too large")
	}
	makeText(t, int(n)*(len(s)+len(sep)))
	out := strings.Repeat(s+sep, int(n))
	return rt.StringValue(out[:len(out)-len(sep)]), nil
}

// mapASCII returns string.upper or string.lower for ASCII.
func mapASCII(from, to byte) oneFunc {
	return func(t *rt.Thread, c *rt.GoCont) (rt.Value, error) {
		s, err := textArg(c, 0)
		if err != nil {
			return rt.NilValue, err
		}
		makeText(t, len(s))
		out := []byte(s)
		for i, b := range out {
			if from <= b && b <= to {
				out[i] = b ^ 0x20
			}
		}
		return rt.StringValue(string(out)), nil
	}
}

// search is string.find, or string.match, of golua. Its find returns wrong offsets for plain
// text with a start, and both fail for a start that is nil; match also for one after the end.
func search(golua rt.Value, canBePlain bool) goFunc {
	f, _ := golua.TryCallable()
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		s, err := textArg(c, 0)
		if err != nil {
			return nil, err
		}
		what, err := textArg(c, 1)
		if err != nil {
			return nil, err
		}
		from := int64(1)
		if !arg(c, 2).IsNil() {
			if from, err = c.IntArg(2); err != nil {
				return nil, err
			}
		}
		if from < 0 {
			from += int64(len(s)) + 1
		}
		from = max(from, 1)
		switch {
		case from > int64(len(s))+1:
			return c.PushingNext1(t.Runtime, rt.NilValue), nil
		case canBePlain && (rt.Truth(arg(c, 3)) || !strings.ContainsAny(what, "^$*+?.([%-")):
			return findPlain(t, c, s, what, from), nil
		}
		return callInstead(t, c, f, []rt.Value{rt.StringValue(s), rt.StringValue(what), rt.IntValue(from)}), nil
	}
}

// findPlain returns where a text is in another, at from or after it.
func findPlain(t *rt.Thread, c *rt.GoCont, s, what string, from int64) rt.Cont {
	t.RequireCPU(uint64(len(s)+len(what)) / 16)
	at := strings.Index(s[from-1:], what)
	if at < 0 {
		return c.PushingNext1(t.Runtime, rt.NilValue)
	}
	first := from + int64(at)
	return c.PushingNext(t.Runtime, rt.IntValue(first), rt.IntValue(first+int64(len(what))-1))
}

// format is golua's string.format with all directives and arguments checked.
func (e *engine) format(format rt.Value) goFunc {
	f, _ := format.TryCallable()
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		text, err := textArg(c, 0)
		if err != nil {
			return nil, err
		}
		t.RequireCPU(uint64(len(text)))
		t.RequireBytes(len(text))
		args := slices.Clone(c.Etc())
		checked, err := e.checkFormat(t, text, args)
		if err != nil {
			return nil, err
		}
		return callInstead(t, c, f, append([]rt.Value{rt.StringValue(checked)}, args...)), nil
	}
}

// checkFormat checks a format against its arguments and returns it as golua understands it.
// Arguments of %s become strings.
func (e *engine) checkFormat(t *rt.Thread, format string, args []rt.Value) (string, error) {
	var b strings.Builder
	used := 0
	for i := 0; i < len(format); i++ {
		b.WriteByte(format[i])
		if format[i] != '%' {
			continue
		}
		start := i + 1
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0; i++ {
		}
		if i == len(format) || i-start > 8 {
			return "", fmt.Errorf("invalid conversion '%%%s' to 'format'", truncate.Bytes(format[start:], 10, "…"))
		}
		flags, verb := format[start:i], format[i]
		if verb == '%' {
			if flags != "" {
				return "", errors.New("invalid conversion '%" + flags + "%' to 'format'")
			}
			b.WriteByte('%')
			continue
		}
		if strings.IndexByte("aAcdeEfFgGiouxXqs", verb) < 0 {
			return "", fmt.Errorf("invalid conversion '%%%s%c' to 'format'", flags, verb)
		}
		if used >= len(args) {
			return "", fmt.Errorf("bad argument #%d to 'format' (no value)", used+2)
		}
		if verb != 's' && verb != 'q' && tooLong(args[used]) {
			return "", fmt.Errorf("bad argument #%d to 'format' (number expected, got string)", used+2)
		}
		if verb == 's' {
			s, err := e.text(t, args[used])
			if err != nil {
				return "", err
			}
			args[used] = rt.StringValue(s)
		}
		used++
		b.WriteString(flags)
		if (verb == 'g' || verb == 'G') && !strings.Contains(flags, ".") {
			b.WriteString(".6") // as in C
		}
		b.WriteByte(verb)
	}
	return b.String(), nil
}
