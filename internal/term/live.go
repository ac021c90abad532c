// SPDX-License-Identifier: Apache-2.0

package term

import (
	"os"
	"runtime"

	"golang.org/x/term"
)

// Size returns the size of w in columns and rows, or 80 by 24 if it is unknown or w is not a
// terminal.
func Size(w any) (columns, rows int) {
	if f, ok := w.(*os.File); ok {
		if c, r, err := term.GetSize(int(f.Fd())); err == nil && c > 0 && r > 0 {
			return c, r
		}
	}
	return 80, 24
}

// Movable reports whether the cursor of w can be moved: whether it is a terminal that supports
// escape sequences. NO_COLOR does not matter.
func (s Streams) Movable(w any) bool {
	kind := s.env("TERM")
	if kind == "dumb" || kind == "" && runtime.GOOS != "windows" {
		return false
	}
	return IsTerminal(w) && supportsEscapes(w.(*os.File)) // IsTerminal is true only for files
}
