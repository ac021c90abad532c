// SPDX-License-Identifier: Apache-2.0

package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// supportsEscapes reports whether the console supports escape sequences, and enables them.
func supportsEscapes(f *os.File) bool {
	const codes = windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	console := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return mode&codes != 0 || windows.SetConsoleMode(console, mode|codes) == nil
}
