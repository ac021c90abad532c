// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/render"
)

// Cascade says what becomes of the objects that deleted objects own.
type Cascade string

// The ways to cascade.
const (
	CascadeBackground Cascade = "background"
	CascadeForeground Cascade = "foreground"
	CascadeOrphan     Cascade = "orphan"
)

// Deleter removes objects from a cluster.
type Deleter interface {
	// Delete removes objects in the order given, those of one kind at once.
	// Objects that are gone are fine; objects that carry another release's
	// marks are left alone and reported as kept.
	Delete(ctx context.Context, objects []*manifest.Object, owner Owner, cascade Cascade) error
	// WaitGone returns when none of the objects exists any more.
	WaitGone(ctx context.Context, objects []*manifest.Object, namespace string) error
}

// UninstallCluster is all that [Uninstall] needs of a cluster.
type UninstallCluster interface {
	Deleter
	Describer
}

// Uninstall removes a release's objects and its record.
type Uninstall struct {
	Cluster  UninstallCluster
	Releases Recorder
	Events   *event.Bus       // nil runs no handlers
	Progress progress.Func    // nil reports nothing
	Now      func() time.Time // nil is time.Now
}

// UninstallRequest says what to uninstall. Name is needed.
type UninstallRequest struct {
	Name        string
	KeepHistory bool
	Description string  // what the kept record says in place of "Uninstallation complete"
	Cascade     Cascade // "" is CascadeBackground
	Wait        bool    // wait until the objects are gone
	Timeout     time.Duration
}

// Uninstalled is what an uninstall did, or would do.
type Uninstalled struct {
	Release *release.Release
	// Kept are the objects that helm.sh/resource-policy keeps.
	Kept []*manifest.Object
	// Deleted are the others, in the order of their deletion.
	Deleted []*manifest.Object
}

// Plan tells what Run would do and writes nothing.
func (u Uninstall) Plan(ctx context.Context, req UninstallRequest) (*Uninstalled, error) {
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	rel, err := u.Releases.Revision(ctx, req.Name, 0)
	if err != nil {
		return nil, err
	}
	if rel.Info.Status == release.Uninstalled {
		return &Uninstalled{Release: rel}, nil
	}
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of release %s: %w", rel.Name, err)
	}
	out := &Uninstalled{Release: rel}
	for _, o := range objects {
		switch {
		case o.Empty: // comments only: nobody created it
		case keeps(o):
			out.Kept = append(out.Kept, o)
		default:
			out.Deleted = append(out.Deleted, o)
		}
	}
	manifest.SortUninstall(out.Deleted)
	return out, nil
}

// Run uninstalls the release. A release that was uninstalled with its history
// kept loses its history. If Run fails half-way, the record stays, so that it
// can be run again.
func (u Uninstall) Run(ctx context.Context, req UninstallRequest) (*Uninstalled, error) {
	plan, err := u.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	rel := plan.Release
	if rel.Info.Status == release.Uninstalled {
		if req.KeepHistory {
			return nil, &AlreadyUninstalledError{Name: rel.Name}
		}
		return plan, u.purge(ctx, rel.Name)
	}
	recorded := false
	if err := u.execute(ctx, req, plan, &recorded); err != nil {
		if !recorded {
			return nil, err
		}
		u.fail(ctx, rel, err)
		return plan, err
	}
	if !req.KeepHistory {
		return plan, u.purge(ctx, rel.Name)
	}
	// The objects are gone: an interrupt that comes now must not leave a record
	// that says otherwise.
	ctx, cancel := lastWord(ctx)
	defer cancel()
	rel.Info.Status = release.Uninstalled
	rel.Info.Description = req.Description
	if rel.Info.Description == "" {
		rel.Info.Description = "Uninstallation complete"
	}
	if err := u.Releases.Update(ctx, rel); err != nil {
		return plan, fmt.Errorf("record release %s as uninstalled: %w", rel.Name, err)
	}
	return plan, nil
}

