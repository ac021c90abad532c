// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// AskSecret is [Streams.Ask] for what must not be seen: on a terminal the answer
// is not shown, and it is returned as it was typed, without the end of the line.
func (s Streams) AskSecret(question string) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.Ask(question)
	}
	if s.Err != nil {
		fmt.Fprint(s.Err, question)
		defer fmt.Fprintln(s.Err) // the user's own end of line was not shown either
	}
	secret, err := term.ReadPassword(int(f.Fd()))
	return string(secret), err
}
