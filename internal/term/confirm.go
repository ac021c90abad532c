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
	// maxTries is how often a person is asked who answers something else.
	maxTries = 5
)

// A DeclinedError is returned where a question was not answered with yes.
type DeclinedError struct {
	// Reason completes a sentence about what was asked for: "they were refused".
	Reason string
}

func (e *DeclinedError) Error() string { return e.Reason }

// Confirm shows question, whose lines end, with ask (see [Streams.Ask]) until it is
// answered with yes or no. It returns nil for yes, a [*DeclinedError] for no, for the
// end of input and for too many other answers, and ctx's error when ctx ends first:
// who reads a terminal cannot be interrupted.
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
