// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// takeOver tests that a client takes over the record of another that has stopped.
func (s suite) takeOver(t *testing.T, open Open) {
	ctx, st := t.Context(), storage.New(open(s.a), s.a)
	r := Release(s.a, "web", 1, release.PendingUpgrade)
	r.Holder = "ann@laptop 17"
	must(t, st.Create(ctx, r))
	silent, err := st.Heartbeat(ctx, "web", 1)
	must(t, err)
	next, err := st.RenewHeartbeat(ctx, "web", 1, silent, "bob@desk 18")
	must(t, err)
	if next.Holder != s.holder("bob@desk 18") || next.Token == silent.Token || next.Status != release.PendingUpgrade {
		t.Errorf("taken over: %+v", next)
	}
	for _, late := range []string{"carol@ci 19", r.Holder} {
		if _, err := st.RenewHeartbeat(ctx, "web", 1, silent, late); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("%s comes too late: %v", late, err)
		}
	}
	if !s.summaries {
		return // without holders, only the heartbeat shows the takeover
	}
	// The first client resumes and writes its final state.
	r.Info.Status, r.Holder = release.Deployed, ""
	var changed *storage.ChangedError
	if err := st.Update(ctx, r); !errors.As(err, &changed) || changed.Holder != "bob@desk 18" || changed.Revision != 1 {
		t.Errorf("the last word of who was taken over: %v", err)
	}
	got, err := st.Get(ctx, "web", 1)
	must(t, err)
	if got.Info.Status != release.PendingUpgrade || got.Holder != "bob@desk 18" {
		t.Errorf("it is %s, of %q", got.Info.Status, got.Holder)
	}
	got.Info.Status, got.Holder = release.Failed, ""
	must(t, st.Update(ctx, got))
}

func (s suite) guarded(t *testing.T, open Open) {
	ctx, st, other := t.Context(), storage.New(open(s.a), s.a), storage.New(open(s.a), s.a)
	made := Release(s.a, "web", 1, release.PendingInstall)
	made.Holder = "ann@laptop 17"
	must(t, st.Create(ctx, made))
	// Heartbeats do not count as changes.
	must(t, RenewHeartbeat(ctx, other, "web", 1))
	made.Info.Description = "after a heartbeat"
	must(t, st.Update(ctx, made))
	second, err := other.Get(ctx, "web", 1)
	must(t, err)
	first, err := st.Get(ctx, "web", 1)
	must(t, err)
	second.Info.Status, second.Info.Description, second.Holder = release.Failed, "theirs", ""
	must(t, other.Update(ctx, second))
	for what, r := range map[string]*release.Release{"read": first, "written": made} {
		r.Info.Status, r.Info.Description, r.Holder = release.Deployed, "mine", ""
		var changed *storage.ChangedError
		if err := st.Update(ctx, r); !errors.As(err, &changed) || changed.Status != release.Failed {
			t.Errorf("an update of what was %s before: %v", what, err)
		}
	}
	got, err := st.Get(ctx, "web", 1)
	must(t, err)
	if got.Info.Status != release.Failed || got.Info.Description != "theirs" {
		t.Errorf("it is %s: %s", got.Info.Status, got.Info.Description)
	}
	// A client that has read the change may update the record, more than once.
	for _, word := range []string{"once", "twice"} {
		got.Info.Description = word
		must(t, st.Update(ctx, got))
	}
}

func (s suite) recreated(t *testing.T, open Open) {
	ctx, d := t.Context(), open(s.a)
	st := storage.New(d, s.a)
	first := Release(s.a, "web", 1, release.Deployed)
	must(t, st.Create(ctx, first))
	listed, err := st.Revisions(ctx, "web")
	must(t, err)
	if len(listed) != 1 || listed[0].Version == "" {
		t.Fatalf("listed %+v", listed)
	}
	must(t, st.Delete(ctx, "web", 1, ""))
	second := Release(s.a, "web", 1, release.Failed)
	must(t, st.Create(ctx, second))
	first.Info.Status = release.Superseded
	if err := st.Update(ctx, first); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("an update of a record that was created again: %v", err)
	}
	if err := st.Delete(ctx, "web", 1, listed[0].Version); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the deletion of a record that was created again: %v", err)
	}
	got, err := st.Get(ctx, "web", 1)
	must(t, err)
	if got.Info.Status != release.Failed {
		t.Errorf("it is %s", got.Info.Status)
	}
	listed, err = st.Revisions(ctx, "web")
	must(t, err)
	second.Info.Description = "changed since"
	must(t, st.Update(ctx, second))
	must(t, st.Delete(ctx, "web", 1, listed[0].Version))
}
