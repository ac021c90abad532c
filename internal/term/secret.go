// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// AskSecret is [Streams.AskSecretUntil] without a context.
func (s Streams) AskSecret(question string) (string, error) {
	return s.AskSecretUntil(context.Background(), question)
}

// AskSecretUntil is [Streams.Ask] for secrets: a terminal does not echo the answer, and only the
// line end is trimmed. If ctx ends first, the terminal's echo is restored.
func (s Streams) AskSecretUntil(ctx context.Context, question string) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.Ask(question)
	}
	// Disable echo before asking: the user may type ahead or paste.
	read, restore, err := disableEcho(f)
	if err != nil {
		return "", err
	}
	defer func() { restore(ctx.Err() != nil) }() // drop a partial secret: the next program must not read it
	if s.Err != nil {
		fmt.Fprint(s.Err, question)
		defer fmt.Fprintln(s.Err) // the line end was not echoed either
	}
	return Until(ctx, read)
}
