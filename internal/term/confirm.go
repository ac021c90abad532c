// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	allow = "Allow? (y, yes, n, no) > "
	// maxTries is the number of times that a question is asked after an invalid answer.
	maxTries = 5
)

// A DeclinedError is returned if the answer is not yes.
type DeclinedError struct {
	// Reason completes a sentence about what was asked for: "they were refused".
	Reason string
}

func (e *DeclinedError) Error() string { return e.Reason }

// Confirm asks question, which ends in a newline, with ask (see [Streams.Ask]) until the answer is
// yes or no. It returns nil for yes, and a [*DeclinedError] for no, at the end of input and after
// too many invalid answers. If ctx ends first it returns its error, although ask may still be
// reading.
func Confirm(ctx context.Context, ask func(prompt string) (string, error), question string) error {
	prompt := question + allow
	for range maxTries {
		answer, err := Until(ctx, func() (string, error) { return ask(prompt) })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return &DeclinedError{"the question was left without an answer"}
		case err != nil:
			return fmt.Errorf("ask for permission: %w", err)
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return &DeclinedError{"they were refused"}
		}
		prompt = allow
	}
	return &DeclinedError{"there was no answer that is y, yes, n or no"}
}
