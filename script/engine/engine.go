// SPDX-License-Identifier: Apache-2.0

// Package engine runs charts' scripts in Lua. It is the process' end of the protocol of
// package wire: [Serve] loads the scripts, then runs their handlers one request at a time,
// and asks the host for what is too large to be sent along. All charts of one operation share
// a Lua runtime, in which each has an environment of its own.
//
// Scripts are not trusted: environment.go has what they can reach, limits.go what they may
// use. The host's messages are bounded and checked too. The package opens no files and no
// sockets, except by modules that need a permission. It cannot contain everything: a stack
// overflow or a huge allocation ends the process.
package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Options of [Serve]. The zero value serves inside the caller's process.
type Options struct {
	// Confine is called with the first request before it is carried out; [Needs] returns
	// what it asks for. An error ends Serve. nil does nothing.
	Confine func(first wire.Message) error
	// Exit ends the process, which is then the engine's own: Go's limits are set for the
	// scripts, and a script that cannot be stopped otherwise ends the process with status 3.
	// nil is a process that does other work too: such a script runs on, see [InProcess].
	Exit func(code int)
}

// maxStack bounds the Go stack in a process of the engine's own. Metamethods that call each
// other endlessly reach it.
const maxStack = 64 << 20

// ErrGone is returned by [Serve] when the host closes the stream in the middle of a request.
var ErrGone = errors.New("the other end of the scripts' pipe is gone")

// Serve answers requests until r ends, which is not an error. It returns an error when ctx is
// done, when a script that exceeds a limit cannot be stopped, and for a violation of the
// protocol. w is written from one goroutine at a time.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	if o.Exit != nil {
		debug.SetMaxStack(maxStack)
	}
	e := &engine{host: newHostConn(bufio.NewReaderSize(r, 64<<10), w), exit: o.Exit, confine: o.Confine,
		failed: make(chan error, 1)}
	defer e.host.close()
	ended := make(chan error, 1)
	go func() { ended <- e.serve() }()
	select {
	case err := <-ended:
		return err
	case err := <-e.failed:
		return err
	case <-ctx.Done():
		e.stopped.Store(true)
		return ctx.Err()
	}
}

// Needs returns the permissions of all charts of a start request, and its limits. Other
// requests need no permissions and have the limits of [wire.DefaultLimits].
func Needs(first wire.Message) (grants []string, l wire.Limits) {
	l = limitsOf(first.Body)
	charts, _ := first.Body["charts"].([]any)
	seen := map[string]bool{}
	for _, c := range charts {
		fields, _ := c.(map[string]any)
		list, _ := fields["grants"].([]any)
		for _, g := range list {
			if name, ok := g.(string); ok && !seen[name] {
				seen[name] = true
				grants = append(grants, name)
			}
		}
	}
	return grants, l
}

func limitsOf(body map[string]any) wire.Limits {
	l := wire.DefaultLimits()
	m, _ := body["limits"].(map[string]any)
	if n, ok := m["cpu"].(int64); ok && n > 0 && n < 1<<40 {
		l.CPU = time.Duration(n) * time.Millisecond
	}
	if n, ok := m["memory"].(int64); ok && n > 0 && n < 1<<50 {
		l.Memory = n
	}
	if n, ok := m["output"].(int64); ok && n > 0 {
		l.Output = n
	}
	return l
}

// serve is the loop over requests.
func (e *engine) serve() error {
	defer e.close()
	for first := true; ; first = false {
		m, err := e.host.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if first {
			e.limits = limitsOf(m.Body)
			if e.confine != nil {
				if err := e.confine(m); err != nil {
					return fmt.Errorf("confine the script process: %w", err)
				}
			}
			e.clock.limit = e.limits.CPU
			e.prepareMemory()
		}
		answer, err := e.answer(m)
		if err != nil {
			return err
		}
		if err := e.host.reply(answer); err != nil {
			return fmt.Errorf("answer a request: %w", err)
		}
	}
}

// close closes what scripts left open.
func (e *engine) close() {
	defer func() {
		_ = recover() // what scripts left behind may be in any state
	}()
	for _, done := range e.cleanup {
		done(true)
	}
	if e.r != nil && e.dead == nil {
		e.r.Close(nil)
	}
}

// answer carries out a request. An error means that it cannot be answered.
func (e *engine) answer(m wire.Message) (wire.Message, error) {
	work := (*engine).start
	switch m.Kind {
	case wire.Start:
	case wire.Check:
		work = (*engine).check
	case wire.Call:
		work = (*engine).call
	case wire.Template:
		work = (*engine).template
	case wire.Test:
		work = (*engine).runTest
	default:
		return wire.Message{}, fmt.Errorf("a %s message is not a request", m.Kind)
	}
	answer, err := e.guarded(func() (map[string]any, error) {
		if e.r == nil && m.Kind != wire.Start && m.Kind != wire.Check {
			return nil, errors.New("the scripts were not started")
		}
		return work(e, m.Body)
	})
	e.addCoverage(answer)
	return answer, err
}
