// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os/exec"
	"runtime/debug"
	"time"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/engine/modules"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Program is a script that is a program of its own, such as a plugin: its function main(args)
// gets the arguments and returns the exit code.
//
// It is trusted like any program that the user starts: it has all permissions of charts'
// scripts, and no limit but that on memory. Run it in a process of its own: a stack overflow
// ends the process, and commands that it starts inherit the streams.
type Program struct {
	// Name is the name in errors and tracebacks.
	Name string
	// Files is its directory: Main, and the files that it may require.
	Files fs.FS
	// Main is the file to begin with, "" for main.lua.
	Main string
	Args []string
	// Environ is the environment, "NAME=value".
	Environ []string
	// In, Out and Err are its standard streams; nil ones are empty, or discard.
	In       io.Reader
	Out, Err io.Writer
	// Lines has each line written as soon as it is complete.
	Lines bool
	// Helm is the path of the helm that it may call, "" for none.
	Helm string
	// Ask answers questions of the kinds [wire.HTTP], [wire.Host] and
	// [wire.Lookup]; nil refuses them.
	Ask func(kind wire.Kind, body map[string]any) (map[string]any, error)
	// Chart loads charts for helm.chart, see [modules.Program].
	Chart func(reference string, options map[string]any) (map[string]any, error)
	// Start starts a command for it; nil as usual.
	Start func(*exec.Cmd) error
	// Memory is the limit of memory in bytes, 0 for 1 GiB. It is enforced only if End is set.
	Memory int64
	// End ends the process, which is then the program's own. nil is a process that does other
	// work too.
	End func(code int)
}

// A ProgramError is returned for an error that a program does not catch.
type ProgramError struct {
	Message   string
	File      string // "" where the message is all that matters
	Line      int
	Traceback string
}

func (e *ProgramError) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return e.File + ": " + e.Message
}

const (
	// DefaultMemory bounds what a [Program] holds, in bytes.
	DefaultMemory     = 1 << 30
	watchProgramEvery = 20 * time.Millisecond
	forever           = math.MaxInt64
	// outBuffer is how much of the output is held back at most.
	outBuffer = 32 << 10
)

// program is a running Program.
type program struct {
	Program
	out  *bufio.Writer
	said string // by helm.fail
}

// exited is a panic that os.exit ends the program with.
type exited int

// Run runs the program and returns its exit code. An error is a [*ProgramError].
func (p Program) Run() (code int, err error) {
	p.Main, p.Memory = cmp.Or(p.Main, "main.lua"), cmp.Or(max(p.Memory, 0), DefaultMemory)
	p.In = cmp.Or(p.In, io.Reader(bytes.NewReader(nil)))
	p.Out, p.Err = cmp.Or(p.Out, io.Discard), cmp.Or(p.Err, io.Discard)
	pr := &program{Program: p, out: bufio.NewWriterSize(p.Out, outBuffer)}
	e := &engine{
		program: pr, exit: p.End, failed: make(chan error, 1),
		limits: wire.Limits{CPU: forever, Memory: p.Memory, Output: forever}, clock: clock{limit: forever},
		environ: p.Environ,
	}
	c := newChart(0, p.Name, "")
	c.open, c.grants = p.open, []string{modules.Network, modules.IO, modules.OS}
	e.charts = []*chart{c}
	if p.End != nil {
		debug.SetMaxStack(maxStack)
		e.prepareMemory()
		done := make(chan struct{})
		defer close(done)
		go e.watchProgram(done)
	}
	defer func() {
		e.close()
		if lost := pr.out.Flush(); lost != nil && err == nil {
			code, err = 1, &ProgramError{Message: lost.Error()}
		}
	}()
	return e.runProgram()
}

// open reads a file of the program's.
func (p Program) open(file string) (string, bool) {
	if !fs.ValidPath(file) {
		return "", false
	}
	f, err := p.Files.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()                                         //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxSource+1)) // compile says what is too long
	return string(data), err == nil
}

