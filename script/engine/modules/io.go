// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"io"
	"os"
	"strings"

	rt "github.com/arnodel/golua/runtime"
)

func ioFunctions() []function {
	return []function{
		fn("io.open", "(path[, mode]) → file", "Opens a file for reading (r, the default), writing (w), appending (a), or "+
			"both (r+, w+, a+). What cannot be opened gives nil, a message and a number.", 2, takesText((*call).ioOpen)),
		fn("io.close", "([file]) → true", "Closes a file, or the default output.", 1, (*call).ioClose),
		variadic("io.lines", "([path[, format...]]) → iterator", "Goes through the lines of a file, or of the default "+
			"input, and closes the file at its end. Formats are those of file:read.", 1, (*call).ioLines),
		variadic("io.read", "([format...]) → value...", "Reads from the default input, which is empty unless io.input "+
			"sets it.", 0, func(c *call) error { return c.read(c.files.input, c.cont.Etc()) }),
		variadic("io.write", "(value...) → file", "Writes texts and numbers to the default output, which prints.", 0,
			func(c *call) error { return c.write(c.files.output, c.cont.Etc()) }),
		fn("io.input", "([file or path]) → file", "Sets the default input, and gives it.", 1,
			func(c *call) error { return c.standard(&c.files.input, "r") }),
		fn("io.output", "([file or path]) → file", "Sets the default output, and gives it.", 1,
			func(c *call) error { return c.standard(&c.files.output, "w") }),
		fn("io.type", "(value) → text", `"file", "closed file", or nil for what is not a file.`, 1, (*call).ioType),
		fn("io.tmpfile", "() → file", "Makes a file for reading and writing that is removed when it is closed.", 0,
			(*call).tmpfile),
		fn("io.popen", "(command[, mode]) → file", "Runs a command of the shell and reads (r, the default) what it prints, "+
			"or writes (w) what it reads. Closing the file gives what os.execute gives.", 2, takesText((*call).popen)),
		constant("io.stdin", "The standard input: it is empty.",
			func(m *module) rt.Value { return m.files.value(m.files.stdin) }),
		constant("io.stdout", "The standard output: lines written to it are shown as print shows them.",
			func(m *module) rt.Value { return m.files.value(m.files.stdout) }),
		constant("io.stderr", "The same as io.stdout.",
			func(m *module) rt.Value { return m.files.value(m.files.stderr) }),
	}
}

func fileMethods() []function {
	return []function{
		fn("file:close", "() → true", "Closes the file.", 1, takesFile((*call).closeFile)),
		fn("file:flush", "() → file", "Prints what was written to a standard stream without the end of its line. Other "+
			"files keep nothing back.", 1, takesFile(func(c *call, f *file) error {
			if err := f.flush(); err != nil {
				return c.giveError(err)
			}
			return c.give(c.arg(0))
		})),
		variadic("file:lines", "([format...]) → iterator", "Goes through the lines of the file, or what the formats read, "+
			"and leaves it open.", 1, takesFile(func(c *call, f *file) error {
			return c.give(c.iterator(f, c.cont.Etc(), false))
		})),
		variadic("file:read", "([format...]) → value...", `Reads by formats: "l" a line (the default), "L" a line with `+
			`its end, "n" a number, "a" all that is left, or that many bytes. Nothing left gives nil.`, 1,
			takesFile(func(c *call, f *file) error { return c.read(f, c.cont.Etc()) })),
		fn("file:seek", "([whence[, offset]]) → number", `Moves to an offset from the start ("set"), from here ("cur", the `+
			`default) or from the end ("end"), and gives the place.`, 3, takesFile((*call).seek)),
		fn("file:setvbuf", "(mode[, size]) → true", "Does nothing: writing is not buffered.", 3,
			takesFile(func(c *call, _ *file) error { return c.giveOutcome(nil) })),
		variadic("file:write", "(value...) → file", "Writes texts and numbers.", 1,
			takesFile(func(c *call, f *file) error { return c.write(f, c.cont.Etc()) })),
	}
}

// takesFile returns a method of an open file.
func takesFile(do func(*call, *file) error) func(*call) error {
	return func(c *call) error {
		if _, ok := fileOf(c.arg(0)); !ok {
			_, method, _ := strings.Cut(c.name, ":")
			return c.fail("%s is not a file; methods are called with a colon, as in f:%s()", c.arg(0).CustomTypeName(), method)
		}
		f, err := c.file(0)
		if err != nil {
			return err
		}
		return do(c, f)
	}
}

// file returns an argument that is an open file.
func (c *call) file(i int) (*file, error) {
	f, ok := fileOf(c.arg(i))
	switch {
	case !ok:
		return nil, c.expected(i, "file")
	case f.closed:
		return nil, c.fail("%w", errClosed)
	}
	return f, nil
}

