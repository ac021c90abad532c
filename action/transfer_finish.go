// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// finish changes the objects and writes the final records. The pending records exist. If changing
// the objects fails, everything is undone; once a final record is written, only what is left can be
// finished.
func (t *transfer) finish(ctx context.Context) error {
	if !t.committed() {
		err := runSteps(ctx, t.copyHistory, func(ctx context.Context) error { return t.changeOwners(ctx, false) })
		if err != nil {
			return t.undo(ctx, err)
		}
		if isLockLost(ctx) {
			return context.Cause(ctx)
		}
	}
	// The objects are changed: an interrupt must not leave the records pending.
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	for _, s := range t.sides() {
		if err := t.recordDone(ctx, s); err != nil {
			return err
		}
	}
	if t.verb == release.TransferRename && t.committed() {
		t.from.lock.Finish()
		return t.from.purge(ctx, t.from.name)
	}
	return nil
}

// committed reports whether the release that the objects leave has its final record.
func (t *transfer) committed() bool {
	return t.from != nil && t.from.release != nil && t.from.release.Transfer.State == release.TransferDone
}

// newOwner returns the ownership metadata that the objects get.
func (t *transfer) newOwner() release.Ownership {
	if t.to == nil {
		return release.Ownership{}
	}
	return t.to.owner()
}

// changeOwners changes the ownership metadata of the objects, or changes it back. Changing it back
// leaves objects alone that belong to another release by now.
func (t *transfer) changeOwners(ctx context.Context, back bool) error {
	changes := make([]apply.OwnershipChange, len(t.objects))
	for i, o := range t.objects {
		ch := apply.OwnershipChange{
			Ref: plan.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
			UID: o.UID, From: o.Was, To: t.newOwner(),
		}
		if back {
			ch.From, ch.To, ch.SkipOthers = ch.To, ch.From, true
		}
		changes[i] = ch
	}
	return t.Cluster.ChangeOwnership(ctx, changes)
}

// recordDone writes the final record of a release, unless it is written.
func (t *transfer) recordDone(ctx context.Context, s *transferSide) error {
	rel := s.release
	if rel == nil {
		return nil // it was deleted
	}
	if rel.Transfer.State != release.TransferDone {
		s.lock.Finish()
		if err := s.updateFinal(ctx, rel, func() { t.setDone(s) }); err != nil {
			return fmt.Errorf("record revision %d of release %s: %w", rel.Revision, rel.Name, err)
		}
	}
	if rel.Info.Status != release.Deployed || s.history.nextRevision() > rel.Revision+1 {
		return nil // its records are deleted next, or another operation has gone on from it
	}
	d := deployment{config: s.Config, history: s.history, release: rel, maxHistory: t.MaxHistory}
	if err := d.supersedeOthers(ctx); err != nil {
		return err
	}
	return d.prune(ctx)
}

// setDone sets the final state of a release's revision.
func (t *transfer) setDone(s *transferSide) {
	rel := s.release
	rel.Info.Description, rel.Info.Completed, rel.Holder = t.description(s, doneForm), s.now(), ""
	rel.Info.Status, rel.Manifest = release.Deployed, rel.Transfer.Manifest
	if t.verb == release.TransferRename && s == t.from {
		rel.Info.Status, rel.Info.Deleted = release.Uninstalled, s.now()
		rel.Manifest, rel.Hooks, rel.PendingDeletions = "", nil, nil
	}
	rel.Transfer.End(release.TransferDone)
}

// copyHistory copies the earlier revisions of a renamed release. Those that exist are left alone.
func (t *transfer) copyHistory(ctx context.Context) error {
	if t.verb != release.TransferRename {
		return nil
	}
	existing, err := t.to.Releases.Revisions(ctx, t.to.name)
	if err != nil {
		return err
	}
	there := map[int]bool{}
	for _, r := range existing {
		there[r.Revision] = true
	}
	for _, r := range t.from.history.revisions {
		if r.Revision >= t.from.release.Revision || there[r.Revision] {
			continue
		}
		rel, err := t.from.Releases.Get(ctx, t.from.name, r.Revision)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := t.copyRevision(ctx, rel); err != nil {
			return err
		}
	}
	return nil
}

func (t *transfer) copyRevision(ctx context.Context, rel *release.Release) error {
	rel.Name, rel.Stored, rel.Holder = t.to.name, release.Stored{}, ""
	switch st := rel.Info.Status; {
	case st == release.Deployed:
		rel.Info.Status = release.Superseded
	case st.InProgress():
		rel.Info.Status = release.Failed
	}
	err := t.to.Releases.Create(ctx, rel)
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return fmt.Errorf("record revision %d of release %s: %w", rel.Revision, rel.Name, err)
	}
	return nil
}

// undo gives the objects back and marks the pending records as failed, because of cause. It returns
// cause, with the error of undoing if that fails too: then the next operation on one of the
// releases tries again.
func (t *transfer) undo(ctx context.Context, cause error) error {
	if isLockLost(ctx) {
		return context.Cause(ctx) // the client that has the lock now decides
	}
	cause = orLockLost(ctx, cause)
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	if err := t.giveBack(ctx, cause); err != nil {
		return &TransferError{Verb: t.verb, Err: cause, Undo: err}
	}
	return &TransferError{Verb: t.verb, Err: cause}
}

func (t *transfer) giveBack(ctx context.Context, cause error) error {
	if err := t.changeOwners(ctx, true); err != nil {
		return err
	}
	switch {
	case t.to == nil || t.to.release == nil:
	case t.verb == release.TransferRename && t.to.release.Stored != (release.Stored{}):
		t.to.lock.Finish()
		if err := t.to.purge(ctx, t.to.name); err != nil {
			return err
		}
	case t.verb != release.TransferRename:
		if err := t.recordUndone(ctx, t.to, cause); err != nil {
			return err
		}
	}
	if t.from == nil {
		return nil
	}
	return t.recordUndone(ctx, t.from, cause)
}

// recordUndone marks the pending record of a release as failed, if there is one.
func (t *transfer) recordUndone(ctx context.Context, s *transferSide, cause error) error {
	rel := s.release
	if rel == nil || rel.Stored == (release.Stored{}) || !rel.Info.Status.Pending() {
		return nil
	}
	s.lock.Finish()
	err := s.updateFinal(ctx, rel, func() {
		rel.Info.Status, rel.Info.Completed, rel.Holder = release.Failed, s.now(), ""
		rel.Info.Description = fmt.Sprintf("Undone, nothing has changed: %s of %s failed: %s", t.verb, t.objectNames(),
			summaryOf(cause))
		rel.Transfer.End(release.TransferUndone)
	})
	if err != nil {
		return fmt.Errorf("record revision %d of release %s as failed: %w", rel.Revision, rel.Name, err)
	}
	return nil
}
