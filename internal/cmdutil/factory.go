// SPDX-License-Identifier: Apache-2.0

// Package cmdutil provides what commands share: streams, settings from environment and global
// flags, the cluster client, release records, and the action.Config that holds these. [Factory]
// creates each at its first use, so a command that needs no cluster never looks for one.
package cmdutil

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/progress"
)

// Factory creates the dependencies of a command. It serves one run of the program, and is not safe
// for concurrent use, except for [Factory.Report].
type Factory struct {
	term.Streams
	Settings Settings
	// Now is the clock.
	Now func() time.Time
	// Context is the command's context, which ends at an interrupt. It is for reads that get no
	// context passed. [New] sets one that never ends.
	Context context.Context

	kube         lazyKube
	repositories *action.Repositories
	plugins      *Plugins
	board        func() *ui.Board
	web          func() *fetch.Client
	content      func() *fetch.Cache
	closers      []func() error
}

// New returns a Factory for s. It reads its settings from s.Getenv and discards output for which s
// has no stream.
func New(s term.Streams) *Factory {
	getenv := s.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
		s.Getenv = getenv
	}
	if s.Out == nil {
		s.Out = io.Discard
	}
	if s.Err == nil {
		s.Err = io.Discard
	}
	f := &Factory{Streams: s, Settings: NewSettings(getenv), Now: time.Now, Context: context.Background()}
	f.board = sync.OnceValue(func() *ui.Board {
		b := ui.NewBoard(f.Streams, ui.Mode(f.Settings.Progress), f.Settings.Debug)
		f.closers = append(f.closers, func() error { b.Close(); return nil })
		return b
	})
	f.initFetch()
	return f
}

// ExitError ends the program with the given exit code: with no further message, or with that of Err.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

func (e *ExitError) Unwrap() error { return e.Err }

// Report returns the sink for the progress of operations: lines on standard error, or a live table
// on a terminal.
func (f *Factory) Report() progress.Func { return f.board().Report }

// Lines returns standard output for lines written while a progress display is on standard error.
// Control characters in untrusted text are escaped.
func (f *Factory) Lines() io.Writer {
	w := term.SafeWriter(f.Out)
	if term.IsTerminal(f.Out) {
		w = f.DrawingWriter(w)
	}
	return f.board().Above(w)
}
