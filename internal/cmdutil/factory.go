// SPDX-License-Identifier: Apache-2.0

// Package cmdutil makes what commands work with: the streams, the settings of environment
// and global flags, the directories, the cluster, release records, and the action.Config
// that holds these. Each is made when a command first asks for it, so that one that needs
// no cluster never looks for one.
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

// Factory is what every command gets. It belongs to one run of the program and is
// not safe for concurrent use, with the exception of [Factory.Report].
type Factory struct {
	term.Streams
	Settings Settings
	// Now is the clock.
	Now func() time.Time
	// Context is the command's, for what is read where none is passed on: it ends when
	// the user interrupts. [New] sets one that never ends.
	Context context.Context

	kube         lazyKube
	repositories *action.Repositories
	plugins      *Plugins
	board        func() *ui.Board
	web          func() *fetch.Client
	content      func() *fetch.Cache
	closers      []func() error
}

// New returns a Factory over the given streams, its settings read from the
// streams' environment. Output without a stream is discarded.
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
	f.wireFetch()
	return f
}

// ExitError ends the program with a code of its own, and without a word: all has
// been said.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Report returns where operations report their progress: the error stream, as
// lines, and on a terminal as a live table of what is awaited.
func (f *Factory) Report() progress.Func { return f.board().Report }

// Lines is the output stream for lines that come while downloads are drawn on the
// error stream. Untrusted text cannot steer a terminal.
func (f *Factory) Lines() io.Writer { return f.board().Above(term.SafeWriter(f.Out)) }
