// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// AskSecret is [Streams.AskSecretUntil] without an end.
func (s Streams) AskSecret(question string) (string, error) {
	return s.AskSecretUntil(context.Background(), question)
}

// AskSecretUntil is [Streams.Ask] for what must not be seen: on a terminal the
// answer is not shown, and it is returned as it was typed, without the end of the
// line. When ctx ends first, the terminal shows again what is typed.
func (s Streams) AskSecretUntil(ctx context.Context, question string) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.Ask(question)
	}
	// Before the question is seen: the user may be quick, or paste.
	read, restore, err := hush(f)
	if err != nil {
		return "", err
	}
	defer func() { restore(ctx.Err() != nil) }() // half a secret is nothing for the next program
	if s.Err != nil {
		fmt.Fprint(s.Err, question)
		defer fmt.Fprintln(s.Err) // the user's own end of line was not shown either
	}
	return Until(ctx, read)
}
