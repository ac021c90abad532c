// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package term

import (
	"os"

	"golang.org/x/term"
)

// disableEcho makes the terminal f not echo input while it is read. Input typed before that is
// echoed.
func disableEcho(f *os.File) (read func() (string, error), restore func(drop bool), err error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, nil, err
	}
	read = func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	}
	return read, func(bool) { _ = term.Restore(fd, before) }, nil // nothing can be done about an error
}
