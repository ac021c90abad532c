// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// persist stores the scripts and the object order of the chart c in the record, for later
// operations.
func (d *deployment) persist(c *chart.Chart) error {
	if err := d.release.SetScripts(c); err != nil {
		return err
	}
	if err := d.recordDefinitions(c); err != nil {
		return err
	}
	order, err := plan.OrderOf(c)
	if err != nil || order == nil {
		return err
	}
	d.release.Order, err = json.Marshal(order)
	return err
}

// createRecord creates the pending record. It fails if another client has created the same
// revision.
func (d *deployment) createRecord(ctx context.Context) error {
	if !release.ValidRevision(d.release.Revision) {
		return &RevisionsError{Name: d.release.Name, Revision: d.release.Revision - 1}
	}
	d.release.Holder = d.lock.Holder()
	writing, cancel := linger.Context(ctx)
	defer cancel()
	if err := d.config.Releases.Create(writing, d.release); errors.Is(err, storage.ErrExists) {
		return &OvertakenError{Name: d.release.Name, Revision: d.release.Revision}
	} else if err != nil {
		return fmt.Errorf("record revision %d of release %s: %w", d.release.Revision, d.release.Name, err)
	}
	d.recorded = true
	d.lock.Guard(d.release.Revision)
	return d.history.failInterrupted(ctx, d.config.Releases)
}

// recordSuccess records the revision as deployed, and then older ones as superseded. If the
// client is killed in between, two revisions are deployed, and the newer one counts. If
// updating the record of the revision fails, it is not deployed.
func (d *deployment) recordSuccess(ctx context.Context, description string) error {
	// The objects are applied: an interrupt must not leave the record pending.
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := d.release
	d.lock.Finish()
	err := d.config.updateFinal(ctx, rel, func() {
		rel.Info.Status, rel.Info.Description, rel.Info.Completed = release.Deployed, description, d.config.now()
		rel.Holder, rel.PendingDeletions = "", nil
	})
	if err != nil {
		return fmt.Errorf("record release %s as deployed: %w", rel.Name, err)
	}
	if err := d.supersedeOthers(ctx); err != nil {
		return err
	}
	return d.prune(ctx)
}

// retryDelay is the delay before a failed write of a record is retried.
const retryDelay = time.Second

// updateFinal writes the final state of a revision, which change sets, with one retry. If
// that fails, it restores rel, so that rel and its record agree.
func (c *Config) updateFinal(ctx context.Context, rel *release.Release, change func()) error {
	info, holder, pending := rel.Info, rel.Holder, rel.PendingDeletions
	change()
	err := retryOnce(ctx, func() error { return c.Releases.Update(ctx, rel) })
	if err != nil {
		rel.Info, rel.Holder, rel.PendingDeletions = info, holder, pending
	}
	return err
}

// retryOnce calls write, and calls it again after retryDelay if the error may be temporary.
func retryOnce(ctx context.Context, write func() error) error {
	err := write()
	var large *storage.TooLargeError
	if err == nil || isRecordTaken(err) || errors.As(err, &large) {
		return err
	}
	if linger.Sleep(ctx, retryDelay) != nil {
		return err
	}
	return write()
}

// isRecordTaken reports whether writing a record failed because another client has changed
// or deleted it, or holds the lock.
func isRecordTaken(err error) bool {
	var e interface{ LockLost() bool }
	return errors.Is(err, storage.ErrChanged) || errors.Is(err, storage.ErrNotFound) || errors.As(err, &e) && e.LockLost()
}

// supersedeOthers records all other deployed revisions as superseded.
func (d *deployment) supersedeOthers(ctx context.Context) error {
	for _, old := range d.history.revisions {
		if old.Unsupported() == nil && old.Status == release.Deployed && old.Revision != d.release.Revision {
			if err := d.supersede(ctx, old.Revision, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// supersede records an older revision as superseded. If another client has changed the record
// since it was read, supersede keeps that change, and does nothing if it changed the status.
func (d *deployment) supersede(ctx context.Context, revision int, description string) error {
	var old *release.Release
	for _, rel := range d.history.applied {
		if rel.Revision == revision {
			old = rel
		}
	}
	read := func() (err error) {
		old, err = d.config.Releases.Get(ctx, d.release.Name, revision)
		return err
	}
	var err error
	if old == nil {
		err = read()
	}
	if err == nil {
		was := old.Info.Status
		err = d.setSuperseded(ctx, old, description)
		if errors.Is(err, storage.ErrChanged) {
			if err = read(); err == nil && old.Info.Status == was {
				err = d.setSuperseded(ctx, old, description)
			}
		}
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, release.ErrUnsupported) {
		return fmt.Errorf("record revision %d of release %s as superseded: %w", revision, d.release.Name, err)
	}
	return nil
}

func (d *deployment) setSuperseded(ctx context.Context, old *release.Release, description string) error {
	old.Info.Status = release.Superseded
	if description != "" {
		old.Info.Description = description
	}
	return d.config.Releases.Update(ctx, old)
}

// recordFailure records the revision as failed, with a description. It ignores the
// cancellation of ctx: the record must not stay pending.
func (d *deployment) recordFailure(ctx context.Context, description string) {
	if !d.recorded || isLockLost(ctx) {
		return // the client that has the lock now records the failure
	}
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := d.release
	d.lock.Finish()
	err := d.config.updateFinal(ctx, rel, func() {
		rel.Info.Status, rel.Info.Description, rel.Holder = release.Failed, description, ""
		rel.Info.Completed = d.config.now()
	})
	if err != nil {
		d.config.Progress.Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("release %s could not be recorded as failed: %s", rel.Name, err)})
		return
	}
	if err := d.prune(ctx); err != nil {
		d.config.Progress.Send(progress.Event{Kind: progress.Warning, Text: err.Error()})
	}
}

// prune deletes the oldest revisions beyond maxHistory. It keeps the last successful revision,
// which a rollback needs. The objects of deleted failed revisions are pending deletions of the
// newest revision.
func (d *deployment) prune(ctx context.Context) error {
	if d.maxHistory <= 0 {
		return nil
	}
	good := d.history.lastSuccessful()
	if d.release.Info.Status == release.Deployed {
		good = d.release.Revision
	}
	err := d.config.Releases.Prune(ctx, d.release.Name, d.maxHistory, func(r storage.Record) bool {
		return r.Revision == good || r.Revision == d.release.Revision
	})
	if err != nil {
		return fmt.Errorf("shorten the history of release %s: %w", d.release.Name, err)
	}
	return nil
}

// A RevisionsError is returned if the newest revision has the highest possible number.
type RevisionsError struct {
	Name     string
	Revision int // the newest
}

func (e *RevisionsError) Error() string {
	return fmt.Sprintf("release %q: no revision can follow revision %d, the highest revision number", e.Name, e.Revision)
}

// An OvertakenError is returned if another client has created the same revision, which can
// happen if releases are not locked.
type OvertakenError struct {
	Name     string
	Revision int
}

func (e *OvertakenError) Error() string {
	return fmt.Sprintf("release %q is being changed by another client, which has just created revision %d: try "+
		"again once that is done", e.Name, e.Revision)
}

// Is reports whether target is [storage.ErrExists].
func (e *OvertakenError) Is(target error) bool { return target == storage.ErrExists }
