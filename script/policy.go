// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/truncate"
)

// A PermissionError is returned when charts do not get the permissions that they ask for.
// No script has run.
type PermissionError struct {
	Asks []Ask // what was not granted
	// Problem is the reason: "they were refused".
	Problem string
}

func (e *PermissionError) Error() string {
	wants := make([]string, len(e.Asks))
	for i, a := range e.Asks {
		wants[i] = fmt.Sprintf("chart %s (%s)", strconv.Quote(truncate.Bytes(a.Chart, maxName, "…")),
			strings.Join(a.Permissions, ", "))
	}
	return fmt.Sprintf("permissions for the scripts of %s: %s", strings.Join(wants, ", "), e.Problem)
}

// Policy answers charts that ask for permissions. The zero value refuses.
type Policy struct {
	// Yes grants everything.
	Yes bool
	// Accept, if not nil, grants these permissions and no others, without a question. It
	// takes precedence over Yes.
	Accept []string
	// Interactive is set where a person can be asked.
	Interactive bool
	// Ask shows a prompt to that person and returns the answer. nil asks no one.
	Ask func(prompt string) (answer string, err error)
}

// Approve is a [Host.Approve]. What is not granted is a [*PermissionError]; an unknown name
// in p.Accept is an error too.
func (p Policy) Approve(ctx context.Context, asks []Ask) error {
	switch {
	case len(asks) == 0:
		return nil
	case p.Accept != nil:
		return p.accept(asks)
	case p.Yes:
		return nil
	case !p.Interactive || p.Ask == nil:
		return &PermissionError{Asks: asks, Problem: "there is no terminal to ask at"}
	}
	return p.ask(ctx, asks)
}

// accept grants the permissions in p.Accept.
func (p Policy) accept(asks []Ask) error {
	if err := CheckPermissionNames(p.Accept); err != nil {
		return err
	}
	var more []Ask
	for _, a := range asks {
		rest := slices.DeleteFunc(slices.Clone(a.Permissions),
			func(name string) bool { return slices.Contains(p.Accept, name) })
		if len(rest) > 0 {
			more = append(more, Ask{Chart: a.Chart, Path: a.Path, Permissions: rest})
		}
	}
	if len(more) > 0 {
		return &PermissionError{Asks: more, Problem: "they are not among those that are accepted"}
	}
	return nil
}

// ask puts one question for all charts together.
func (p Policy) ask(ctx context.Context, asks []Ask) error {
	var b strings.Builder
	for _, a := range asks {
		b.WriteString(a.String())
		b.WriteByte('\n')
	}
	err := term.Confirm(ctx, p.Ask, b.String())
	var declined *term.DeclinedError
	if errors.As(err, &declined) {
		return &PermissionError{Asks: asks, Problem: declined.Reason}
	}
	return err
}
