// SPDX-License-Identifier: Apache-2.0

package script

// Hint says what a user of the command line can do about a limit that was reached, "" about
// anything else.
func (e *Error) Hint() string {
	switch e.Limit {
	case "cpu":
		return "--script-timeout gives the scripts more time, if they need it"
	case "memory":
		return "HELM_SCRIPT_MEMORY=512Mi gives the scripts more memory, if they need it"
	}
	return ""
}
