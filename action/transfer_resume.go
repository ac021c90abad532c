// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// maxResumes is the maximum number of interrupted transfers that an operation finishes before its own
// work: other clients may leave more.
const maxResumes = 4

// resuming calls run. If that returns an [*UnfinishedTransferError], because an earlier transfer of
// objects was interrupted, resuming finishes or undoes the transfer, calls onResumed, which may be
// nil, and calls run again. run must not hold a lock when it returns.
func resuming[T any](ctx context.Context, c *Config, run func(context.Context) (T, error),
	onResumed func(*release.Transfer)) (T, error) {
	for tries := 0; ; tries++ {
		out, err := run(ctx)
		unfinished, ok := errors.AsType[*UnfinishedTransferError](err)
		if !ok || tries == maxResumes {
			return out, err
		}
		finished, err := c.resumeTransfer(ctx, unfinished)
		if err != nil {
			unfinished.Err = err
			return out, unfinished
		}
		if finished != nil && onResumed != nil {
			onResumed(finished)
		}
	}
}

// unfinished returns an [*UnfinishedTransferError] if the newest revision has the journal of a
// transfer that has not ended.
func (h *history) unfinished(namespace string) error {
	if h.last == nil || h.last.InTransfer() == nil {
		return nil
	}
	return newUnfinished(h.last, namespace)
}

func newUnfinished(rel *release.Release, namespace string) error {
	j := rel.InTransfer()
	e := &UnfinishedTransferError{Name: rel.Name, Namespace: namespace, Verb: j.Verb, id: j.ID}
	if j.Peer != nil {
		e.PeerName, e.PeerNamespace = j.Peer.Name, j.Peer.Namespace
	}
	return e
}

// An UnfinishedTransferError is returned if a transfer of objects was interrupted, and could not be
// finished or undone.
type UnfinishedTransferError struct {
	Name, Namespace string
	Verb            release.TransferVerb
	// PeerName and PeerNamespace are the other release that takes part, "" if there is none.
	PeerName, PeerNamespace string
	Err                     error

	id string
}

func (e *UnfinishedTransferError) Error() string {
	text := fmt.Sprintf("release %q: %s was interrupted, and must be finished or undone first", e.Name, e.what())
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *UnfinishedTransferError) what() string {
	text := "its " + string(e.Verb)
	if e.PeerName != "" {
		text += fmt.Sprintf(" together with release %q in namespace %q", e.PeerName, e.PeerNamespace)
	}
	return text
}

func (e *UnfinishedTransferError) Unwrap() error { return e.Err }

// Hint returns advice for the user of the command line.
func (e *UnfinishedTransferError) Hint() string {
	if e.PeerName == "" {
		return "any helm command that changes the release tries again"
	}
	return "any helm command that changes one of the two releases tries again; it needs the permissions for both"
}

