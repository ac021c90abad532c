// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io"
)

// LimitWriter passes bytes on to W and fails where more come than are Left. It has no
// method but Write, so that copying does not go around it.
type LimitWriter struct {
	W    io.Writer
	Left int64
	// Err is what a write fails with, nil for [ErrTooMuch].
	Err error
	// Exceeded is set once more was written.
	Exceeded bool
}

// ErrTooMuch is the error of a [LimitWriter] that was given no other.
var ErrTooMuch = errors.New("it writes too much")

// Write implements [io.Writer]. What does not fit is not written in part.
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

// HeadWriter passes the first Left bytes on to W and drops the rest.
type HeadWriter struct {
	W    io.Writer
	Left int
}

// Write implements [io.Writer]; it fails only where W does.
func (h *HeadWriter) Write(p []byte) (int, error) {
	n := min(len(p), h.Left)
	h.Left -= n
	if _, err := h.W.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