// runProgram loads the main file and calls its function main.
func (e *engine) runProgram() (code int, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case exited:
			code, err = int(p), nil
		default:
			code, err = 1, &ProgramError{Message: "the script engine failed: " + truncate.Bytes(fmt.Sprint(p), 500, "…")}
		}
	}()
	c := e.charts[0]
	e.newRuntime(time.Now().UnixNano())
	e.language(c)
	e.install(c, modules.Options{
		Grants: c.grants, Environ: e.environ, Ask: e.ask,
		Program: &modules.Program{
			In: e.program.In, Out: writer{e.program}, Err: e.program.Err, Child: e.program.Out,
			Flush: e.program.out.Flush, Helm: e.program.Helm, Chart: e.program.Chart, Start: e.program.Start,
			Exit: func(code int) { panic(exited(code)) },
			Fail: func(message string) { e.program.said = message },
		},
	})
	result := rt.NilValue
	err = e.inLua(0, func(t *rt.Thread) error {
		if !c.has(e.program.Main) {
			return fmt.Errorf("there is no %s", e.program.Main)
		}
		if _, err := e.run(t, c, e.program.Main); err != nil {
			return err
		}
		main := c.env.Get(rt.StringValue("main"))
		if _, ok := main.TryCallable(); !ok {
			return fmt.Errorf("%s defines no function main(args)", e.program.Main)
		}
		var err error
		result, err = rt.Call1(t, main, e.arguments())
		return err
	})
	if err != nil {
		return 1, e.program.explain(err)
	}
	return exitStatus(result)
}

// arguments returns the table of main's arguments.
func (e *engine) arguments() rt.Value {
	t := rt.NewTable()
	t.Set(rt.IntValue(0), rt.StringValue(e.program.Name))
	for i, a := range e.program.Args {
		t.Set(rt.IntValue(int64(i+1)), rt.StringValue(a))
	}
	return rt.TableValue(t)
}

// exitStatus returns the exit code for main's result.
func exitStatus(v rt.Value) (int, error) {
	if v.IsNil() {
		return 0, nil
	}
	if v.Type() == rt.BoolType {
		if v.AsBool() {
			return 0, nil
		}
		return 1, nil
	}
	if n, ok := rt.ToIntNoString(v); ok && n >= 0 && n <= 255 {
		return int(n), nil
	}
	s, _ := v.ToString()
	return 1, &ProgramError{Message: fmt.Sprintf("main returned %s; it returns the exit code, a number "+
		"from 0 to 255, or nothing", truncate.Bytes(s, 100, "…"))}
}

// explain returns an error for people: the message of helm.fail as it is, all others with
// their place.
func (p *program) explain(err error) error {
	var f *scriptError
	if !errors.As(err, &f) {
		return &ProgramError{Message: err.Error()}
	}
	if f.limit == "" && p.said != "" && f.text == truncate.Bytes(p.said, maxMessage, "…") {
		return &ProgramError{Message: f.text, Traceback: f.traceback}
	}
	return &ProgramError{Message: f.text, File: f.file, Line: f.line, Traceback: f.traceback}
}

// watchProgram ends the process of a program that exceeds a limit.
func (e *engine) watchProgram(done <-chan struct{}) {
	tick := time.NewTicker(watchProgramEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if limit := e.exceeded(e.base); limit != "" {
			fmt.Fprintf(e.program.Err, "Error: %s: %s\n", e.program.Name, e.program.exceeded(limit))
			e.exit(exitCode)
		}
	}
}

func (p *program) exceeded(limit string) string {
	if limit == limitMemory {
		return fmt.Sprintf("it exceeded its memory limit of %d MiB (HELM_SCRIPT_MEMORY=8Gi sets a higher one)", p.Memory>>20)
	}
	return "its functions call each other too deep"
}

// ask answers a question of the script.
func (p *program) ask(kind wire.Kind, body map[string]any) (map[string]any, error) {
	if p.Ask == nil {
		return nil, errors.New("there is no one to ask here")
	}
	_ = p.out.Flush()
	return p.Ask(kind, body)
}

// printed implements the script's print.
func (p *program) printed(line string) {
	_, _ = io.WriteString(writer{p}, line+"\n")
}

// writer is the output as the script writes it.
type writer struct{ p *program }

func (w writer) Write(b []byte) (int, error) {
	n, err := w.p.out.Write(b)
	if err == nil && w.p.Lines && bytes.IndexByte(b, '\n') >= 0 {
		err = w.p.out.Flush()
	}
	return n, err
}

// Flush writes what was held back.
func (w writer) Flush() error { return w.p.out.Flush() }
