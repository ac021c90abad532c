// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// errStopped is returned for a message after the connection was aborted.
var errStopped = errors.New("the operation has ended")

// hostConn is the connection to the host. A goroutine reads ahead, so that the end of the
// stream is noticed while a script runs.
type hostConn struct {
	in    chan wire.Message
	ended chan struct{} // closed when nothing more will arrive; err says why
	err   error
	gone  chan struct{} // closed by close

	mu   sync.Mutex // around writing
	conn *wire.Conn
	open bool // a request was read and not answered yet
	shut bool
}

func newHostConn(r io.Reader, w io.Writer) *hostConn {
	l := &hostConn{
		in: make(chan wire.Message), ended: make(chan struct{}), gone: make(chan struct{}),
		conn: wire.NewConn(r, w),
	}
	go l.readAhead()
	return l
}

func (l *hostConn) readAhead() {
	for {
		m, err := l.conn.Receive()
		if err != nil {
			l.err = err
			close(l.ended)
			return
		}
		select {
		case l.in <- m:
		case <-l.gone:
			return
		}
	}
}

// close stops the reading goroutine as soon as its read returns.
func (l *hostConn) close() { close(l.gone) }

// next returns the next message.
func (l *hostConn) next() (wire.Message, error) {
	select {
	case m := <-l.in:
		return m, nil
	case <-l.ended:
		return wire.Message{}, l.err
	case <-l.gone:
		return wire.Message{}, errStopped
	}
}

// receive reads a request.
func (l *hostConn) receive() (wire.Message, error) {
	m, err := l.next()
	if err == nil {
		l.mu.Lock()
		l.open = true
		l.mu.Unlock()
	}
	return m, err
}

func (l *hostConn) send(m wire.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return errStopped
	}
	return l.conn.Send(m)
}

// ask asks the host and returns the body of its answer.
func (l *hostConn) ask(m wire.Message) (map[string]any, error) {
	if err := l.send(m); err != nil {
		return nil, err
	}
	a, err := l.next()
	if err != nil {
		return nil, err
	}
	switch a.Kind {
	case wire.Answer:
		return a.Body, nil
	case wire.Refuse:
		text, _ := a.Body["message"].(string)
		return nil, refusal(text)
	}
	return nil, fmt.Errorf("a %s message is not an answer", a.Kind)
}

// refusal is the host's refusal to answer. A script may catch it.
type refusal string

func (r refusal) Error() string { return string(r) }

// reply answers the request. For an answer that is too large or nests too deep it sends an
// error.
func (l *hostConn) reply(m wire.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return errStopped
	}
	l.open = false
	err := l.conn.Send(m)
	if errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrDepth) {
		return l.conn.Send(wire.Message{Kind: wire.Fail, Body: map[string]any{
			"message": "what the script made cannot be sent: " + err.Error(), "chart": int64(-1),
		}})
	}
	return err
}

// abort answers the request in place of the goroutine that works on it, within timeout, and
// shuts the connection. It returns false and does nothing if the request was answered before.
func (l *hostConn) abort(m wire.Message, timeout time.Duration) bool {
	done := make(chan bool, 1)
	go func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		open := l.open && !l.shut
		if open {
			l.open, l.shut = false, true
			l.conn.Send(m) //nolint:errcheck // the host notices the end of the stream
		}
		done <- open
	}()
	select {
	case open := <-done:
		return open
	case <-time.After(timeout):
		return true
	}
}
