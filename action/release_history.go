// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// history contains the revisions of a release.
type history struct {
	name      string
	revisions []storage.Record // oldest first
	// last is the newest revision, and deployed the newest deployed one; nil if there is
	// none.
	last, deployed *release.Release
	// applied are the revisions that may have objects in the cluster: the last deployed
	// one and all newer ones, oldest first.
	applied []*release.Release
	// interrupted are those of applied that are pending: their operation was interrupted.
	interrupted []*release.Release
	// warnings are about inconsistent records.
	warnings []string
}

// loadHistory reads the history of a release, back to the last deployed revision. The history
// of a release that does not exist is empty. With a lock, it returns an error if another
// client is still working on a pending revision; otherwise that revision was interrupted.
func loadHistory(ctx context.Context, records Storage, lock lock.Lock, name string, report progress.Func) (*history,
	error) {
	h := &history{name: name}
	var err error
	h.revisions, err = records.Revisions(ctx, name)
	if errors.Is(err, storage.ErrNotFound) {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the history of release %s: %w", name, err)
	}
	h.dropInvalid()
	if err := h.newest().Unsupported(); err != nil {
		return nil, err
	}
	if st := h.newest().Status; lock != nil && st.InProgress() {
		if err := lock.Abandoned(ctx, h.newest().Revision); err != nil {
			return nil, err
		}
	}
	if err := h.read(ctx, records); err != nil {
		return nil, err
	}
	h.findDeployed()
	if lock != nil {
		for _, rel := range h.interrupted {
			if rel.InTransfer() != nil {
				continue
			}
			report.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf(
				"revision %d of release %s was left %s by a client that has ended", rel.Revision, name, rel.Info.Status)})
		}
	}
	for _, text := range h.warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: text})
	}
	return h, nil
}

// findDeployed sets the deployed and the interrupted revisions.
func (h *history) findDeployed() {
	for _, rel := range h.applied {
		switch st := rel.Info.Status; {
		case st == release.Deployed:
			h.deployed = rel
		case st.InProgress():
			h.interrupted = append(h.interrupted, rel)
		}
	}
}

// read reads the newest record and those of the revisions that may have objects in the
// cluster. The status that Revisions lists may differ from the one in the record, so it reads
// back to a revision whose record confirms that it is the boundary.
func (h *history) read(ctx context.Context, records Storage) error {
	from := len(h.revisions)
	var read []*release.Release // those from there on
	for {
		start := h.lastBoundary(from)
		first := max(0, min(start, from-1))
		more, err := readAll(ctx, records, h.name, h.revisions[first:from])
		if err != nil {
			return err
		}
		for i, rel := range more {
			h.reconcile(first+i, rel)
		}
		read, from = append(more, read...), first
		if from == 0 || h.isBoundary(from) {
			break
		}
	}
	h.last = read[len(read)-1]
	for i, rel := range read {
		if h.revisions[from+i].Status == release.Uninstalled {
			h.applied = nil
			continue
		}
		h.applied = append(h.applied, rel)
	}
	return nil
}

// reconcile sets one status for a revision whose listed and recorded status differ. As in
// Helm, the recorded one counts; but if only one of the two is uninstalled, the revision may
// have objects in the cluster.
func (h *history) reconcile(i int, rel *release.Release) {
	listed, recorded := h.revisions[i].Status, rel.Info.Status
	if listed == recorded {
		return
	}
	h.warnings = append(h.warnings, fmt.Sprintf("revision %d of release %s is listed as %q, and recorded as %q: "+
		"another client has changed one of them", rel.Revision, h.name, listed, recorded))
	if recorded == release.Uninstalled {
		rel.Info.Status = listed
		return
	}
	h.revisions[i].Status = recorded
}

// isBoundary reports whether revisions before revision i have no objects in the cluster.
func (h *history) isBoundary(i int) bool {
	return h.revisions[i].Status == release.Deployed || h.revisions[i].Status == release.Uninstalled
}

