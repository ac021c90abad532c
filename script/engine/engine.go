// SPDX-License-Identifier: Apache-2.0

// Package engine runs charts' scripts: it is what the process that [Serve]s
// does after it was confined, and the other end of package wire's conversation.
//
// In come a stream of requests (scripts, then calls of their handlers), out go
// answers, in between questions for what a script looks at: nothing that it
// does not look at crosses. All charts of one operation share one Lua runtime
// with an environment each.
//
// It trusts neither end. A script is untrusted: what it can reach is listed
// in environment.go, what it may use up in limits.go. What arrives on the
// stream is bounded and checked. The package opens no files and no sockets (the
// modules that a permission gives do), knows no charts beyond what a request
// says, and cannot contain everything: a Go stack that overflows and memory
// that is taken at one blow end the process, which is why there is one.
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
	// Confine is called with the first request before anything in it is looked
	// at; [Needs] tells what the scripts were granted. An error ends Serve. Nil
	// does nothing.
	Confine func(first wire.Message) error
	// Exit ends the process, which is then the engine's own: Go's limits are set
	// for the scripts, and a script that cannot be stopped otherwise is stopped
	// by ending the process with status 3. Nil means that the process is
	// someone else's: such a script is left behind, see [InProcess].
	Exit func(code int)
}

// maxStack bounds the Go stack in a process of the engine's own. Metamethods
// that call each other without end reach it.
const maxStack = 64 << 20

// ErrGone is returned by [Serve] when the other end went away in the middle of
// a request.
var ErrGone = errors.New("the other end of the scripts' pipe is gone")

// Serve answers requests until r ends, which is not an error. It returns early when
// ctx ends, when a limit was exceeded that leaves no other way, or when what
// arrives is not a protocol. w is written from one goroutine at a time.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	if o.Exit != nil {
		debug.SetMaxStack(maxStack)
	}
	e := &engine{link: newLink(bufio.NewReaderSize(r, 64<<10), w), exit: o.Exit, confine: o.Confine,
		failed: make(chan error, 1)}
	defer e.link.close()
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

// Needs tells what a start request's charts were granted, all of them together,
// and its limits. Other requests, and what makes no sense, need nothing and
// have the limits of [wire.DefaultLimits].
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
		m, err := e.link.receive()
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
			e.ownMemory()
		}
		answer, err := e.answer(m)
		if err != nil {
			return err
		}
		if err := e.link.finish(answer); err != nil {
			return fmt.Errorf("answer a request: %w", err)
		}
	}
}

// close lets go of what scripts left open.
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

// answer carries out a request. An error means that there is no answer to give.
func (e *engine) answer(m wire.Message) (wire.Message, error) {
	var work func() (map[string]any, error)
	switch m.Kind {
	case wire.Start:
		work = func() (map[string]any, error) { return e.start(m.Body) }
	case wire.Call:
		work = func() (map[string]any, error) { return e.call(m.Body) }
	case wire.Template:
		work = func() (map[string]any, error) { return e.template(m.Body) }
	case wire.Check:
		return e.guarded(func() (map[string]any, error) { return e.check(m.Body) })
	default:
		return wire.Message{}, fmt.Errorf("a %s message is not a request", m.Kind)
	}
	return e.guarded(work)
}