// execute does all that comes before the record's last word. recorded tells
// that the record says uninstalling: nothing is written before the scripts of
// pre-delete have agreed.
func (u Uninstall) execute(ctx context.Context, req UninstallRequest, plan *Uninstalled, recorded *bool) error {
	rel := plan.Release
	scene, err := u.scene(ctx, rel)
	if err != nil {
		return err
	}
	bus := u.Events.Fork()
	event.Respond(bus, event.Record, func(ctx context.Context, _ *event.PreDelete) error {
		rel.Info.Status = release.Uninstalling
		rel.Info.Deleted = u.now()
		rel.Info.Description = "Deletion in progress (or silently failed)"
		if err := u.Releases.Update(ctx, rel); err != nil {
			return fmt.Errorf("record release %s as uninstalling: %w", rel.Name, err)
		}
		*recorded = true
		return nil
	})
	if err := bus.Emit(ctx, &event.PreDelete{Scene: scene}); err != nil {
		return err
	}
	cascade := req.Cascade
	if cascade == "" {
		cascade = CascadeBackground
	}
	owner := Owner{Release: rel.Name, Namespace: rel.Namespace}
	if err := u.Cluster.Delete(ctx, plan.Deleted, owner, cascade); err != nil {
		return err
	}
	if req.Wait {
		u.Progress.Send(progress.Event{Kind: progress.Step, Text: "waiting until the objects are gone"})
		wctx, cancel := context.WithTimeout(ctx, orDefault(req.Timeout))
		defer cancel()
		if err := u.Cluster.WaitGone(wctx, plan.Deleted, rel.Namespace); err != nil {
			return err
		}
	}
	return u.Events.Emit(ctx, &event.PostDelete{Scene: scene})
}

// scene is what the events of an uninstall show: the release, and no chart. The
// scripts that answer are those of the chart in the record.
func (u Uninstall) scene(ctx context.Context, rel *release.Release) (event.Scene, error) {
	op := operation("uninstall", false, render.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision}, nil, lookupIn(ctx, u.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return event.Scene{}, err
	}
	// Also where there are none: whoever ran another release's ends them.
	resolved := &event.ChartResolved{Scene: event.Scene{Operation: op, Chart: scripts}}
	if err := u.Events.Emit(ctx, resolved); err != nil {
		return event.Scene{}, err
	}
	return event.Scene{Operation: op, Release: rel}, nil
}

func (u Uninstall) fail(ctx context.Context, rel *release.Release, cause error) {
	ctx, cancel := lastWord(ctx)
	defer cancel()
	rel.Info.Status = release.Failed
	rel.Info.Description = "Uninstallation failed: " + cause.Error()
	if err := u.Releases.Update(ctx, rel); err != nil {
		u.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("release %s could not be recorded as failed: %s", rel.Name, err)})
	}
}

// purge removes every revision, oldest first, so that an interrupted purge
// leaves the newest, which says what to uninstall.
func (u Uninstall) purge(ctx context.Context, name string) error {
	revisions, err := u.Releases.Revisions(ctx, name)
	if errors.Is(err, ErrReleaseNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the history of release %s: %w", name, err)
	}
	for _, n := range revisions {
		if err := u.Releases.Delete(ctx, name, n); err != nil && !errors.Is(err, ErrReleaseNotFound) {
			return fmt.Errorf("delete revision %d of release %s: %w", n, name, err)
		}
	}
	return nil
}

func (u Uninstall) now() time.Time {
	if u.Now == nil {
		return time.Now()
	}
	return u.Now()
}

// keepPolicy is the annotation that makes uninstall leave an object alone.
const keepPolicy = "helm.sh/resource-policy"

func keeps(o *manifest.Object) bool {
	return strings.EqualFold(strings.TrimSpace(o.Annotations[keepPolicy]), "keep")
}

// AlreadyUninstalledError tells that nothing is left of a release but history.
type AlreadyUninstalledError struct{ Name string }

func (e *AlreadyUninstalledError) Error() string {
	return fmt.Sprintf("release %q is already uninstalled; its history is still kept", e.Name)
}
