// SPDX-License-Identifier: Apache-2.0

package term

import (
	"testing"

	"github.com/moonhelm/moonhelm/internal/termtest"
)

func TestMovableTerminal(t *testing.T) {
	tty, _ := termtest.Open(t, 33, 7)
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
