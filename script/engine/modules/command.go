// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"time"

	rt "github.com/arnodel/golua/runtime"
)

// maxErrors is the maximum of a command's output that is kept beside what is read.
const maxErrors = 64 << 10

// tail keeps the first maxErrors bytes that are written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[:min(len(p), maxErrors-len(t.b))]...)
	return len(p), nil
}

// newCommand returns a command with the scripts' environment. Its input is empty, that of a
// program's command is the program's.
func (m *module) newCommand(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append([]string{}, m.o.Environ...) // never nil, which is the process's own
	if p := m.o.Program; p != nil {
		p.lend(cmd)
	}
	return cmd
}

// shellCommand returns a command that the shell runs.
func (c *call) shellCommand(text string) *exec.Cmd {
	c.spend(10_000)
	name, args := shell(text)
	return c.newCommand(name, args...)
}

// pipedCommand is a command that a script reads from or writes to as a file.
type pipedCommand struct {
	*exec.Cmd
	pipe  io.Closer
	aside tail // what it prints elsewhere
}

// popen is io.popen.
func (c *call) popen(text string) error {
	mode, err := c.maybeText(1, "r")
	if err != nil {
		return err
	}
	if mode != "r" && mode != "w" {
		return c.wrong(1, "invalid mode")
	}
	c.keep(maxErrors)
	p := &pipedCommand{Cmd: c.shellCommand(text)}
	p.WaitDelay = time.Second // for what it left running and still prints
	if p.Stderr == nil {
		p.Stderr = &p.aside
	}
	f := &file{name: clip(text), command: p}
	err = p.connect(f, mode)
	if err == nil {
		err = c.start(p.Cmd)
	}
	if err != nil {
		return c.giveError(err)
	}
	return c.give(c.files.value(c.add(f)))
}

// connect makes f the output of the command, or its input if mode is "w".
func (p *pipedCommand) connect(f *file, mode string) error {
	if mode == "w" {
		p.Stdin = nil // a program's own
		if p.Stdout == nil {
			p.Stdout = &p.aside
		}
		in, err := p.StdinPipe()
		f.writer, p.pipe = in, in
		return err
	}
	p.Stdout = nil
	out, err := p.StdoutPipe()
	f.reader, p.pipe = newReader(out), out
	return err
}

// finish waits for the end of a command and returns it to the script.
func (c *call) finish(p *pipedCommand) error {
	_ = p.pipe.Close()
	end := p.Wait()
	l := lines{print: c.o.Print}
	if _, err := l.Write(p.aside.b); err != nil {
		return err
	}
	if err := l.Flush(); err != nil {
		return err
	}
	return c.giveEnd(end)
}

func (p *pipedCommand) kill() {
	_ = p.pipe.Close()
	_ = p.Process.Kill()
	_ = p.Wait()
}

// execute is os.execute.
func (c *call) execute() error {
	if c.arg(0).IsNil() {
		name, _ := shell("")
		_, err := exec.LookPath(name)
		return c.give(rt.BoolValue(err == nil))
	}
	text, err := c.text(0)
	if err != nil {
		return err
	}
	cmd := c.shellCommand(text)
	if c.o.Program != nil {
		return c.giveEnd(c.run(cmd))
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return c.giveError(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := c.start(cmd); err != nil {
		return c.giveError(err)
	}
	defer func() {
		if cmd.ProcessState == nil { // printing has ended the script
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	if err := c.print(out); err != nil {
		return c.fail("%w", err)
	}
	return c.giveEnd(cmd.Wait())
}

// print prints what r holds line by line.
func (c *call) print(r io.Reader) error {
	l := lines{print: c.o.Print}
	buf := make([]byte, readBuffer)
	for {
		n, end := r.Read(buf)
		c.spend(uint64(n)/8 + 1)
		if _, err := l.Write(buf[:n]); err != nil {
			return err
		}
		if end != nil {
			return l.Flush()
		}
	}
}

// giveEnd returns to the script how a command ended: true or nil, "exit" or "signal", and the
// number of either.
func (c *call) giveEnd(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return c.give(rt.BoolValue(true), rt.StringValue("exit"), rt.IntValue(0))
	case !errors.As(err, &exit):
		return c.giveError(err)
	}
	how, number := "exit", exit.ExitCode()
	if s := signalOf(exit); s > 0 {
		how, number = "signal", s
	}
	return c.give(rt.NilValue, rt.StringValue(how), rt.IntValue(int64(number)))
}

// variable returns a variable of the environment.
func (m *module) variable(name string) (string, bool) {
	for _, e := range m.o.Environ {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}
