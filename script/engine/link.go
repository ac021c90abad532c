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

// errStopped is what a question is answered with once no one listens.
var errStopped = errors.New("the operation has ended")

// link is the stream to the host. One goroutine reads ahead, so that the end of
// the stream is noticed while a script runs.
type link struct {
	in    chan wire.Message
	ended chan struct{} // closed when nothing more will arrive; err says why
	err   error
	gone  chan struct{} // closed by close

	mu   sync.Mutex // around writing
	conn *wire.Conn
	open bool // a request was read and not answered yet
	shut bool
}

func newLink(r io.Reader, w io.Writer) *link {
	l := &link{
		in: make(chan wire.Message), ended: make(chan struct{}), gone: make(chan struct{}),
		conn: wire.NewConn(r, w),
	}
	go l.pump()
	return l
}

func (l *link) pump() {
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
func (l *link) close() { close(l.gone) }

// next is the next message, whatever it is.
func (l *link) next() (wire.Message, error) {
	select {
	case m := <-l.in:
		return m, nil
	default:
	}
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
func (l *link) receive() (wire.Message, error) {
	m, err := l.next()
	if err == nil {
		l.mu.Lock()
		l.open = true
		l.mu.Unlock()
	}
	return m, err
}

func (l *link) send(m wire.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return errStopped
	}
	return l.conn.Send(m)
}

// ask puts a question to the host and returns what it answers.
func (l *link) ask(m wire.Message) (map[string]any, error) {
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

// refusal is an answer too: the script may catch it.
type refusal string

func (r refusal) Error() string { return string(r) }

// finish answers the request. An answer that cannot be sent, because a value in
// it is too large or nests too deep, becomes one that says so.
func (l *link) finish(m wire.Message) error {
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

// abort answers the request in place of who works on it, waits for that no
// longer than patience, and lets nothing be written afterwards. It is false, and
// nothing happens, where the request was answered already.
func (l *link) abort(m wire.Message, patience time.Duration) bool {
	done := make(chan bool, 1)
	go func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		open := l.open && !l.shut
		if open {
			l.open, l.shut = false, true
			l.conn.Send(m) //nolint:errcheck // there is no one left to tell
		}
		done <- open
	}()
	select {
	case open := <-done:
		return open
	case <-time.After(patience):
		return true
	}
}
