// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/internal/term"
)

// newTerminal returns a terminal for the program under test.
func newTerminal(t *testing.T) *os.File {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this system lends no terminals:", err)
	}
	t.Cleanup(func() { screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return tty
}

func TestModesAtATerminal(t *testing.T) {
	for _, test := range []struct {
		mode           Mode
		tables, chatty bool
	}{{Auto, true, true}, {"", true, true}, {Plain, false, true}, {None, false, false}} {
		t.Run(fmt.Sprintf("mode %q", test.mode), func(t *testing.T) {
			vars := map[string]string{"TERM": "xterm"}
			b := NewBoard(term.Streams{Err: newTerminal(t), Getenv: func(name string) string { return vars[name] }}, test.mode, false)
			if b.tables() != test.tables || b.chatty != test.chatty {
				t.Errorf("got tables %t, steps %t, want %t, %t", b.tables(), b.chatty, test.tables, test.chatty)
			}
		})
	}
}
