// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Process is an engine that runs in this process.
type Process struct {
	r      *io.PipeReader
	w      *io.PipeWriter
	inner  []io.Closer
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// InProcess starts an engine in this process, for programs that cannot start another or trust
// the charts that they run.
//
// The limits and what a script can reach are the same as in a process of its own. But only a
// process contains a script whose metamethods call each other endlessly, which overflows Go's
// stack and ends the process, and one that allocates faster than it is measured. A script
// that is stopped may run on in the background until it has used several times its limit.
// With the permissions io and os, files and commands are those of this process.
func InProcess(ctx context.Context, _ wire.Limits) (*Process, error) {
	ctx, cancel := context.WithCancel(ctx)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &Process{r: outR, w: inW, inner: []io.Closer{inR, outW}, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = Serve(ctx, inR, outW, Options{})
		for _, c := range p.inner {
			c.Close() //nolint:errcheck // pipes do not fail to close
		}
	}()
	return p, nil
}

// Read reads the engine's messages.
func (p *Process) Read(b []byte) (int, error) { return p.r.Read(b) }

// Write writes messages to the engine.
func (p *Process) Write(b []byte) (int, error) { return p.w.Write(b) }

// Kill ends the engine. A script that runs goes on in the background until it
// asks the host something or its limits end it.
func (p *Process) Kill() error {
	p.cancel()
	return errors.Join(p.w.Close(), p.r.Close())
}

// Wait waits until the engine has ended and returns its error, nil after [Process.Kill].
func (p *Process) Wait() error {
	<-p.done
	p.cancel()
	if errors.Is(p.err, context.Canceled) || errors.Is(p.err, io.ErrClosedPipe) {
		return nil
	}
	return p.err
}
