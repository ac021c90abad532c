// SPDX-License-Identifier: Apache-2.0

// Package term handles standard streams and terminals: detection, width, colours, questions, and
// escaping of untrusted text.
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

// Streams are a program's three standard streams and its environment. The zero value discards
// output and has no input.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// Getenv reads the environment; nil means an empty one.
	Getenv func(string) string
	// Color is "always", "never", or "auto" or "" to detect the terminal.
	Color string
}

// Standard returns the process's own streams.
func Standard() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
}

func (s Streams) env(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Interactive reports whether questions can be asked.
func (s Streams) Interactive() bool { return IsTerminal(s.In) && IsTerminal(s.Err) }

// Width returns the width of w in columns, or 80 if it is unknown or w is not a terminal.
func Width(w any) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// Colored reports whether to use colours on w: s.Color decides, else NO_COLOR
// (https://no-color.org) and TERM=dumb, else whether w is a terminal.
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

// Style adds colours to text. The zero value does not.
type Style struct{ on bool }

// Style returns the style for w.
func (s Streams) Style(w any) Style { return Style{on: s.Colored(w)} }

// On reports whether st adds colours.
func (st Style) On() bool { return st.on }

func (st Style) wrap(code, text string) string {
	if !st.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Codes returns t in the style that the parameters of an SGR escape sequence select, such as "1" for
// bold.
func (st Style) Codes(t string, codes ...string) string {
	if len(codes) == 0 {
		return t
	}
	return st.wrap(strings.Join(codes, ";"), t)
}

// Bold returns t in bold.
func (st Style) Bold(t string) string { return st.wrap("1", t) }

// Header is the style of a table's cells of which only the header, row -1, is bold.
func (st Style) Header(row, _ int, cell string) string {
	if row < 0 {
		return st.Bold(cell)
	}
	return cell
}

// Dim returns t dimmed.
func (st Style) Dim(t string) string { return st.wrap("2", t) }

// Red returns t in red.
func (st Style) Red(t string) string { return st.wrap("31", t) }

// Green returns t in green.
func (st Style) Green(t string) string { return st.wrap("32", t) }

// Yellow returns t in yellow.
func (st Style) Yellow(t string) string { return st.wrap("33", t) }

// Cyan returns t in cyan.
func (st Style) Cyan(t string) string { return st.wrap("36", t) }

// Ask prints question to s.Err and returns the answer without surrounding white space.
func (s Streams) Ask(question string) (string, error) {
	if s.Err != nil {
		fmt.Fprint(s.Err, question)
	}
	if s.In == nil {
		return "", io.EOF
	}
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && line == "" {
		if s.Err != nil { // the next output starts on a new line
			fmt.Fprintln(s.Err)
		}
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// AskUntil is [Streams.Ask] that returns ctx's error if ctx ends first.
func (s Streams) AskUntil(ctx context.Context, question string) (string, error) {
	return Until(ctx, func() (string, error) { return s.Ask(question) })
}

// ReadUntil reads the first limit bytes of r. It returns ctx's error if ctx ends first: the user
// may not be aware of having to type.
func ReadUntil(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	return Until(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(r, limit)) })
}

// Until returns the result of read, which may block on a terminal or a pipe, or ctx's error if ctx
// ends first. Then read continues in its goroutine.
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
