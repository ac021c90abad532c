// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// hush has the terminal f show nothing of what is typed, until restore, which may
// drop what was typed and not read. Lines are edited and interrupts are sent as
// before; but an interrupt drops nothing by itself, because terminals then drop
// what is written at that moment too: the word that it was interrupted.
func hush(f *os.File) (read func() (string, error), restore func(drop bool), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil, err
	}
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ICANON | unix.ISIG | unix.NOFLSH
	silent.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &silent); err != nil {
		return nil, nil, err
	}
	read = func() (string, error) { return readLine(f) }
	return read, func(drop bool) {
		set := uint(setTermios)
		if drop {
			set = dropTermios
		}
		_ = unix.IoctlSetTermios(fd, set, before) // there is no one to tell
	}, nil
}

// readLine reads what was typed up to the end of the line.
func readLine(f *os.File) (string, error) {
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
