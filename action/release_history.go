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

// history is what has become of a release so far.
type history struct {
	name      string
	revisions []storage.Record // oldest first
	// last is the newest revision, deployed the newest that is deployed; nil
	// where there is none.
	last, deployed *release.Release
	// applied are the revisions of which something may be in the cluster: the
	// last deployed one and all after it, oldest first.
	applied []*release.Release
	// unfinished are those of applied whose operation has ended without a word.
	unfinished []*release.Release
	// warnings say what is wrong with the records.
	warnings []string
}

// loadHistory reads the history of a release as far as it matters. A release that
// is not there has an empty one. With a lock, a revision that is pending was
// left by a client that is gone, or one is at work: the latter is an error.
func loadHistory(ctx context.Context, records Storage, lock lock.Lock, name string, report progress.Func) (*history,
	error) {
	p := &history{name: name}
	var err error
	p.revisions, err = records.Revisions(ctx, name)
	if errors.Is(err, storage.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the history of release %s: %w", name, err)
	}
	p.sane()
	if err := p.newest().Unsupported(); err != nil {
		return nil, err
	}
	if st := p.newest().Status; lock != nil && st.InProgress() {
		if err := lock.Abandoned(ctx, p.newest().Revision); err != nil {
			return nil, err
		}
	}
	if err := p.read(ctx, records); err != nil {
		return nil, err
	}
	for i, rel := range p.applied {
		st := rel.Info.Status
		switch {
		case st == release.Deployed:
			p.deployed = rel
		case st.InProgress():
			p.unfinished = append(p.unfinished, p.applied[i])
			if lock != nil {
				report.Send(progress.Event{Kind: progress.Warning,
					Text: fmt.Sprintf("revision %d of release %s was left %s: it is marked failed now", rel.Revision, name, st)})
			}
		}
	}
	for _, text := range p.warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: text})
	}
	return p, nil
}

// read reads the revisions of which something may be in the cluster, and the
// newest. What a list says about the statuses is not what the records must say:
// it goes back to a revision whose record says too that nothing before it counts.
func (p *history) read(ctx context.Context, records Storage) error {
	from := len(p.revisions)
	var read []*release.Release // those from there on
	for {
		start := p.start(from)
		first := max(0, min(start, from-1))
		more, err := readAll(ctx, records, p.name, p.revisions[first:from])
		if err != nil {
			return err
		}
		for i, rel := range more {
			p.agree(first+i, rel)
		}
		read, from = append(more, read...), first
		if from == 0 || p.settled(from) {
			break
		}
	}
	p.last = read[len(read)-1]
	for i, rel := range read {
		if p.revisions[from+i].Status == release.Uninstalled {
			p.applied = nil
			continue
		}
		p.applied = append(p.applied, rel)
	}
	return nil
}

// agree makes one status of what a record and the list say of a revision. What
// the record says counts, as it does for Helm; but where only one of the two says
// that the revision was uninstalled, its objects may be there.
func (p *history) agree(i int, rel *release.Release) {
	listed, recorded := p.revisions[i].Status, rel.Info.Status
	if listed == recorded {
		return
	}
	p.warnings = append(p.warnings, fmt.Sprintf("revision %d of release %s is said to be %q where it is listed, and %q "+
		"in its record: another client has changed one of them",
		rel.Revision, p.name, listed, recorded))
	if recorded == release.Uninstalled {
		rel.Info.Status = listed
		return
	}
	p.revisions[i].Status = recorded
}

// settled reports whether nothing before a revision that was read counts.
func (p *history) settled(i int) bool {
	return p.revisions[i].Status == release.Deployed || p.revisions[i].Status == release.Uninstalled
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

// start is the index of the last revision before end that is said to be deployed
// or uninstalled, or 0.
func (p *history) start(end int) int {
	for i := end - 1; i >= 0; i-- {
		if p.settled(i) {
			return i
		}
	}
	return 0
}

// good is the number of the newest successful revision, 0 for none.
func (p *history) good() int {
	n := 0
	for _, r := range p.revisions {
		if r.Unsupported() == nil && (r.Status == release.Deployed || r.Status == release.Superseded) {
			n = r.Revision
		}
	}
	return n
}

func (p *history) newest() storage.Record { return p.revisions[len(p.revisions)-1] }

// next is the number of the revision to come.
func (p *history) next() int {
	n := 0
	for _, r := range p.revisions {
		if release.ValidRevision(r.Revision) {
			n = max(n, r.Revision)
		}
	}
	return n + 1
}

// sane leaves out the revisions whose numbers cannot be, as long as there are
// others: no revision can follow them.
func (p *history) sane() {
	var kept []storage.Record
	for _, r := range p.revisions {
		if release.ValidRevision(r.Revision) {
			kept = append(kept, r)
		}
	}
	if len(kept) == len(p.revisions) {
		return
	}
	for _, r := range p.revisions {
		if !release.ValidRevision(r.Revision) {
			p.warnings = append(p.warnings,
				fmt.Sprintf("revision %d of release %s is damaged: revisions count from 1 to %d", r.Revision, p.name,
					release.MaxRevision))
		}
	}
	if len(kept) > 0 {
		p.revisions = kept
	}
}

// objects are the objects of each revision that may have been applied, the items
// of lists each by itself.
func (p *history) objects() ([][]*manifest.Object, error) {
	var out [][]*manifest.Object
	for _, rel := range p.applied {
		objects, err := recordedObjects(rel)
		if err != nil {
			return nil, err
		}
		out = append(out, objects)
	}
	return out, nil
}

// recordedObjects are the objects of a record, without its hooks, the items of
// lists each by itself.
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

// pendingDeletions are the objects that the revisions meant to delete.
func (p *history) pendingDeletions() []release.PendingDeletion {
	var out []release.PendingDeletion
	seen := map[release.PendingDeletion]bool{}
	for _, rel := range p.applied {
		for _, o := range rel.PendingDeletions {
			if !seen[o] {
				seen[o] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// current is what the release stands for: the revision that is deployed, or the
// newest where none ever was.
func (p *history) current() *release.Release {
	if p.deployed != nil {
		return p.deployed
	}
	return p.last
}

// method is how the objects were written.
func (p *history) method() string {
	if p.last == nil {
		return ""
	}
	return p.current().ApplyMethod
}

// firstDeployed is when the release was first there.
func (p *history) firstDeployed(now time.Time) time.Time {
	if p.last != nil && !p.last.Info.FirstDeployed.IsZero() {
		return p.last.Info.FirstDeployed
	}
	return now
}

// failUnfinished marks what was left unfinished as failed.
func (p *history) failUnfinished(ctx context.Context, records Storage) error {
	for _, rel := range p.unfinished {
		rel.Info.Description = fmt.Sprintf("%s was interrupted: it ended without saying how", phase(rel.Info.Status))
		rel.Info.Status, rel.Holder = release.Failed, ""
		if err := records.Update(ctx, rel); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("record revision %d of release %s as failed: %w", rel.Revision, rel.Name, err)
		}
	}
	return nil
}

// phase is what a pending status says is being done.
func phase(s release.Status) string {
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
