// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Abandoned returns nil if the client that wrote the pending record of a revision has died,
// and a [*LockedError] if it is, or may be, still running. If only heartbeats on the record
// can show that, it waits for one for half a minute. If there is none, it makes k's holder
// the holder of the record: if the previous holder resumes, its heartbeat fails. k must be
// the lock of the same release.
//
// A record without heartbeats, such as Helm's, does not stop a rollback or uninstall,
// whatever its age: users repair pending releases with these, and Helm permits both.
func (k *releaseLock) Abandoned(ctx context.Context, revision int) error {
	first, err := k.heartbeat(ctx, revision)
	if err != nil || !first.Status.InProgress() {
		return err
	}
	h, known := ParseHolder(first.Holder)
	switch {
	case first.Holder == "" && first.Status == release.Uninstalling:
		return nil // Helm, too, permits another operation on it
	case k.isRepair() && !known && (first.Holder == "" || first.Token == ""):
		return nil
	case first.Holder == "":
		return k.checkAge(first, revision)
	case known && (h.ID == k.holder.ID || h.gone()):
		return nil
	case known && h.Guard == ByLease && k.Leased():
		return nil // its lease would have prevented ours
	}
	k.locker.step("watching for up to %s whether %s is still at work on release %q", abandonedAfter, h.Name(), k.name)
	for began := time.Now(); ; {
		if linger.Sleep(ctx, time.Second) != nil {
			return context.Cause(ctx)
		}
		current, err := k.heartbeat(ctx, revision)
		switch {
		case err != nil || !current.Status.InProgress():
			return err
		case current.Holder != first.Holder || current.Token != first.Token:
			if other, ok := ParseHolder(current.Holder); ok {
				h = other // another client has taken the record over
			}
			return &LockedError{Release: k.name, Holder: h.Name(), Doing: h.Doing, Since: h.Since, Revision: revision,
				Status: current.Status}
		case time.Since(began) >= abandonedAfter:
			if _, err := k.locker.records.RenewHeartbeat(ctx, k.name, revision, current, k.Holder()); errors.Is(err,
				storage.ErrChanged) {
				continue // there was a heartbeat, or another client has taken the record over
			} else if err != nil {
				return fmt.Errorf("take over revision %d of release %s: %w", revision, k.name, err)
			}
			k.Guard(revision)
			k.locker.warn("%s by %s was abandoned; continuing", h.what(), h.Name())
			return nil
		}
	}
}

// isRepair reports whether the operation is one that repairs a pending release.
func (k *releaseLock) isRepair() bool {
	return k.holder.Doing == "rollback" || k.holder.Doing == "uninstall"
}

func (k *releaseLock) heartbeat(ctx context.Context, revision int) (storage.Heartbeat, error) {
	p, err := k.locker.records.Heartbeat(ctx, k.name, revision)
	if err != nil {
		return p, fmt.Errorf("read the heartbeat of revision %d of release %s: %w", revision, k.name, err)
	}
	return p, nil
}

// checkAge returns a [*LockedError] if a record without heartbeats, such as Helm's, is not
// yet old enough to count as abandoned. Only this compares two clients' clocks, so the
// required age is large.
func (k *releaseLock) checkAge(p storage.Heartbeat, revision int) error {
	until := p.Changed.Add(abandonedAge)
	if !time.Now().Before(until) {
		return nil
	}
	return &LockedError{Release: k.name, Since: p.Changed, Until: until, Revision: revision, Status: p.Status}
}
