// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// PermissionError tells that charts did not get the permissions that they ask
// for. No script has run.
type PermissionError struct {
	Asks []Ask
	// Problem is why: "they were refused".
	Problem string
}

func (e *PermissionError) Error() string {
	wants := make([]string, len(e.Asks))
	for i, a := range e.Asks {
		wants[i] = fmt.Sprintf("chart %s (%s)", strconv.Quote(clip(a.Chart, maxName)), strings.Join(a.Permissions, ", "))
	}
	return fmt.Sprintf("permissions for the scripts of %s: %s", strings.Join(wants, ", "), e.Problem)
}

// Policy is how a user answers charts that ask for permissions.
type Policy struct {
	// Yes accepts everything (--yes).
	Yes bool
	// Accept accepts exactly these, and nothing is asked (--accept-perms); nil
	// where the user did not say. It wins over Yes.
	Accept []string
	// Interactive tells that a person can be asked.
	Interactive bool
	// Ask shows a text to that person and returns the answer.
	Ask func(prompt string) (answer string, err error)
}

const (
	allow = "Allow? (y, yes, n, no) > "
	// maxTries is how often a person is asked who answers something else.
	maxTries = 5
)

// Approve is what [Host.Approve] is for.
func (p Policy) Approve(ctx context.Context, asks []Ask) error {
	switch {
	case len(asks) == 0:
		return nil
	case p.Accept != nil:
		return p.accept(asks)
	case p.Yes:
		return nil
	case !p.Interactive || p.Ask == nil:
		return &PermissionError{Asks: asks, Problem: "there is no terminal to ask at; --yes grants all of them, --accept-perms " + strings.Join(union(asks), ",") + " exactly these"}
	}
	return p.ask(ctx, asks)
}

// accept holds what charts want against p.Accept.
func (p Policy) accept(asks []Ask) error {
	if err := CheckPermissionNames(p.Accept); err != nil {
		return fmt.Errorf("--accept-perms: %w", err)
	}
	var more []Ask
	for _, a := range asks {
		rest := slices.DeleteFunc(slices.Clone(a.Permissions), func(name string) bool { return slices.Contains(p.Accept, name) })
		if len(rest) > 0 {
			more = append(more, Ask{Chart: a.Chart, Path: a.Path, Permissions: rest})
		}
	}
	if len(more) > 0 {
		return &PermissionError{Asks: more, Problem: "--accept-perms does not grant them"}
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
	prompt := b.String() + allow
	for range maxTries {
		answer, err := p.answer(ctx, prompt)
		if errors.Is(err, io.EOF) {
			return &PermissionError{Asks: asks, Problem: "the question was left without an answer"}
		}
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return &PermissionError{Asks: asks, Problem: "they were refused"}
		}
		prompt = allow
	}
	return &PermissionError{Asks: asks, Problem: "there was no answer that is y, yes, n or no"}
}

// answer waits for a person, or for the end of the operation: whoever reads a
// terminal cannot be interrupted.
func (p Policy) answer(ctx context.Context, prompt string) (string, error) {
	type reply struct {
		text string
		err  error
	}
	got := make(chan reply, 1)
	go func() {
		text, err := p.Ask(prompt)
		got <- reply{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-got:
		if r.err != nil {
			return "", fmt.Errorf("ask about permissions: %w", r.err)
		}
		return r.text, nil
	}
}

// union are all permissions that are asked for, each once.
func union(asks []Ask) []string {
	var out []string
	for _, name := range PermissionNames() {
		if slices.ContainsFunc(asks, func(a Ask) bool { return slices.Contains(a.Permissions, name) }) {
			out = append(out, name)
		}
	}
	return out
}
