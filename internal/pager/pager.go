// SPDX-License-Identifier: Apache-2.0

// Package pager shows long output in the user's pager.
//
//	p := pager.Pager{Streams: streams}
//	err := p.Write(text)
//
// Output that fits the terminal, and all output to files and pipes, is written as it is.
package pager

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/clipperhouse/displaywidth"
	xterm "golang.org/x/term"

	"github.com/moonhelm/moonhelm/internal/term"
)

// A Pager writes text to Streams.Out, by way of a pager if it is longer than the terminal.
type Pager struct {
	term.Streams
	// Off writes all text directly.
	Off bool
}

// Usable reports whether there is a terminal on which a pager can be used: standard input and
// output are terminals, as a pager asks for keys, and TERM is not dumb.
func (p Pager) Usable() bool {
	return !p.Off && term.IsTerminal(p.In) && p.Movable(p.Out) && p.command() != ""
}

// Write writes text. If it needs a pager, Write returns after the pager has ended; meanwhile an
// interrupt is the pager's. A pager that does not read all text is not an error. If the pager cannot
// be started, text is written directly.
func (p Pager) Write(text string) error {
	if !p.Usable() || fits(text, p.Out) {
		return p.writeDirectly(text)
	}
	command := p.command()
	cmd := shell(command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), p.Out, p.Err
	cmd.Env = append(os.Environ(), p.defaults()...)
	state, _ := xterm.GetState(int(p.Out.(*os.File).Fd())) // nil if it cannot be saved
	if err := cmd.Start(); err != nil {
		if command != standard {
			p.warn("the pager %q could not be started: %s", command, err)
		}
		return p.writeDirectly(text)
	}
	release := holdSignals(cmd.Process)
	defer release()
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("show the output in the pager %q: %w", command, err)
	case exit.ExitCode() == notFound || exit.ExitCode() == notExecutable:
		return p.writeDirectly(text)
	case exit.ExitCode() < 0 || exit.ExitCode() > signalled: // it may have left anything
		if state != nil {
			_ = xterm.Restore(int(p.Out.(*os.File).Fd()), state)
		}
		_, _ = io.WriteString(p.Out, reset)
		if exit.ExitCode() != signalled+int(syscall.SIGINT) && !strings.Contains(exit.Error(), "interrupt") {
			p.warn("the pager %q was ended: %s", command, exit)
		}
	}
	return nil
}

const (
	// standard is the pager of those who have not chosen one.
	standard = "less"
	// none is the name of a pager that shows all text at once.
	none = "cat"
	// Exit codes of a shell, for a command that does not exist or cannot be executed. The codes of
	// signals are above signalled.
	notFound, notExecutable, signalled = 127, 126, 128
	// reset leaves the alternate screen, shows the cursor and ends colours.
	reset = "\x1b[?1047l\x1b[?25h\x1b[0m\r\n"
)

// command returns the pager's command line, or "" for none.
func (p Pager) command() string {
	c := cmp.Or(strings.TrimSpace(p.env("HELM_PAGER")), strings.TrimSpace(p.env("PAGER")), standard)
	if c == none {
		return ""
	}
	return c
}

func (p Pager) env(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

// defaults returns variables for the pager: less ends at once if the text fits, shows colours and
// leaves the text on the screen, and lv shows colours.
func (p Pager) defaults() []string {
	var out []string
	if p.env("LESS") == "" {
		out = append(out, "LESS=FRX")
	}
	if p.env("LV") == "" {
		out = append(out, "LV=-c")
	}
	return out
}

func (p Pager) writeDirectly(text string) error {
	_, err := io.WriteString(p.Out, text)
	return err
}

func (p Pager) warn(format string, args ...any) {
	if p.Err != nil {
		fmt.Fprintf(p.Err, "WARNING: "+format+"; --no-pager shows the output without one\n", args...)
	}
}

// shell returns the command of a command line. As with git, a shell runs it only if it has
// characters that are the shell's.
func shell(line string) *exec.Cmd {
	if strings.ContainsAny(line, "|&;<>()$`\\\"'*?[#~=%\n") && runtime.GOOS != "windows" {
		return exec.Command("sh", "-c", line)
	}
	words := strings.Fields(line)
	return exec.Command(words[0], words[1:]...)
}

// fits reports whether text fits the terminal w, with a line for the prompt that follows.
func fits(text string, w any) bool {
	columns, rows := term.Size(w)
	left := rows - 1
	for line := range strings.Lines(text) {
		width := displaywidth.Options{ControlSequences: true}.String(strings.TrimSuffix(line, "\n"))
		if left -= max((width+columns-1)/columns, 1); left < 0 {
			return false
		}
	}
	return true
}
