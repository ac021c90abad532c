// SPDX-License-Identifier: Apache-2.0

package modules

import "os/exec"

// shell is the command line by which a command is run.
func shell(text string) (string, []string) { return "cmd", []string{"/C", text} }

// signalOf is the signal that ended a command: there are none here.
func signalOf(*exec.ExitError) int { return 0 }
