// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package term

import "os"

// supportsEscapes reports whether the terminal supports escape sequences. TERM has been checked
// already.
func supportsEscapes(*os.File) bool { return true }
