// SPDX-License-Identifier: Apache-2.0

package term

import (
	"os"
	"runtime"

	"golang.org/x/term"
)

// Size is the size of w in columns and rows, 80 by 24 where it is not a
// terminal or does not say.
func Size(w any) (columns, rows int) {
	if f, ok := w.(*os.File); ok {
		if c, r, err := term.GetSize(int(f.Fd())); err == nil && c > 0 && r > 0 {
			return c, r
		}
	}
	return 80, 24
}

// Movable reports whether the cursor of w can be moved, so that what was drawn
// can be drawn over: whether it is a terminal that understands escape codes.
// NO_COLOR does not speak about that.
func (s Streams) Movable(w any) bool {
	kind := s.env("TERM")
	if kind == "dumb" || kind == "" && runtime.GOOS != "windows" {
		return false
	}
	return IsTerminal(w) && understands(w.(*os.File)) // IsTerminal knows only files
}