// readAll reads the records of revisions.
func readAll(ctx context.Context, records Storage, name string, revisions []storage.Record) ([]*release.Release,
	error) {
	for _, r := range revisions {
		if err := r.Unsupported(); err != nil {
			return nil, err
		}
	}
	read := make([]*release.Release, len(revisions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, r := range revisions {
		group.Go(func() (err error) {
			read[i], err = records.Get(ctx, name, r.Revision)
			return err
		})
	}
	return read, group.Wait()
}

// lastBoundary returns the index of the last revision before end whose listed status makes it
// a boundary, or 0.
func (h *history) lastBoundary(end int) int {
	for i := end - 1; i >= 0; i-- {
		if h.isBoundary(i) {
			return i
		}
	}
	return 0
}

// lastSuccessful returns the number of the newest successful revision, or 0 if there is none.
func (h *history) lastSuccessful() int {
	n := 0
	for _, r := range h.revisions {
		if r.Unsupported() == nil && (r.Status == release.Deployed || r.Status == release.Superseded) {
			n = r.Revision
		}
	}
	return n
}

func (h *history) newest() storage.Record { return h.revisions[len(h.revisions)-1] }

// nextRevision returns the number of the next revision.
func (h *history) nextRevision() int {
	n := 0
	for _, r := range h.revisions {
		if release.ValidRevision(r.Revision) {
			n = max(n, r.Revision)
		}
	}
	return n + 1
}

// dropInvalid drops the revisions with invalid numbers, unless all are invalid: no revision
// could follow them.
func (h *history) dropInvalid() {
	var kept []storage.Record
	for _, r := range h.revisions {
		if release.ValidRevision(r.Revision) {
			kept = append(kept, r)
		}
	}
	if len(kept) == len(h.revisions) {
		return
	}
	for _, r := range h.revisions {
		if !release.ValidRevision(r.Revision) {
			h.warnings = append(h.warnings,
				fmt.Sprintf("revision %d of release %s is invalid: revisions are numbered from 1 to %d", r.Revision, h.name,
					release.MaxRevision))
		}
	}
	if len(kept) > 0 {
		h.revisions = kept
	}
}

// objects returns the objects of each revision that may have been applied, with List objects
// flattened to their items.
func (h *history) objects() ([][]*manifest.Object, error) {
	var out [][]*manifest.Object
	for _, rel := range h.applied {
		objects, err := recordedObjects(rel)
		if err != nil {
			return nil, err
		}
		out = append(out, objects)
	}
	return out, nil
}

// recordedObjects returns the objects of a record without its hooks, with List objects
// flattened to their items.
func recordedObjects(rel *release.Release) ([]*manifest.Object, error) {
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err == nil {
		objects, err = manifest.Flatten(objects)
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest of revision %d of release %s: %w", rel.Revision, rel.Name, err)
	}
	return objects, nil
}

// pendingDeletions returns the pending deletions of all revisions that may have been applied.
func (h *history) pendingDeletions() []release.PendingDeletion {
	var out []release.PendingDeletion
	seen := map[release.PendingDeletion]bool{}
	for _, rel := range h.applied {
		for _, o := range rel.PendingDeletions {
			if !seen[o] {
				seen[o] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// current returns the deployed revision, or the newest if none is deployed.
func (h *history) current() *release.Release {
	if h.deployed != nil {
		return h.deployed
	}
	return h.last
}

// applyMethod returns the apply method of the current revision, or "" for a new release.
func (h *history) applyMethod() string {
	if h.last == nil {
		return ""
	}
	return h.current().ApplyMethod
}

// firstDeployed returns when the release was first deployed, or now for a new release.
func (h *history) firstDeployed(now time.Time) time.Time {
	if h.last != nil && !h.last.Info.FirstDeployed.IsZero() {
		return h.last.Info.FirstDeployed
	}
	return now
}

// failInterrupted records the interrupted revisions as failed.
func (h *history) failInterrupted(ctx context.Context, records Storage) error {
	for _, rel := range h.interrupted {
		rel.Info.Description = fmt.Sprintf("%s was interrupted: its client ended before it finished",
			pendingOperation(rel.Info.Status))
		rel.Info.Status, rel.Holder = release.Failed, ""
		if err := records.Update(ctx, rel); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("record revision %d of release %s as failed: %w", rel.Revision, rel.Name, err)
		}
	}
	return nil
}

// pendingOperation returns the name of the operation of a pending status.
func pendingOperation(s release.Status) string {
	switch s {
	case release.PendingInstall:
		return "Install"
	case release.PendingUpgrade:
		return "Upgrade"
	case release.PendingRollback:
		return "Rollback"
	}
	return "Uninstall"
}
