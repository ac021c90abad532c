// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// disableEcho makes the terminal f not echo input until restore is called, which discards unread
// input if drop is true. Line editing and interrupts still work, but an interrupt does not flush
// the queues, because terminals would also discard concurrent output: the message about the
// interrupt.
func disableEcho(f *os.File) (read func() (string, error), restore func(drop bool), err error) {
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
		_ = unix.IoctlSetTermios(fd, set, before) // nothing can be done about an error
	}, nil
}

// readLine reads a line.
func readLine(f *os.File) (string, error) {
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
