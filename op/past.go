// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// past is what has become of a release so far.
type past struct {
	name      string
	revisions []Revision // oldest first
	// last is the newest revision, deployed the newest that is deployed; nil
	// where there is none.
	last, deployed *release.Release
	// applied are the revisions of which something may be in the cluster: the
	// last deployed one and all after it, oldest first.
	applied []*release.Release
	// unfinished are those of applied whose operation has ended without a word.
	unfinished []*release.Release
}

// readPast reads the history of a release as far as it matters. A release that
// is not there has an empty one. With a lock, a revision that is pending was
// left by somebody who is gone, or somebody is at work: the latter is an error.
func readPast(ctx context.Context, records Recorder, lock Lock, name string, report progress.Func) (*past, error) {
	p := &past{name: name}
	var err error
	p.revisions, err = records.Revisions(ctx, name)
	if errors.Is(err, ErrReleaseNotFound) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the history of release %s: %w", name, err)
	}
	if st := p.newest().Status; lock != nil && st.Underway() {
		if err := lock.Abandoned(ctx, p.newest().Number); err != nil {
			return nil, err
		}
	}
	wanted := p.revisions[p.start():]
	if len(wanted) == 0 {
		wanted = p.revisions[len(p.revisions)-1:] // uninstalled, and nothing since
	}
	read := make([]*release.Release, len(wanted))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, r := range wanted {
		group.Go(func() (err error) {
			read[i], err = records.Revision(gctx, name, r.Number)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	p.last = read[len(read)-1]
	for i, rel := range read {
		if wanted[i].Status == release.Uninstalled {
			continue
		}
		p.applied = append(p.applied, rel)
		switch st := rel.Info.Status; {
		case st == release.Deployed:
			p.deployed = rel
		case st.Underway():
			p.unfinished = append(p.unfinished, rel)
			if lock != nil {
				report.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("revision %d of release %s was left %s: it is marked failed now", rel.Revision, name, st)})
			}
		}
	}
	return p, nil
}

// start is the index of the first revision of which something may be in the
// cluster.
func (p *past) start() int {
	for i := len(p.revisions) - 1; i >= 0; i-- {
		switch p.revisions[i].Status {
		case release.Deployed:
			return i
		case release.Uninstalled:
			return i + 1
		}
	}
	return 0
}

// good is the number of the newest revision that went well, 0 for none.
func (p *past) good() int {
	n := 0
	for _, r := range p.revisions {
		if r.Status == release.Deployed || r.Status == release.Superseded {
			n = r.Number
		}
	}
	return n
}

func (p *past) newest() Revision { return p.revisions[len(p.revisions)-1] }

// next is the number of the revision to come.
func (p *past) next() int {
	if len(p.revisions) == 0 {
		return 1
	}
	return p.newest().Number + 1
}

// objects are the objects of each revision that may have been applied.
func (p *past) objects() ([][]*manifest.Object, error) {
	var out [][]*manifest.Object
	for _, rel := range p.applied {
		objects, err := manifest.ParseManifest(rel.Manifest)
		if err != nil {
			return nil, fmt.Errorf("read the manifest of revision %d of release %s: %w", rel.Revision, rel.Name, err)
		}
		out = append(out, objects)
	}
	return out, nil
}

// orphans are the objects that the revisions meant to remove.
func (p *past) orphans() []release.Orphan {
	var out []release.Orphan
	seen := map[release.Orphan]bool{}
	for _, rel := range p.applied {
		for _, o := range rel.Orphans {
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
func (p *past) current() *release.Release {
	if p.deployed != nil {
		return p.deployed
	}
	return p.last
}

// method is how the objects were written.
func (p *past) method() string {
	if p.last == nil {
		return ""
	}
	return p.current().ApplyMethod
}

// firstDeployed is when the release was first there.
func (p *past) firstDeployed(now time.Time) time.Time {
	if p.last != nil && !p.last.Info.FirstDeployed.IsZero() {
		return p.last.Info.FirstDeployed
	}
	return now
}

// close marks what was left unfinished as failed.
func (p *past) close(ctx context.Context, records Recorder) error {
	for _, rel := range p.unfinished {
		rel.Info.Description = fmt.Sprintf("%s was interrupted: it ended without saying how", phase(rel.Info.Status))
		rel.Info.Status, rel.Holder = release.Failed, ""
		if err := records.Update(ctx, rel); err != nil && !errors.Is(err, ErrReleaseNotFound) {
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
