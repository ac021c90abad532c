// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	rt "github.com/arnodel/golua/runtime"
)

// readBuffer is the size of a file's read buffer.
const readBuffer = 4096

// files are the files that a chart's scripts have open.
type files struct {
	methods, meta *rt.Table
	open          map[*file]bool

	stdin, stdout, stderr *file
	input, output         *file // what io.read and io.write use
}

// file is a file of a script. Reading is buffered; writing is not, so that nothing is lost
// when the process ends.
type file struct {
	name   string
	reader *bufio.Reader // nil: not for reading
	writer io.Writer     // nil: not for writing

	file    *os.File      // nil for standard streams and commands
	command *pipedCommand // nil for others

	closed bool
	std    bool
	remove bool // once it is closed
}

var errClosed = errors.New("attempt to use a closed file")

func (fs *files) init(m *module) {
	fs.methods, fs.meta = rt.NewTable(), rt.NewTable()
	fs.open = map[*file]bool{}
	fs.stdin = &file{name: "stdin", reader: bufio.NewReader(strings.NewReader("")), std: true}
	fs.stdout = &file{name: "stdout", writer: &lines{print: m.o.Print}, std: true}
	fs.stderr = &file{name: "stderr", writer: &lines{print: m.o.Print}, std: true}
	if p := m.o.Program; p != nil {
		fs.stdin.reader = newReader(inputReader{p})
		fs.stdout.writer, fs.stderr.writer = p.Out, p.Err
	}
	fs.input, fs.output = fs.stdin, fs.stdout

	text := m.goFunction(fn("tostring", "", "", 1, func(c *call) error {
		f, ok := fileOf(c.arg(0))
		if !ok {
			return c.expected(0, "file")
		}
		return c.giveText(f.String())
	}))
	closing := m.goFunction(fn("file:close", "", "", 1, func(c *call) error {
		if f, ok := fileOf(c.arg(0)); ok && !f.closed && !f.std {
			_ = c.shut(f)
		}
		return nil
	}))
	for k, v := range map[string]rt.Value{
		"__name": rt.StringValue("file"), "__index": rt.TableValue(fs.methods), "__metatable": rt.BoolValue(false),
		"__tostring": text, "__close": closing,
	} {
		fs.meta.Set(rt.StringValue(k), v)
	}
}

func (f *file) String() string {
	if f.closed {
		return "file (closed)"
	}
	return "file (" + f.name + ")"
}

func fileOf(v rt.Value) (*file, bool) {
	u, ok := v.TryUserData()
	if !ok {
		return nil, false
	}
	f, ok := u.Value().(*file)
	return f, ok
}

// value returns f as a value of a script.
func (fs *files) value(f *file) rt.Value {
	return rt.UserDataValue(rt.NewUserData(f, fs.meta))
}

// add records that f is open, and returns it.
func (c *call) add(f *file) *file {
	c.keep(512 + readBuffer)
	c.files.open[f] = true
	return f
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, readBuffer) }

// openFile opens a file in one of C's modes, "r+b".
func (c *call) openFile(name, mode string) (*file, error) {
	flags, _ := openFlags(mode)
	c.spend(1000)
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, err
	}
	out := &file{name: name, file: f}
	if flags&(os.O_RDWR|os.O_WRONLY) != os.O_WRONLY {
		out.reader = newReader(f)
	}
	if flags&(os.O_RDWR|os.O_WRONLY) != 0 {
		out.writer = f
	}
	return c.add(out), nil
}

func openFlags(mode string) (flags int, ok bool) {
	switch strings.TrimSuffix(mode, "b") {
	case "r":
		return os.O_RDONLY, true
	case "r+":
		return os.O_RDWR, true
	case "w":
		return os.O_WRONLY | os.O_CREATE | os.O_TRUNC, true
	case "w+":
		return os.O_RDWR | os.O_CREATE | os.O_TRUNC, true
	case "a":
		return os.O_WRONLY | os.O_CREATE | os.O_APPEND, true
	case "a+":
		return os.O_RDWR | os.O_CREATE | os.O_APPEND, true
	}
	return 0, false
}

// shut closes f. For a command it returns the results of os.execute.
func (c *call) shut(f *file) error {
	f.closed = true
	delete(c.files.open, f)
	if f.command != nil {
		return c.finish(f.command)
	}
	return c.giveOutcome(f.end())
}

// end closes the file behind f.
func (f *file) end() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	if f.remove {
		err = errors.Join(err, os.Remove(f.file.Name()))
	}
	return err
}

// flush writes what is buffered.
func (f *file) flush() error {
	if w, ok := f.writer.(interface{ Flush() error }); ok {
		return w.Flush()
	}
	return nil
}

// done is the function that Install returns.
func (fs *files) done(end bool) {
	for _, f := range []*file{fs.stdout, fs.stderr} {
		_ = f.flush()
	}
	if !end {
		return
	}
	for f := range fs.open {
		f.closed = true
		if f.command != nil {
			f.command.kill()
		}
		_ = f.end()
	}
	clear(fs.open)
}

// giveError returns to the script what Lua's file functions return for an error of the
// system: nil, a message and a number.
func (c *call) giveError(err error) error {
	number := int64(0)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		number = int64(errno)
	}
	text := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		text = path.Path + ": " + path.Err.Error()
	}
	return c.give(rt.NilValue, rt.StringValue(clip(text)), rt.IntValue(number))
}

// lines prints what is written to it line by line, and buffers the last until it ends.
type lines struct {
	print func(line string) error
	held  []byte
}

// maxHeld is the maximum length of a line; a longer one is printed in pieces.
const maxHeld = 64 << 10

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		n := min(len(line), maxHeld-len(l.held))
		l.held = append(l.held, line[:n]...)
		switch {
		case n < len(line):
			rest = rest[n:]
		case ended:
			rest = after
		default:
			return len(p), nil
		}
		if err := l.write(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush prints what is buffered.
func (l *lines) Flush() error {
	if len(l.held) == 0 {
		return nil
	}
	return l.write()
}

func (l *lines) write() error {
	line := string(l.held)
	l.held = l.held[:0]
	return l.print(line)
}
