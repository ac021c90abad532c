// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/hook"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Hooks say how annotation hooks run. The zero value runs none.
type Hooks struct {
	Cluster *Cluster // nil runs none
	// Timeout bounds each hook; 0 is five minutes.
	Timeout time.Duration
	// TakeOwnership lets hooks replace objects that are not the release's.
	TakeOwnership bool
	// Yes accepts that hooks of a record create objects outside the release's
	// namespace.
	Yes bool
	// Approved are hooks that need no such confirmation; nil is none.
	Approved *hook.Approved
}

// Responder runs hooks as h says.
func (e *Env) Responder(h Hooks) hook.Responder {
	return hook.Responder{
		Cluster: h.Cluster, Progress: e.Report(), Timeout: h.Timeout, Now: e.Now,
		TakeOwnership: h.TakeOwnership, Records: hookRecords{e}, Confirm: e.confirmHooks(h.Yes), Approved: h.Approved,
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

// hookRecords implements hook.Records.
type hookRecords struct{ env *Env }

// lastRevisions is how many revisions tell which hooks a release has run: as many as
// are kept unless the user says otherwise.
const lastRevisions = 10

// Hooks implements hook.Records. A revision that cannot be read says nothing, as
// one that is not kept any more.
func (h hookRecords) Hooks(ctx context.Context, namespace, name string) ([]*release.Hook, error) {
	records, err := h.env.Records(namespace)
	if err != nil {
		return nil, err
	}
	revisions, err := records.Revisions(ctx, name)
	if errors.Is(err, action.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*release.Hook
	for _, r := range slices.Backward(revisions[max(0, len(revisions)-lastRevisions):]) {
		old, err := records.Revision(ctx, name, r.Number)
		var unreadable *storage.UnreadableError
		var incomplete *storage.PartError
		if errors.Is(err, action.ErrReleaseNotFound) || errors.As(err, &unreadable) || errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, old.Hooks...)
	}
	return out, nil
}

// Exists implements hook.Records.
func (h hookRecords) Exists(ctx context.Context, namespace, name string) (bool, error) {
	records, err := h.env.Records(namespace)
	if err != nil {
		return false, err
	}
	_, err = records.Revisions(ctx, name)
	if errors.Is(err, action.ErrReleaseNotFound) {
		return false, nil
	}
	return err == nil, err
}

// acceptHooks is the environment variable that accepts, for every command, what
// [Hooks.Yes] accepts.
const acceptHooks = "HELM_ACCEPT_STORED_HOOKS"

// confirmHooks asks whether the hooks of a record may create objects outside the
// release's namespace, unless yes or the environment has accepted that.
func (e *Env) confirmHooks(yes bool) func(context.Context, *release.Release, []hook.Outside) error {
	return func(ctx context.Context, rel *release.Release, outside []hook.Outside) error {
		if accepted, err := e.flagFromEnv(acceptHooks); yes || accepted || err != nil {
			return err
		}
		refused := &hook.OutsideError{Release: rel.Name, Objects: outside, Problem: "there is no terminal to ask at"}
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

// PlaceHook implements hook.Runner.
func (c *Cluster) PlaceHook(ctx context.Context, o *manifest.Object, namespace string) (hook.Place, error) {
	p, err := c.client.PlaceHook(ctx, o, namespace)
	return hook.Place(p), err
}

// CreateHook implements hook.Runner. What a custom resource definition defines
// can be used once this returns.
func (c *Cluster) CreateHook(ctx context.Context, o *manifest.Object, namespace string) (uid string, err error) {
	p, err := c.client.PlaceHook(ctx, o, namespace)
	if err != nil {
		return "", err
	}
	if p.Definition {
		return "", c.client.InstallCRDs(ctx, []*manifest.Object{o})
	}
	return c.client.CreateHook(ctx, o, namespace)
}

// Logs implements hook.Runner.
func (c *Cluster) Logs(ctx context.Context, o *manifest.Object, namespace string) ([]hook.Log, error) {
	logs, err := c.client.Logs(ctx, o, namespace)
	out := make([]hook.Log, len(logs))
	for i, l := range logs {
		out[i] = hook.Log{Pod: l.Pod, Container: l.Container, Text: l.Text, Truncated: l.Truncated}
	}
	return out, err
}