func (c *call) ioOpen(name string) error {
	mode, err := c.maybeText(1, "r")
	if err != nil {
		return err
	}
	if _, ok := openFlags(mode); !ok {
		return c.wrong(1, "invalid mode")
	}
	f, err := c.openFile(name, mode)
	if err != nil {
		return c.giveError(err)
	}
	return c.give(c.files.value(f))
}

func (c *call) ioClose() error {
	if c.arg(0).IsNil() {
		return c.closeFile(c.files.output)
	}
	f, err := c.file(0)
	if err != nil {
		return err
	}
	return c.closeFile(f)
}

func (c *call) ioType() error {
	switch f, ok := fileOf(c.arg(0)); {
	case !ok:
		return c.give(rt.NilValue)
	case f.closed:
		return c.give(rt.StringValue("closed file"))
	}
	return c.give(rt.StringValue("file"))
}

func (c *call) closeFile(f *file) error {
	if f.closed {
		return c.fail("%w", errClosed)
	}
	if f.std {
		return c.fail("%s cannot be closed", f.name)
	}
	return c.shut(f)
}

func (c *call) ioLines() error {
	if c.arg(0).IsNil() {
		return c.give(c.iterator(c.files.input, c.cont.Etc(), false))
	}
	name, err := c.text(0)
	if err != nil {
		return err
	}
	f, err := c.openFile(name, "r")
	if err != nil {
		return c.fail("%w", err)
	}
	// The fourth value is closed when the loop ends early.
	return c.give(c.iterator(f, c.cont.Etc(), true), rt.NilValue, rt.NilValue, c.files.value(f))
}

// iterator returns the function that a loop calls for the next line.
func (c *call) iterator(f *file, formats []rt.Value, closes bool) rt.Value {
	c.keep(256 + 16*uint64(len(formats)))
	formats = append([]rt.Value(nil), formats...)
	return c.goFunction(fn("io.lines", "", "", 0, func(c *call) error {
		if f.closed {
			return c.fail("%w", errClosed)
		}
		if err := c.read(f, formats); err != nil {
			return err
		}
		if !c.results[0].IsNil() {
			return nil
		}
		if len(c.results) > 1 && c.results[1].Type() == rt.StringType {
			return c.fail("%s", c.results[1].AsString())
		}
		if closes {
			c.results = nil
			if err := c.shut(f); err != nil {
				return err
			}
		}
		c.results = []rt.Value{rt.NilValue}
		return nil
	}))
}

// standard is io.input and io.output.
func (c *call) standard(std **file, mode string) error {
	switch name, isName := c.arg(0).TryString(); {
	case isName:
		f, err := c.openFile(name, mode)
		if err != nil {
			return c.fail("%w", err)
		}
		*std = f
	case !c.arg(0).IsNil():
		f, err := c.file(0)
		if err != nil {
			return err
		}
		*std = f
	}
	return c.give(c.files.value(*std))
}

func (c *call) tmpfile() error {
	c.spend(1000)
	f, err := os.CreateTemp("", "lua_")
	if err != nil {
		return c.giveError(err)
	}
	// If an open file can be removed, nothing is left when the process is killed.
	left := os.Remove(f.Name()) != nil
	return c.give(c.files.value(c.add(&file{name: f.Name(), file: f, reader: newReader(f), writer: f, remove: left})))
}

// write writes texts and numbers.
func (c *call) write(f *file, values []rt.Value) error {
	if f.closed {
		return c.fail("%w", errClosed)
	}
	if f.writer == nil {
		return c.giveError(errors.New(f.name + ": the file is not open for writing"))
	}
	if err := f.dropRead(); err != nil {
		return c.giveError(err)
	}
	for i, v := range values {
		if t := v.Type(); t != rt.StringType && t != rt.IntType && t != rt.FloatType {
			return c.wrong(i+1-c.receiver(), "text or number expected, got %s", v.CustomTypeName())
		}
		s, _ := v.ToString()
		c.spend(200 + uint64(len(s))/8)
		c.borrow(uint64(len(s)))
		if _, err := io.WriteString(f.writer, s); err != nil {
			return c.giveError(err)
		}
	}
	return c.give(c.files.value(f))
}

// receiver returns 1 for a function that is not a method.
func (c *call) receiver() int {
	if strings.HasPrefix(c.name, "io.") {
		return 1
	}
	return 0
}

func (c *call) seek(f *file) error {
	whence, err := c.maybeText(1, "cur")
	if err != nil {
		return err
	}
	offset, err := c.maybeInteger(2, 0)
	if err != nil {
		return err
	}
	from, ok := map[string]int{"set": io.SeekStart, "cur": io.SeekCurrent, "end": io.SeekEnd}[whence]
	if !ok {
		return c.wrong(1, "set, cur or end expected")
	}
	c.spend(200)
	if f.file == nil {
		return c.giveError(errors.New(f.name + ": there is no place to seek"))
	}
	if err := f.dropRead(); err != nil {
		return c.giveError(err)
	}
	at, err := f.file.Seek(offset, from)
	if err != nil {
		return c.giveError(err)
	}
	return c.give(rt.IntValue(at))
}
