// SPDX-License-Identifier: Apache-2.0

// Package term knows the terminal: which streams a program has, whether one of
// them is a terminal, how wide it is, whether colour is wanted, and how to ask
// a question. It prints nothing on its own.
package term

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Streams are a program's three standard streams and what is known of them.
// The zero value discards output and reads nothing.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// Getenv reads the environment; nil reads nothing.
	Getenv func(string) string
	// Color overrides detection: "always", "never", or "auto" and "" to detect.
	Color string
}

// Standard are the process's own streams.
func Standard() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
}

func (s Streams) env(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

// IsTerminal reports whether w (or r) is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Interactive reports whether a question can be put to a person.
func (s Streams) Interactive() bool { return IsTerminal(s.In) && IsTerminal(s.Err) }

// Width is the width of w in columns, 80 where it is not a terminal or does
// not say.
func Width(w any) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// Colored reports whether to colour what is written to w: a choice made by flag
// wins, then NO_COLOR (https://no-color.org) and TERM=dumb, then whether w is a
// terminal.
func (s Streams) Colored(w any) bool {
	switch s.Color {
	case "always":
		return true
	case "never":
		return false
	}
	if s.env("NO_COLOR") != "" || s.env("TERM") == "dumb" {
		return false
	}
	return IsTerminal(w)
}

// Style is a set of colours for one stream; the zero value leaves text alone.
type Style struct{ on bool }

// Style returns the colours to use on w.
func (s Streams) Style(w any) Style { return Style{on: s.Colored(w)} }

func (st Style) wrap(code, text string) string {
	if !st.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold returns t in bold where colour is on.
func (st Style) Bold(t string) string { return st.wrap("1", t) }

// Dim returns t dimmed where colour is on.
func (st Style) Dim(t string) string { return st.wrap("2", t) }

// Red returns t in red where colour is on.
func (st Style) Red(t string) string { return st.wrap("31", t) }

// Green returns t in green where colour is on.
func (st Style) Green(t string) string { return st.wrap("32", t) }

// Yellow returns t in yellow where colour is on.
func (st Style) Yellow(t string) string { return st.wrap("33", t) }

// Cyan returns t in cyan where colour is on.
func (st Style) Cyan(t string) string { return st.wrap("36", t) }

// Ask prints question to the error stream and returns the trimmed answer.
func (s Streams) Ask(question string) (string, error) {
	if s.Err != nil {
		fmt.Fprint(s.Err, question)
	}
	if s.In == nil {
		return "", io.EOF
	}
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && line == "" {
		if s.Err != nil { // what comes next begins on a line of its own
			fmt.Fprintln(s.Err)
		}
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// AskUntil is [Streams.Ask], given up when ctx ends.
func (s Streams) AskUntil(ctx context.Context, question string) (string, error) {
	return Until(ctx, func() (string, error) { return s.Ask(question) })
}

// ReadUntil reads the first limit bytes of r, given up when ctx ends: the user may
// have forgotten to type what is read.
func ReadUntil(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	return Until(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(r, limit)) })
}

// Until calls read, which may wait without end for a terminal or a pipe, and returns
// what it returns; or the error of ctx if that ends first. Then read is left behind:
// nothing ends it.
func Until[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		what T
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		what, err := read()
		answered <- answer{what, err}
	}()
	select {
	case a := <-answered:
		return a.what, a.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	}
}
