// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// acceptHooksEnv is the environment variable that has the effect of --yes on stored hooks, for
// every command.
const acceptHooksEnv = "HELM_ACCEPT_STORED_HOOKS"

// confirmHooks returns a function that asks whether the hooks of a stored record may create objects
// outside the release's namespace. It does not ask if yes or HELM_ACCEPT_STORED_HOOKS is set.
func (f *Factory) confirmHooks(yes bool) func(context.Context, *release.Release, []action.OutsideObject) error {
	return func(ctx context.Context, rel *release.Release, outside []action.OutsideObject) error {
		if accepted, err := f.BoolEnv(acceptHooksEnv); yes || accepted || err != nil {
			return err
		}
		refused := &action.OutsideError{Release: rel.Name, Objects: outside, Problem: "there is no terminal to ask at"}
		if !f.Interactive() {
			return refused
		}
		question := fmt.Sprintf("Hooks in the record of release %q create objects outside its namespace:\n",
			term.SafeLine(rel.Name))
		for _, o := range outside {
			question += "  " + term.SafeLine(o.String()) + "\n"
		}
		question += "They run with your permissions, and come from the record, not from a chart that you have named.\n"
		err := term.Confirm(ctx, f.Ask, question)
		if declined, ok := errors.AsType[*term.DeclinedError](err); ok {
			refused.Problem = declined.Reason
			return refused
		}
		return err
	}
}

// BoolEnv returns the value of a boolean environment variable, false if it is empty.
func (f *Factory) BoolEnv(name string) (bool, error) {
	text := f.Getenv(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is %q, must be true or false", name, term.SafeLine(text))
	}
	return on, nil
}
