// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// hush has the terminal f show nothing of what is typed, until restore. Lines
// are edited and interrupts are sent as before.
func hush(f *os.File) (read func() (string, error), restore func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil, err
	}
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ICANON | unix.ISIG
	silent.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &silent); err != nil {
		return nil, nil, err
	}
	read = func() (string, error) { return readLine(f) }
	return read, func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, nil // there is nobody to tell
}

// readLine reads what was typed up to the end of the line.
func readLine(f *os.File) (string, error) {
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
