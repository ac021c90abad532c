// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/release"
)

// An OutsideObject is an object outside a release's namespace that a recorded hook would
// create.
type OutsideObject struct {
	// Object is the kind and the name: "ClusterRole/admin".
	Object string
	// Namespace is the namespace of the object, or "" if it is cluster-scoped.
	Namespace string
	// Unknown is set if the cluster does not serve the kind, so that the namespace is not
	// known.
	Unknown bool
	// Events are the events of the hook.
	Events []release.HookEvent
}

// String returns the object, its namespace, and its events.
func (o OutsideObject) String() string {
	where := "in the whole cluster"
	switch {
	case o.Unknown:
		where = "of a kind that the cluster does not have"
	case o.Namespace != "":
		where = "in namespace " + quoteName(o.Namespace)
	}
	events := make([]string, len(o.Events))
	for i, e := range o.Events {
		events[i] = string(e)
	}
	return fmt.Sprintf("%s %s (%s)", quoteName(o.Object), where, quoteName(strings.Join(events, ", ")))
}

// maxShownName is the longest text that quoteName does not cut: longer than any valid name,
// and short enough that other objects stay visible.
const maxShownName = 300

// quoteName returns text of a record for output to a terminal: quoted if it contains control
// characters or quotes, and cut if it is longer than a valid name.
func quoteName(text string) string {
	text = truncate.Bytes(text, maxShownName, "...")
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// An OutsideError is returned, before anything is written, if recorded hooks would create
// objects outside the release's namespace without confirmation. Any client with permission to
// write Secrets in the namespace can write such a record, while the hooks run with the user's
// permissions.
type OutsideError struct {
	Release string
	Objects []OutsideObject
	// Problem says why there is no confirmation: "this was refused".
	Problem string
}

func (e *OutsideError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hooks in the record of release %q create objects outside its namespace: %s", e.Release, e.Problem)
	for _, o := range e.Objects {
		b.WriteString("\n  " + o.String())
	}
	return b.String()
}

// approvedHooks is a set of hooks, identified by their text, that need no confirmation. The
// zero value is empty; nil is empty and cannot be added to. It is safe for concurrent use.
type approvedHooks struct {
	mu    sync.Mutex
	texts map[string]bool
}

func (a *approvedHooks) add(hooks []*release.Hook) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.texts == nil {
		a.texts = map[string]bool{}
	}
	for _, h := range hooks {
		a.texts[h.Manifest] = true
	}
}

func (a *approvedHooks) has(h *release.Hook) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.texts[h.Manifest]
}

// confirmRollback asks for the confirmations that a later rollback to rel would need, and adds
// the hooks to r.approved.
func (r *hookRunner) confirmRollback(ctx context.Context, rel *release.Release) error {
	due := slices.DeleteFunc(slices.Clone(rel.Hooks),
		func(h *release.Hook) bool { return !h.On(release.PreRollback) && !h.On(release.PostRollback) })
	if err := r.confirm(ctx, rel, due); err != nil {
		return err
	}
	r.approved.add(due)
	return nil
}

// confirm asks for confirmation of the objects that recorded hooks would create outside the
// release's namespace.
func (r *hookRunner) confirm(ctx context.Context, rel *release.Release, hooks []*release.Hook) error {
	var outside []OutsideObject
	for _, h := range hooks {
		if r.approved.has(h) {
			continue
		}
		for _, item := range allHookItems([]*release.Hook{h}) {
			place, err := r.Cluster.PlaceHook(ctx, item.Object, rel.Namespace)
			if err != nil {
				return err
			}
			if place.Served && place.Namespace == rel.Namespace {
				continue
			}
			outside = append(outside,
				OutsideObject{Object: item.String(), Namespace: place.Namespace, Unknown: !place.Served, Events: h.Events})
		}
	}
	switch {
	case len(outside) == 0:
		return nil
	case r.ConfirmHooks == nil:
		return &OutsideError{Release: rel.Name, Objects: outside, Problem: "it was not confirmed"}
	}
	return r.ConfirmHooks(ctx, rel, outside)
}
