// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/release"
)

// OutsideObject is an object outside a release's namespace that a hook of the release's
// record would create.
type OutsideObject struct {
	// Object is its kind and its name: "ClusterRole/admin".
	Object string
	// Namespace is where it would live, "" for an object of the whole cluster.
	Namespace string
	// Unknown reports whether the cluster does not have the kind, so that no one
	// knows where it would live.
	Unknown bool
	// Events are the moments at which the hook runs.
	Events []release.HookEvent
}

// String says what would be created where, and when.
func (o OutsideObject) String() string {
	where := "in the whole cluster"
	switch {
	case o.Unknown:
		where = "of a kind that the cluster does not have"
	case o.Namespace != "":
		where = "in namespace " + plainName(o.Namespace)
	}
	events := make([]string, len(o.Events))
	for i, e := range o.Events {
		events[i] = string(e)
	}
	return fmt.Sprintf("%s %s (%s)", plainName(o.Object), where, plainName(strings.Join(events, ", ")))
}

// maxShownName is how much of a name is shown: more than the API takes, and less than
// would push the other objects out of sight.
const maxShownName = 300

// plainName is text that a record holds, quoted where it has characters that a terminal
// would not show as what they are, and cut where it is longer than a name can be.
func plainName(text string) string {
	if len(text) > maxShownName {
		text = text[:maxShownName] + "..."
	}
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// An OutsideError is returned before anything is written where hooks of a release's
// record would create objects outside the release's namespace, and that was not
// confirmed. Such a record can be written by everyone who may write Secrets in that
// namespace, while its hooks run with the permissions of the user.
type OutsideError struct {
	Release string
	Objects []OutsideObject
	// Problem is why: "this was refused".
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

// approvedHooks is a set of hooks that need no confirmation, by their text. The zero value
// is empty, nil stays so.
// It is safe for concurrent use.
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

// confirmRollback asks, before an operation that may end with a rollback to rel, what
// that rollback would ask: [hookRunner.approved] knows the hooks afterwards.
func (r *hookRunner) confirmRollback(ctx context.Context, rel *release.Release) error {
	due := slices.DeleteFunc(slices.Clone(rel.Hooks),
		func(h *release.Hook) bool { return !h.On(release.PreRollback) && !h.On(release.PostRollback) })
	if err := r.confirm(ctx, rel, due); err != nil {
		return err
	}
	r.approved.add(due)
	return nil
}

// confirm asks about the objects that hooks of a record would create outside the
// release's namespace.
func (r *hookRunner) confirm(ctx context.Context, rel *release.Release, hooks []*release.Hook) error {
	var outside []OutsideObject
	for _, h := range hooks {
		if r.approved.has(h) {
			continue
		}
		for _, it := range allHookItems([]*release.Hook{h}) {
			place, err := r.Cluster.PlaceHook(ctx, it.Object, rel.Namespace)
			if err != nil {
				return err
			}
			if place.Served && place.Namespace == rel.Namespace {
				continue
			}
			outside = append(outside,
				OutsideObject{Object: it.String(), Namespace: place.Namespace, Unknown: !place.Served, Events: h.Events})
		}
	}
	switch {
	case len(outside) == 0:
		return nil
	case r.ConfirmHooks == nil:
		return &OutsideError{Release: rel.Name, Objects: outside, Problem: "no one was asked"}
	}
	return r.ConfirmHooks(ctx, rel, outside)
}