// resumeTransfer finishes or undoes an interrupted transfer, with the locks of both releases. It
// returns the journal, or nil if another client has done so or it was undone.
func (c *Config) resumeTransfer(ctx context.Context, e *UnfinishedTransferError) (*release.Transfer, error) {
	c, err := c.inNamespace(e.Namespace)
	if err != nil {
		return nil, err
	}
	self, err := c.Releases.Get(ctx, e.Name, 0)
	if err != nil {
		return nil, err
	}
	j := self.InTransfer()
	if j == nil || j.ID != e.id {
		return nil, nil
	}
	t, err := c.transferOf(self, j)
	if err != nil {
		return nil, err
	}
	ctx, unlock, err := t.lockAll(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, s := range t.sides() {
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	s := t.from
	if j.Role == release.TransferTo {
		s = t.to
	}
	if now := s.history.last; now == nil || now.InTransfer() == nil || now.Transfer.ID != j.ID {
		return nil, nil
	}
	s.release = s.history.last
	return t.resume(ctx, s)
}

// transferOf returns the transfer of which the record of a release has the journal. Who may write
// records may forge a journal: it names only the releases, and objects that belong to one of them.
func (c *Config) transferOf(rel *release.Release, j *release.Transfer) (*transfer, error) {
	t := &transfer{Config: c, verb: j.Verb}
	self := &transferSide{Config: c, name: rel.Name, role: j.Role}
	var peer *transferSide
	if j.Peer != nil {
		if err := CheckName(j.Peer.Name); err != nil {
			return nil, err
		}
		config, err := c.inNamespace(j.Peer.Namespace)
		if err != nil {
			return nil, err
		}
		peer = &transferSide{Config: config, name: j.Peer.Name, role: release.TransferTo}
		if j.Role == release.TransferTo {
			peer.role = release.TransferFrom
		}
	}
	if t.from, t.to = self, peer; j.Role == release.TransferTo {
		t.from, t.to = peer, self
	}
	return t, t.check()
}

// resume finishes or undoes the transfer whose journal self has.
func (t *transfer) resume(ctx context.Context, self *transferSide) (*release.Transfer, error) {
	journal := *self.release.Transfer
	t.setObjects(journal.Objects)
	forward := false
	peer := t.peer(self)
	switch {
	case self.release.Transfer.State == release.TransferDone:
		forward = true // a rename of which records are left
		if err := t.findPeer(ctx, peer, journal); err != nil {
			return nil, err
		}
	case peer != nil:
		var err error
		if forward, err = t.decide(ctx, self, peer, journal); err != nil {
			return nil, err
		}
	case t.verb == release.TransferAdopt:
		// The journal does not prove that the user wanted the objects: it only is finished if all of
		// them were changed.
		all, _, err := t.owned(ctx)
		if err != nil {
			return nil, err
		}
		forward = all
	default:
		forward = true
	}
	if !forward {
		t.warn(fmt.Sprintf("release %s: %s of %s was interrupted: undoing it", self.name, t.verb, t.objectNames()))
		return nil, t.giveBack(ctx, errInterrupted)
	}
	t.warn(fmt.Sprintf("release %s: %s of %s was interrupted: finishing it", self.name, t.verb, t.objectNames()))
	err := t.finish(ctx)
	if undone, ok := errors.AsType[*TransferError](err); ok && undone.Undo == nil {
		t.warn(fmt.Sprintf("release %s: %s could not be finished and was undone: %s", self.name, t.verb,
			summaryOf(undone.Err)))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &journal, nil
}

var errInterrupted = errors.New("it was interrupted")

// setObjects sets the objects of a journal. Except for an adoption they belonged to the release that
// they leave, whatever the journal says.
func (t *transfer) setObjects(objects []release.TransferObject) {
	t.objects = nil
	for _, o := range objects {
		if t.from != nil {
			o.Was = t.from.owner()
		}
		t.objects = append(t.objects, o)
	}
}

// decide reports whether the transfer of two releases is to be finished, and sets the peer's
// revision. It is if both have their pending records or the first is committed.
func (t *transfer) decide(ctx context.Context, self, peer *transferSide, journal release.Transfer) (bool, error) {
	if err := t.findPeer(ctx, peer, journal); err != nil {
		return false, err
	}
	switch rel := peer.release; {
	case rel == nil && self == t.to:
		// The record of the release that the objects leave is deleted: the owner of the objects decides.
		_, some, err := t.owned(ctx)
		return some, err
	case rel == nil, rel.Transfer.State == release.TransferUndone, rel.Info.Status == release.Failed:
		return false, nil
	case rel.Transfer.State == release.TransferDone:
		return true, nil
	}
	// Both are pending. A newer revision of the peer was made by a client that does not know the
	// journal.
	return peer.history.last != nil && peer.history.last.Revision == peer.release.Revision, nil
}

// findPeer sets the revision of the peer that the journal names, or nil if it does not exist or has
// not that journal.
func (t *transfer) findPeer(ctx context.Context, peer *transferSide, journal release.Transfer) error {
	rel, err := peer.Releases.Get(ctx, peer.name, journal.Peer.Revision)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if rel.Transfer != nil && rel.Transfer.ID == journal.ID {
		peer.release = rel
	}
	return nil
}

// owned reports whether all, and whether some, of the objects that exist have their new owner.
func (t *transfer) owned(ctx context.Context) (all, some bool, err error) {
	var objects []*manifest.Object
	for _, o := range t.objects {
		m, err := pendingObject(release.PendingDeletion{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace,
			Name: o.Name})
		if err != nil {
			return false, false, err
		}
		objects = append(objects, m)
	}
	found, err := t.Cluster.Find(ctx, objects, t.namespace())
	all = true
	for _, f := range found {
		switch {
		case f.Live == nil || !t.isJournaled(f):
		case f.Ownership == t.newOwner():
			some = true
		default:
			all = false
		}
	}
	return all, some, err
}

func (t *transfer) isJournaled(f *apply.FoundObject) bool {
	for _, o := range t.objects {
		if o.UID == f.UID {
			return true
		}
	}
	return false
}
