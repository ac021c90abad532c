// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Abandoned returns nil when the client that wrote the pending record of a revision is
// gone, and a [*LockedError] while they are, or may be, at work. It may take
// half a minute: where only heartbeats on the record can tell, it watches
// for them. Where it finds none it takes the record over: from then on the
// heartbeat of its writer, should that wake up, finds another holder. k is the
// lock on the same release.
//
// The record of another client, such as Helm's, has no heartbeat. A rollback
// and an uninstall go ahead of it at once, whatever its age: they are how people
// repair a release that was left so, and Helm allows both.
func (k *releaseLock) Abandoned(ctx context.Context, revision int) error {
	first, err := k.pulse(ctx, revision)
	if err != nil || !first.Status.InProgress() {
		return err
	}
	h, known := ParseHolder(first.Holder)
	switch {
	case first.Holder == "" && first.Status == release.Uninstalling:
		return nil // left by Helm, which lets others go on with it as well
	case k.repairs() && !known && (first.Holder == "" || first.Token == ""):
		return nil
	case first.Holder == "":
		return k.forgotten(first, revision)
	case known && (h.ID == k.holder.ID || h.gone()):
		return nil
	case known && h.Guard == ByLease && k.Leased():
		return nil // their lease would be in the way of ours
	}
	k.locker.step("watching for up to %s whether %s is still at work on release %q", silence, h.Name(), k.name)
	for began := time.Now(); ; {
		if !sleep(ctx, time.Second) {
			return context.Cause(ctx)
		}
		now, err := k.pulse(ctx, revision)
		switch {
		case err != nil || !now.Status.InProgress():
			return err
		case now.Holder != first.Holder || now.Token != first.Token:
			if other, ok := ParseHolder(now.Holder); ok {
				h = other // who was quicker
			}
			return &LockedError{Release: k.name, Holder: h.Name(), Doing: h.Doing, Since: h.Since, Revision: revision,
				Status: now.Status}
		case time.Since(began) >= silence:
			if _, err := k.locker.records.RenewHeartbeat(ctx, k.name, revision, now, k.Holder()); errors.Is(err,
				storage.ErrChanged) {
				continue // another client was quicker, or it is alive
			} else if err != nil {
				return fmt.Errorf("take over revision %d of release %s: %w", revision, k.name, err)
			}
			k.Guard(revision)
			k.locker.warn("%s by %s ended without saying so; going on", h.what(), h.Name())
			return nil
		}
	}
}

// repairs reports whether the operation is one that people repair a pending
// release with.
func (k *releaseLock) repairs() bool {
	return k.holder.Doing == "rollback" || k.holder.Doing == "uninstall"
}

func (k *releaseLock) pulse(ctx context.Context, revision int) (storage.Heartbeat, error) {
	p, err := k.locker.records.Heartbeat(ctx, k.name, revision)
	if err != nil {
		return p, fmt.Errorf("look at revision %d of release %s: %w", revision, k.name, err)
	}
	return p, nil
}

// forgotten judges a record whose maker sends no heartbeats, as Helm: by its
// age, which is the one thing that takes two clocks, with a wide margin.
func (k *releaseLock) forgotten(p storage.Heartbeat, revision int) error {
	until := p.Changed.Add(forgotten)
	if !time.Now().Before(until) {
		return nil
	}
	return &LockedError{Release: k.name, Since: p.Changed, Until: until, Revision: revision, Status: p.Status}
}
