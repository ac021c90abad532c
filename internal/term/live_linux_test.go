// SPDX-License-Identifier: Apache-2.0

package term

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMovableTerminal(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this system lends no terminals:", err)
	}
	defer screen.Close()
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 33})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	for kind, want := range map[string]bool{"xterm-256color": true, "dumb": false, "": false} {
		s := Streams{Getenv: func(name string) string {
			if name == "NO_COLOR" {
				return "1"
			}
			return kind
		}}
		if got := s.Movable(tty); got != want {
			t.Errorf("TERM=%s: %t", kind, got)
		}
	}
	if columns, rows := Size(tty); columns != 33 || rows != 7 {
		t.Errorf("%d by %d", columns, rows)
	}
}
