// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package term

import (
	"os"

	"golang.org/x/term"
)

// hush has the terminal f show nothing of what is typed while it is read. What
// was typed before that shows.
func hush(f *os.File) (read func() (string, error), restore func(drop bool), err error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, nil, err
	}
	read = func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	}
	return read, func(bool) { _ = term.Restore(fd, before) }, nil // there is no one to tell
}
