// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	rt "github.com/arnodel/golua/runtime"
)

// Program has what a script needs that is a program of its own: standard streams, an exit
// code, and helm.
type Program struct {
	// In, Out and Err are the standard streams, none of them nil. Those that are
	// files are handed to the commands that the script starts as they are.
	In       io.Reader
	Out, Err io.Writer
	// Flush writes what Out buffers. It is called before the script waits for input, and
	// before another writer writes.
	Flush func() error
	// Child is the standard output of commands that the script starts, nil for Out.
	Child io.Writer
	// Exit ends the script; it does not return.
	Exit func(code int)
	// Fail is called with the message of helm.fail, even if it is caught.
	Fail func(message string)
	// Helm is the path of the helm that helm.run starts.
	Helm string
	// Start starts a command, nil as usual.
	Start func(*exec.Cmd) error
	// Chart loads a chart for helm.chart: name, version, and files, a list of maps
	// of name and data. Of options there may be version and repo. Nil: there are
	// no charts.
	Chart func(reference string, options map[string]any) (map[string]any, error)
}

// inputReader reads a program's input, for which the user may be asked: output is flushed first.
type inputReader struct{ p *Program }

func (r inputReader) Read(b []byte) (int, error) {
	_ = r.p.Flush() // writing to a closed pipe ends the program
	return r.p.In.Read(b)
}

// lend sets a command's streams to the program's.
func (p *Program) lend(cmd *exec.Cmd) {
	_ = p.Flush()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.In, p.Out, p.Err
	if p.Child != nil {
		cmd.Stdout = p.Child
	}
}

// start starts a command.
func (m *module) start(cmd *exec.Cmd) error {
	if p := m.o.Program; p != nil && p.Start != nil {
		return p.Start(cmd)
	}
	return cmd.Start()
}

// run starts a command and waits for its end.
func (m *module) run(cmd *exec.Cmd) error {
	if err := m.start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// programFunctions returns the functions that only programs have.
func programFunctions() []function {
	return []function{
		fn("helm.run", "(arguments) → text or nil, text, number", "Runs helm with a list of arguments and gives what it "+
			"prints. Where it fails, gives nil, what it says about it and its exit code. The field input is what it reads.",
			1, (*call).runHelm),
		fn("helm.chart", "(reference[, options]) → table or nil, text", "Loads a chart from wherever helm finds charts: a "+
			"directory, an archive, repository/name, a URL. Gives name, version, and files, a list of tables of name and "+
			"data, those of subcharts among them; or nil and why there is none. Options: version, repo.", 2,
			takesText((*call).chart)),
	}
}

// chart is helm.chart.
func (c *call) chart(reference string) error {
	options := map[string]any{}
	if err := c.options(1, options, "version", "repo"); err != nil {
		return err
	}
	if c.o.Program.Chart == nil {
		return c.fail("there are no charts here")
	}
	_ = c.o.Program.Flush()
	chart, err := c.o.Program.Chart(reference, options)
	if err != nil {
		return c.give(rt.NilValue, rt.StringValue(err.Error()))
	}
	return c.giveData(chart)
}

// exit is os.exit.
func (c *call) exit() error {
	if c.o.Program == nil {
		return c.fail("scripts cannot end helm; helm.fail stops the operation")
	}
	code := int64(0)
	switch v := c.arg(0); {
	case v.IsNil():
	case v.Type() == rt.BoolType:
		if !v.AsBool() {
			code = 1
		}
	default:
		var err error
		if code, err = c.integer(0); err != nil {
			return err
		}
	}
	c.o.Program.Exit(int(code & 0xff))
	return errors.New("the program goes on after its end")
}

func (c *call) runHelm() error {
	p := c.o.Program
	args, input, err := c.helmArguments()
	if err != nil {
		return err
	}
	if p.Helm == "" {
		return c.fail("it is not known where helm is")
	}
	var out, said bytes.Buffer
	cmd := c.newCommand(p.Helm, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if input != nil {
		cmd.Stdin = strings.NewReader(*input)
	}
	err = c.run(cmd)
	var exit *exec.ExitError
	switch {
	case err == nil:
		_, _ = p.Err.Write(said.Bytes()) // warnings
		return c.giveText(out.String())
	case errors.As(err, &exit):
		text := strings.TrimPrefix(strings.TrimSpace(said.String()), "Error: ")
		if text == "" {
			text = fmt.Sprintf("helm %s: %s", strings.Join(args, " "), exit)
		}
		return c.give(rt.NilValue, rt.StringValue(text), rt.IntValue(int64(exit.ExitCode())))
	}
	return c.fail("%w", err)
}

// helmArguments returns the arguments in helm.run's table.
func (c *call) helmArguments() (args []string, input *string, err error) {
	t, err := c.table(0)
	if err != nil {
		return nil, nil, err
	}
	const form = `helm.run takes a list of texts and numbers: helm.run{"template", "web", "./web", input="..."}`
	for i := int64(1); ; i++ {
		v := t.Get(rt.IntValue(i))
		if v.IsNil() {
			break
		}
		if k := v.Type(); k != rt.StringType && k != rt.IntType && k != rt.FloatType {
			return nil, nil, c.wrong(0, "argument %d is a %s value; "+form, i, v.TypeName())
		}
		s, _ := v.ToString()
		args = append(args, s)
	}
	for k, v, _ := t.Next(rt.NilValue); !k.IsNil(); k, v, _ = t.Next(k) {
		if n, isNumber := k.TryInt(); isNumber && n >= 1 && n <= int64(len(args)) {
			continue
		}
		name, _ := k.TryString()
		text, isText := v.TryString()
		if name != "input" || !isText {
			key, _ := k.ToString()
			return nil, nil, c.wrong(0, "there is a field %s; "+form, short(key))
		}
		input = &text
	}
	return args, input, nil
}
