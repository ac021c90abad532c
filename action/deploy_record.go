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

// persist puts into the record what later operations need of the tree c: its
// scripts, and what it says about the order of objects.
func (d *deployment) persist(c *chart.Chart) error {
	if err := d.release.SetScripts(c); err != nil {
		return err
	}
	order, err := plan.OrderOf(c)
	if err != nil || order == nil {
		return err
	}
	d.release.Order, err = json.Marshal(order)
	return err
}

// create writes the pending record. Of two who create one revision, one gets it.
func (d *deployment) create(ctx context.Context) error {
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
	return d.history.failUnfinished(ctx, d.config.Releases)
}

// succeed writes the last word of a deployment that went well: first that this
// revision is deployed, then that others are not. A client that is killed in
// between leaves two that are, of which the newer counts. Where the record cannot be
// written, the revision is not deployed.
func (d *deployment) succeed(ctx context.Context, description string) error {
	// All is done: an interrupt that comes now must not leave it pending.
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := d.release
	d.lock.Finish() // the record gets its last state
	err := d.config.updateLast(ctx, rel, func() {
		rel.Info.Status, rel.Info.Description = release.Deployed, description
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

// retryAfter is how long a record that could not be written is left alone before the
// second try.
const retryAfter = time.Second

// updateLast writes the last state of a revision, which change makes, in up to two tries.
// Where it could not be written, rel is as it was: no release says what its record does not.
func (c *Config) updateLast(ctx context.Context, rel *release.Release, change func()) error {
	info, holder, pending := rel.Info, rel.Holder, rel.PendingDeletions
	change()
	err := twice(ctx, func() error { return c.Releases.Update(ctx, rel) })
	if err != nil {
		rel.Info, rel.Holder, rel.PendingDeletions = info, holder, pending
	}
	return err
}

// twice tries a write again that has failed, where it may succeed a moment later.
func twice(ctx context.Context, write func() error) error {
	err := write()
	var large *storage.TooLargeError
	if err == nil || notOurs(err) || errors.As(err, &large) {
		return err
	}
	select {
	case <-ctx.Done():
		return err
	case <-time.After(retryAfter):
		return write()
	}
}

// notOurs reports whether a record could not be written because it is another client's to
// write.
func notOurs(err error) bool {
	var e interface{ LockLost() bool }
	return errors.Is(err, storage.ErrChanged) || errors.Is(err, storage.ErrNotFound) || errors.As(err, &e) && e.LockLost()
}

// supersedeOthers marks what was deployed before as superseded.
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

// supersede marks an older revision as superseded. Where another client has
// changed its record since it was read, the change stays, and so does a status
// that it says now.
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

// fail records that the deployment has failed, and why, even where it was
// cancelled: a record that stays pending would be a lie.
func (d *deployment) fail(ctx context.Context, description string) {
	if !d.recorded || lost(ctx) {
		return // without the lock the record is another client's to write
	}
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := d.release
	d.lock.Finish() // the record gets its last state
	err := d.config.updateLast(ctx, rel, func() {
		rel.Info.Status, rel.Info.Description, rel.Holder = release.Failed, description, ""
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

// prune keeps the history as short as asked, and never drops what is deployed,
// or what was last where nothing is: a rollback needs it. What failed revisions may have
// left behind stays known: the newest revision has it among its pending deletions.
func (d *deployment) prune(ctx context.Context) error {
	if d.keepHistory <= 0 {
		return nil
	}
	good := d.history.good()
	if d.release.Info.Status == release.Deployed {
		good = d.release.Revision
	}
	err := d.config.Releases.Prune(ctx, d.release.Name, d.keepHistory, func(r storage.Record) bool {
		return r.Revision == good || r.Revision == d.release.Revision
	})
	if err != nil {
		return fmt.Errorf("shorten the history of release %s: %w", d.release.Name, err)
	}
	return nil
}

// A RevisionsError is returned when no revision can follow the newest one.
type RevisionsError struct {
	Name     string
	Revision int // the newest
}

func (e *RevisionsError) Error() string {
	return fmt.Sprintf("release %q: no revision can follow revision %d, the last number that there is", e.Name, e.Revision)
}

// An OvertakenError is returned when another client has created the revision that was to
// be created: where a release cannot be locked, that decides.
type OvertakenError struct {
	Name     string
	Revision int
}

func (e *OvertakenError) Error() string {
	return fmt.Sprintf("release %q is being changed by another client, which has just created revision %d: try "+
		"again once that is done", e.Name, e.Revision)
}

// Is makes the error an [storage.ErrExists].
func (e *OvertakenError) Is(target error) bool { return target == storage.ErrExists }
