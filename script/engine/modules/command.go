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

// startCommand returns a command that the shell runs. Its input is empty, that of a program's
// command is the program's.
func (m *module) startCommand(text string) *exec.Cmd {
	name, args := shell(text)
	cmd := exec.Command(name, args...)
	cmd.Env = append([]string{}, m.o.Environ...) // never nil, which is the process's own
	if p := m.o.Program; p != nil {
		p.lend(cmd)
	}
	return cmd
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
	c.spend(10_000)
	cmd := c.startCommand(text)
	f := &file{name: clip(text)}
	cmd.WaitDelay = time.Second // for what it left running and still prints
	aside := &tail{}
	c.keep(maxErrors)
	var pipe io.Closer
	if cmd.Stderr == nil {
		cmd.Stderr = aside
	}
	if mode == "r" {
		cmd.Stdout = nil // a program's own
		out, err := cmd.StdoutPipe()
		if err != nil {
			return c.giveError(err)
		}
		f.reader, pipe = newReader(out), out
	} else {
		cmd.Stdin = nil
		in, err := cmd.StdinPipe()
		if err != nil {
			return c.giveError(err)
		}
		f.writer, pipe = in, in
		if cmd.Stdout == nil {
			cmd.Stdout = aside
		}
	}
	if err := c.start(cmd); err != nil {
		return c.giveError(err)
	}
	f.close = func(c *call) error {
		_ = pipe.Close()
		if c == nil { // the scripts end
			_ = cmd.Process.Kill()
		}
		err := cmd.Wait()
		if c == nil {
			return nil
		}
		if err := c.files.show(aside.b); err != nil {
			return err
		}
		return c.giveEnd(err)
	}
	c.give(c.files.value(c.add(f)))
	return nil
}

// show prints the output of a command.
func (fs *files) show(b []byte) error {
	l := lines{m: fs.m}
	_, err := l.Write(b)
	return errors.Join(err, l.Flush())
}

// execute is os.execute.
func (c *call) execute() error {
	if c.arg(0).IsNil() {
		name, _ := shell("")
		_, err := exec.LookPath(name)
		c.give(rt.BoolValue(err == nil))
		return nil
	}
	text, err := c.text(0)
	if err != nil {
		return err
	}
	c.spend(10_000)
	cmd := c.startCommand(text)
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
	running := true
	defer func() { // also where printing ends the script
		if running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	l := lines{m: c.module}
	buf := make([]byte, readBuffer)
	for {
		n, err := out.Read(buf)
		c.spend(uint64(n)/8 + 1)
		if _, err := l.Write(buf[:n]); err != nil {
			return c.fail("%w", err)
		}
		if err != nil {
			break
		}
	}
	if err := l.Flush(); err != nil {
		return c.fail("%w", err)
	}
	running = false
	return c.giveEnd(cmd.Wait())
}

// giveEnd returns to the script how a command ended: true or nil, "exit" or "signal", and the
// number of either.
func (c *call) giveEnd(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		c.give(rt.BoolValue(true), rt.StringValue("exit"), rt.IntValue(0))
	case errors.As(err, &exit):
		how, number := "exit", exit.ExitCode()
		if s := signalOf(exit); s > 0 {
			how, number = "signal", s
		}
		c.give(rt.NilValue, rt.StringValue(how), rt.IntValue(int64(number)))
	default:
		return c.giveError(err)
	}
	return nil
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
