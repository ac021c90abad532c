// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/script"
)

// replOptions are the flags of `helm script repl`.
type replOptions struct {
	cmdutil.ValueFlags
	cmdutil.ScriptFlags

	Chart       string
	Name        string
	KubeVersion string
	APIVersions []string
	chartFlags  cmdutil.ChartFlags
}

func newREPL(f *cmdutil.Factory) *cobra.Command {
	var o replOptions
	cmd := &cobra.Command{
		Use:   "repl CHART",
		Short: "Try a chart's scripts at a prompt",
		Long: `Type Lua at a prompt, among the globals of a chart's scripts, and fire the events of
operations one by one. Nothing is installed, and no cluster is asked.

An expression is evaluated and printed, tables as YAML. ctx is the context of the
moment: of the event that was fired last, or that :at names. What is changed in it
stays. Lines that begin with a colon are for the prompt:

  :fire EVENT   emit an event, after those of its operation that come before it,
                and show what each handler changed
  :at EVENT     move on to an event, without emitting it
  :events       list the events, and what handlers may change at each
  :help         list these
  :quit         end, as does the end of the input

Without a terminal, lines are read from standard input, without prompts; the
first error ends the command.`,
		Example: `  helm script repl ./mychart -f production.yaml

  # What a handler makes of the values, for a program
  printf ':fire pre-render\nctx.values\n' | helm script repl ./mychart`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Chart = args[0]
			return repl(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ValueFlags.Bind(fs)
	o.ScriptFlags.Bind(fs)
	o.chartFlags.Bind(cmd, f)
	fs.StringVar(&o.Name, "name", "release-name", "name of the release")
	fs.StringVar(&o.KubeVersion, "kube-version", "", "Kubernetes version of ctx.capabilities")
	cmdutil.StringSliceVarP(fs, &o.APIVersions, "api-versions", "a",
		"additional API versions of ctx.capabilities (may be repeated)")
	cmdutil.CompleteChoices(cmd)
	return cmd
}

// prompt is a session of `helm script repl`.
type prompt struct {
	f         *cmdutil.Factory
	host      *script.Host
	rehearsal *action.Rehearsal
	lines     *term.LineReader
	moment    string // the name of the event whose context is ctx
}

func repl(ctx context.Context, f *cmdutil.Factory, o replOptions) error {
	c, err := f.Chart(ctx, o.Chart, &o.chartFlags)
	if err != nil {
		return err
	}
	vals, err := o.ValueFlags.Build(ctx, f, c)
	if err != nil {
		return err
	}
	hosts, err := f.ScriptHosts(o.ScriptFlags)
	if err != nil {
		return err
	}
	host := hosts()
	host.Always = true
	bus := &event.Bus{}
	bus.Use(host)
	if o.Trace == "json" {
		bus.Trace(ui.TraceJSON(f.Err))
	} else {
		bus.Trace(ui.TraceText(f.Err, f.Style(f.Err)))
	}
	r, err := action.NewRehearsal(ctx, action.RehearsalRequest{Events: bus, Chart: c, Values: vals, Name: o.Name,
		Namespace: f.Namespace(), KubeVersion: o.KubeVersion, APIVersions: o.APIVersions})
	if err != nil {
		return err
	}
	p := &prompt{f: f, host: host, rehearsal: r, moment: "chart-loaded"}
	p.lines = term.NewLineReader(f.Streams, complete)
	if p.lines.Interactive() {
		fmt.Fprintf(f.Out, "Lua with the context of chart %s as ctx. :help lists commands, :quit ends.\n",
			term.SafeLine(c.Name()))
	}
	if err := r.Load(ctx); err != nil {
		return err
	}
	return p.run(ctx)
}

// run reads and evaluates lines until the end of the input, or, without a user, the first
// error.
func (p *prompt) run(ctx context.Context) error {
	text := ""
	for {
		sign := p.moment + "> "
		if text != "" {
			sign = strings.Repeat(" ", len(p.moment)) + "… "
		}
		line, err := p.lines.ReadLine(sign)
		if errors.Is(err, io.EOF) {
			return p.end(ctx, text)
		}
		if err != nil {
			return err
		}
		if text != "" {
			line = text + "\n" + line
		}
		done, err := p.line(ctx, line)
		switch {
		case errors.Is(err, errQuit):
			return nil
		case err == nil:
			text = ""
			continue
		case unfinished(err) && (strings.TrimSpace(line[len(text):]) != "" || !p.lines.Interactive()):
			text = line
			continue
		case !p.lines.Interactive() || ctx.Err() != nil || done:
			return err
		}
		text = ""
		p.show(err)
	}
}

// end evaluates what the end of the input has cut off, whose error says what is missing.
func (p *prompt) end(ctx context.Context, text string) error {
	if p.lines.Interactive() {
		fmt.Fprintln(p.f.Out)
		return nil
	}
	if text == "" {
		return nil
	}
	_, err := p.line(ctx, text)
	return err
}

// show prints an error and its hints. The session goes on.
func (p *prompt) show(err error) {
	style := p.f.Style(p.f.Err)
	fmt.Fprintf(p.f.Err, "%s %s\n", style.Red("Error:"), term.Safe(err.Error()))
	for _, text := range hint.Of(err) {
		fmt.Fprintf(p.f.Err, "hint: %s\n", term.Safe(text))
	}
}

// unfinished reports whether err is about a line that ends too early.
func unfinished(err error) bool {
	var failed *script.Error
	return errors.As(err, &failed) &&
		(strings.Contains(failed.Message, "<eof>") || strings.HasSuffix(failed.Message, "ends too early)"))
}

// errQuit ends the session.
var errQuit = errors.New("quit")

// line carries out a line. final is set if the session cannot go on: a limit was exceeded.
func (p *prompt) line(ctx context.Context, line string) (final bool, err error) {
	if command, ok := strings.CutPrefix(strings.TrimSpace(line), ":"); ok {
		return false, p.command(ctx, strings.Fields(command))
	}
	if strings.TrimSpace(line) == "" {
		return false, nil
	}
	e := p.rehearsal.Moment(p.moment)
	results, err := p.host.Evaluate(ctx, e, line)
	if err != nil {
		var failed *script.Error
		return errors.As(err, &failed) && failed.Limit != "", err
	}
	p.rehearsal.Keep(e)
	for _, text := range results {
		if _, err := fmt.Fprintln(p.f.Out, text); err != nil {
			return true, err
		}
	}
	return false, nil
}

// commands are the commands of the prompt, with their arguments and what they do.
var commands = [][3]string{
	{"fire", "EVENT", "emit an event, after those that come before it"},
	{"at", "EVENT", "move on to an event, without emitting it"},
	{"events", "", "list the events, and what handlers may change at each"},
	{"help", "", "list these commands"},
	{"quit", "", "end"},
}

// command carries out a command of the prompt.
func (p *prompt) command(ctx context.Context, words []string) error {
	name, argument := "", ""
	if len(words) > 0 {
		name = words[0]
	}
	if len(words) > 1 {
		argument = words[1]
	}
	switch name {
	case "quit", "q", "exit":
		return errQuit
	case "help", "h", "":
		for _, c := range commands {
			fmt.Fprintf(p.f.Out, "  :%-14s %s\n", strings.TrimSpace(c[0]+" "+c[1]), c[2])
		}
		fmt.Fprintln(p.f.Out, "  Everything else is Lua.")
		return nil
	case "events":
		p.events()
		return nil
	case "at":
		event, err := eventNamed(argument)
		if err != nil {
			return err
		}
		p.moment = event
		return nil
	case "fire":
		return p.fire(ctx, argument)
	}
	var names []string
	for _, c := range commands {
		names = append(names, c[0])
	}
	text := ":help lists the commands"
	if near := suggest.Nearest(names, name); len(near) > 0 {
		text = "did you mean :" + near[0] + "?"
	}
	return hint.With(fmt.Errorf("there is no command :%s", term.SafeLine(name)), text)
}

// fire emits an event, and makes its context that of the prompt. Findings of pre-lint are
// printed.
func (p *prompt) fire(ctx context.Context, argument string) error {
	name, err := eventNamed(argument)
	if err != nil {
		return err
	}
	known := len(p.rehearsal.Findings())
	_, err = p.rehearsal.Fire(ctx, name)
	for _, f := range p.rehearsal.Findings()[known:] {
		severity := "WARNING"
		if f.Error {
			severity = "ERROR"
		}
		fmt.Fprintf(p.f.Out, "[%s] %s: %s\n", severity, f.Path, term.Safe(f.Text))
	}
	if err == nil {
		p.moment = name
	}
	return err
}

// eventNamed returns the name of an event that may be given by another name.
func eventNamed(name string) (string, error) {
	if of, ok := event.Aliases()[name]; ok {
		name = of
	}
	if event.New(name) != nil {
		return name, nil
	}
	err := &action.EventNameError{Name: term.SafeLine(name)}
	if near := suggest.Nearest(event.Names(), name); len(near) > 0 {
		return "", hint.With(err, "did you mean "+near[0]+"?")
	}
	return "", err
}

func (p *prompt) events() {
	for _, name := range event.Names() {
		may := []string{}
		for _, field := range []string{"values", "templates", "files", "objects", "dependencies"} {
			if event.New(name).Mutable().Has(fieldNamed(field)) {
				may = append(may, field)
			}
		}
		fmt.Fprintln(p.f.Out, strings.TrimRight(fmt.Sprintf("  %-23s%s", name, strings.Join(may, ", ")), " "))
	}
}

func fieldNamed(name string) event.Fields {
	switch name {
	case "values":
		return event.Values
	case "templates":
		return event.Templates
	case "files":
		return event.Files
	case "objects":
		return event.Objects
	}
	return event.Dependencies
}

// complete completes commands, events and fields of the context.
func complete(line string) (word string, candidates []string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t()[]{},=+-*/~<>#\"'", r) })
	if strings.HasPrefix(line, ":") {
		fields := strings.Split(line, " ")
		word = fields[len(fields)-1]
		if len(fields) == 1 {
			for _, c := range commands {
				candidates = append(candidates, ":"+c[0])
			}
		} else {
			candidates = event.Names()
		}
	} else if len(words) > 0 && strings.HasSuffix(line, words[len(words)-1]) {
		word = words[len(words)-1]
		for _, c := range scriptapi.Classes() {
			for _, name := range c.Names() {
				if c.Path != "" {
					candidates = append(candidates, c.Path+"."+name)
				}
			}
		}
		for _, f := range scriptapi.Functions() {
			candidates = append(candidates, f.Name)
		}
	}
	return word, slices.DeleteFunc(candidates, func(c string) bool { return !strings.HasPrefix(c, word) })
}
