// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Hooks say how annotation hooks run. The zero value runs none.
type Hooks struct {
	Cluster *kube.Client // nil runs none
	Records *storage.Storage
	// Timeout bounds each hook; 0 is five minutes.
	Timeout time.Duration
	// TakeOwnership lets hooks replace objects that are not the release's.
	TakeOwnership bool
	// Yes accepts that hooks of a record create objects outside the release's
	// namespace.
	Yes bool
	// Approved are hooks that need no such confirmation; nil is none.
	Approved *action.ApprovedHooks
}

// Responder runs hooks as h says.
func (e *Env) Responder(h Hooks) action.HookRunner {
	return action.HookRunner{
		Cluster: h.Cluster, Progress: e.Report(), Timeout: h.Timeout, Now: e.Now,
		TakeOwnership: h.TakeOwnership, Records: h.Records, Confirm: e.confirmHooks(h.Yes), Approved: h.Approved,
	}
}

// Bus is the event bus of one operation, on which annotation hooks run as h says.
func (e *Env) Bus(h Hooks) *event.Bus {
	bus := &event.Bus{}
	if h.Cluster != nil {
		e.Responder(h).Register(bus)
	}
	return bus
}

// acceptHooks is the environment variable that accepts, for every command, what
// [Hooks.Yes] accepts.
const acceptHooks = "HELM_ACCEPT_STORED_HOOKS"

// confirmHooks asks whether the hooks of a record may create objects outside the
// release's namespace, unless yes or the environment has accepted that.
func (e *Env) confirmHooks(yes bool) func(context.Context, *release.Release, []action.OutsideObject) error {
	return func(ctx context.Context, rel *release.Release, outside []action.OutsideObject) error {
		if accepted, err := e.flagFromEnv(acceptHooks); yes || accepted || err != nil {
			return err
		}
		refused := &action.OutsideError{Release: rel.Name, Objects: outside, Problem: "there is no terminal to ask at"}
		if !e.Interactive() {
			return refused
		}
		question := fmt.Sprintf("Hooks in the record of release %q create objects outside its namespace:\n", term.SafeLine(rel.Name))
		for _, o := range outside {
			question += "  " + term.SafeLine(o.String()) + "\n"
		}
		question += "They run with your permissions, and come from the record, not from a chart that you have named.\n"
		err := term.Confirm(ctx, e.Ask, question)
		var declined *term.DeclinedError
		if errors.As(err, &declined) {
			refused.Problem = declined.Reason
			return refused
		}
		return err
	}
}

// flagFromEnv is what a variable that switches something on says; "" is false.
func (e *Env) flagFromEnv(name string) (bool, error) {
	text := e.Getenv(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is %q, must be true or false", name, term.SafeLine(text))
	}
	return on, nil
}
