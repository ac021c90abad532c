// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"testing"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/termtest"
)

func TestModesAtATerminal(t *testing.T) {
	for _, test := range []struct {
		mode           Mode
		tables, chatty bool
	}{{Auto, true, true}, {"", true, true}, {Plain, false, true}, {None, false, false}} {
		t.Run(fmt.Sprintf("mode %q", test.mode), func(t *testing.T) {
			vars := map[string]string{"TERM": "xterm"}
			tty, _ := termtest.Open(t, 0, 0)
			b := NewBoard(term.Streams{Err: tty, Getenv: func(name string) string { return vars[name] }}, test.mode, false)
			if b.tables() != test.tables || b.chatty != test.chatty {
				t.Errorf("got tables %t, steps %t, want %t, %t", b.tables(), b.chatty, test.tables, test.chatty)
			}
		})
	}
}
