// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io"
)

// LimitWriter writes to W, and fails after Left bytes. It has no other method, so that io.Copy uses
// Write.
type LimitWriter struct {
	W    io.Writer
	Left int64
	// Err is the error beyond the limit; nil means [ErrTooMuch].
	Err error
	// Exceeded reports that the limit was exceeded.
	Exceeded bool
}

// ErrTooMuch is the default error of a [LimitWriter].
var ErrTooMuch = errors.New("it writes too much")

// Write implements [io.Writer]. A write beyond the limit writes nothing.
func (l *LimitWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.Left {
		l.Exceeded = true
		if l.Err != nil {
			return 0, l.Err
		}
		return 0, ErrTooMuch
	}
	n, err := l.W.Write(p)
	l.Left -= int64(n)
	return n, err
}

// HeadWriter writes the first Left bytes to W and discards the rest.
type HeadWriter struct {
	W    io.Writer
	Left int
}

// Write implements [io.Writer]. It fails only if W does.
func (h *HeadWriter) Write(p []byte) (int, error) {
	n := min(len(p), h.Left)
	h.Left -= n
	if _, err := h.W.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
