// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/release"
)

// storedHooks returns a release with hooks given as "kind/name namespace", or "List: items",
// which run at the event.
func storedHooks(at release.HookEvent, hooks ...string) *release.Release {
	rel := &release.Release{Name: "web", Namespace: "ns"}
	for _, text := range hooks {
		what, namespace, _ := strings.Cut(text, " ")
		kind, name, _ := strings.Cut(what, "/")
		rel.Hooks = append(rel.Hooks, &release.Hook{
			Name: "plain", Kind: "ConfigMap", Events: []release.HookEvent{at},
			Manifest: "{apiVersion: v1, kind: " + kind + ", metadata: {name: \"" + name + "\", namespace: \"" + namespace + "\"}}",
		})
		if items, ok := strings.CutPrefix(text, "List: "); ok {
			rel.Hooks[len(rel.Hooks)-1].Manifest = "{apiVersion: v1, kind: List, items: [" + items + "]}"
		}
	}
	return rel
}

// Recorded hooks that would create objects outside the release's namespace need confirmation
// before anything is written; hooks of the user's chart do not.
func TestStoredHooksOutsideNamespace(t *testing.T) {
	declined := errors.New("declined")
	long := strings.Repeat("n", 2*maxShownName)
	for _, test := range []struct {
		name  string
		hooks []string
		want  []string // objects to confirm
	}{
		{"none", nil, nil},
		{"in the namespace", []string{"ConfigMap/a", "Job/b ns"}, nil},
		{"in another namespace", []string{"ConfigMap/a", "Secret/b kube-system"}, []string{"Secret/b in namespace kube-system"}},
		{"cluster-scoped", []string{"ClusterRole/a ns"}, []string{"ClusterRole/a in the whole cluster"}},
		{"definitions", []string{"CustomResourceDefinition/a"}, []string{"CustomResourceDefinition/a in the whole cluster"}},
		{"of an unknown kind", []string{"Unheard/a"}, []string{"Unheard/a of a kind that the cluster does not have"}},
		{"items of lists", []string{"List: {apiVersion: v1, kind: ClusterRole, metadata: {name: x}}, {apiVersion: v1, kind: Secret, metadata: {name: y}}"},
			[]string{"ClusterRole/x in the whole cluster"}},
		{"characters that cannot be seen", []string{`ClusterRole/a\u202e\n\e[2J`}, []string{`"ClusterRole/a\u202e\n\x1b[2J" in the whole cluster`}},
		{"a name that is too long", []string{"ClusterRole/" + long}, []string{"ClusterRole/" + long[:maxShownName-len("ClusterRole/")] + "... in the whole cluster"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for at, e := range map[release.HookEvent]func(event.Payload) event.Event{
				release.PreDelete:    func(s event.Payload) event.Event { return &event.PreDelete{Payload: s} },
				release.PostDelete:   func(s event.Payload) event.Event { return &event.PreDelete{Payload: s} },
				release.PreRollback:  func(s event.Payload) event.Event { return &event.PreRollback{Payload: s} },
				release.PostRollback: func(s event.Payload) event.Event { return &event.PreRollback{Payload: s} },
				release.PreInstall:   func(s event.Payload) event.Event { return &event.PreInstall{Payload: s} },
				release.PreUpgrade:   func(s event.Payload) event.Event { return &event.PreUpgrade{Payload: s} },
			} {
				var asked []string
				s := &fakeHookCluster{}
				err := s.at(t.Context(), e(event.Payload{Release: storedHooks(at, test.hooks...)}), hookSetup{
					Confirm: func(_ context.Context, _ *release.Release, outside []OutsideObject) error {
						for _, o := range outside {
							asked = append(asked, o.String())
						}
						return declined
					},
				})
				want := make([]string, len(test.want))
				for i, w := range test.want {
					want[i] = w + " (" + string(at) + ")"
				}
				if at == release.PreInstall || at == release.PreUpgrade {
					want = nil
				}
				if !slices.Equal(asked, want) {
					t.Errorf("%s: confirmed %q, want %q", at, asked, want)
				}
				if errors.Is(err, declined) != (len(want) > 0) || err != nil && len(s.lines) > 0 {
					t.Errorf("%s: %v, calls = %q", at, err, s.lines)
				}
			}
		})
	}
}

func TestStoredHooksWithoutConfirmHooks(t *testing.T) {
	rel := storedHooks(release.PreDelete, "ClusterRole/a")
	err := hookSetup{}.runner(&fakeHookCluster{}).check(t.Context(), rel, rel.Hooks, true)
	var outside *OutsideError
	if !errors.As(err, &outside) || len(outside.Objects) != 1 || outside.Release != "web" {
		t.Errorf("got %v", err)
	}
}

// An undo runs the hooks of the user's chart without confirmation, and no others.
func TestApprovedHooks(t *testing.T) {
	approved := &approvedHooks{}
	s := &fakeHookCluster{}
	mine := storedHooks(release.PreDelete, "ClusterRole/a")
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: mine}}, hookSetup{Approved: approved}); err != nil {
		t.Fatal(err)
	}
	undo := hookSetup{Approved: approved}.runner(s)
	if err := undo.check(t.Context(), mine, mine.Hooks, true); err != nil {
		t.Error(err)
	}
	var outside *OutsideError
	forged := storedHooks(release.PreDelete, "ClusterRole/a", "ClusterRole/b")
	if err := undo.check(t.Context(), forged, forged.Hooks, true); !errors.As(err, &outside) || len(outside.Objects) != 1 || outside.Objects[0].Object != "ClusterRole/b" {
		t.Errorf("got %v", err)
	}
	// The hooks of a rollback are confirmed once, in advance.
	asked := 0
	undo.ConfirmHooks = func(context.Context, *release.Release, []OutsideObject) error { asked++; return nil }
	for range 2 {
		back := storedHooks(release.PreRollback, "ClusterRole/c")
		back.Hooks = append(back.Hooks, storedHooks(release.PostDelete, "ClusterRole/d").Hooks...)
		if err := undo.confirmRollback(t.Context(), back); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 || approved.has(storedHooks(release.PostDelete, "ClusterRole/d").Hooks[0]) {
		t.Errorf("called %d times", asked)
	}
	// A stored hook is not approved by running.
	other := &approvedHooks{}
	confirm := func(context.Context, *release.Release, []OutsideObject) error { return nil }
	if err := s.at(t.Context(), &event.PreDelete{Payload: event.Payload{Release: forged}}, hookSetup{Approved: other, Confirm: confirm}); err != nil {
		t.Fatal(err)
	}
	if other.has(forged.Hooks[0]) {
		t.Error("a recorded hook was approved as one of the user's chart")
	}
}
