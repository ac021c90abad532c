// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// A DriftReader compares live objects with what is installed. [*apply.Applier] implements it and
// documents the method.
type DriftReader interface {
	FindDrift(ctx context.Context, requests []apply.DriftRequest, o plan.DriftOptions) ([][]plan.ObjectDrift, error)
}

// Drift compares what runs with what releases have installed, by their records alone: neither charts
// nor values are read. It writes nothing; [Repair] does.
type Drift struct {
	// Releases are the records of one namespace, or of all.
	Releases *storage.Storage
	Cluster  DriftReader
}

// A DriftRequest selects releases and differences.
type DriftRequest struct {
	// Name is the name of a release, for which Releases must be of its namespace; "" selects
	// those of Filter.
	Name   string
	Filter storage.Filter
	plan.DriftOptions
}

// ReleaseDrift has the differences of a release from what is installed.
type ReleaseDrift struct {
	Name, Namespace string
	// Revision is the installed revision: the deployed one, or the newest if none is deployed.
	// Installed is the time of its deployment.
	Revision  int
	Installed time.Time
	// Unfinished is set if a repair was interrupted or has failed: another one completes it.
	Unfinished bool
	// Objects are in the order of the manifest, those without a difference included.
	Objects []plan.ObjectDrift
	// Err is the reason why the release could not be compared, or nil.
	Err error
}

// Drifted reports whether an object of the release has drifted.
func (d ReleaseDrift) Drifted() bool {
	for _, o := range d.Objects {
		if o.Drifted() {
			return true
		}
	}
	return false
}

// Run compares the releases that req selects, sorted by name and namespace. Releases that are
// uninstalled are left out. A release whose record cannot be read has Err set. Run returns a
// [*NotInstalledError] if req names a release that is uninstalled, and the errors of
// [apply.Applier.FindDrift].
func (d Drift) Run(ctx context.Context, req DriftRequest) ([]ReleaseDrift, error) {
	if d.Releases == nil {
		return nil, &ConfigError{Operation: "drift", Field: "Releases"}
	}
	if d.Cluster == nil {
		return nil, &ConfigError{Operation: "drift", Field: "Cluster"}
	}
	found, err := d.installed(ctx, req)
	if err != nil {
		return nil, err
	}
	out := make([]ReleaseDrift, len(found))
	var requests []apply.DriftRequest
	var of []int
	for i, f := range found {
		out[i] = f.drift
		if f.drift.Err == nil {
			requests, of = append(requests, f.request), append(of, i)
		}
	}
	objects, err := d.Cluster.FindDrift(ctx, requests, req.DriftOptions)
	for i, o := range objects {
		out[of[i]].Objects = o
	}
	return out, err
}

// installation is what a release has installed.
type installation struct {
	drift   ReleaseDrift
	request apply.DriftRequest
}

// installed reads what the selected releases have installed.
func (d Drift) installed(ctx context.Context, req DriftRequest) ([]*installation, error) {
	if req.Name != "" {
		f, err := d.named(ctx, req.Name)
		if err != nil {
			return nil, err
		}
		return []*installation{f}, nil
	}
	histories, err := d.Releases.Histories(ctx, req.Filter)
	if err != nil {
		return nil, err
	}
	all := make([]*installation, len(histories))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for i, revisions := range histories {
		group.Go(func() error {
			all[i] = d.read(reading, revisions)
			return reading.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []*installation
	for _, f := range all {
		var gone *NotInstalledError
		if !errors.As(f.drift.Err, &gone) && !errors.Is(f.drift.Err, storage.ErrNotFound) {
			out = append(out, f)
		}
	}
	return out, nil
}

// named reads what one release has installed.
func (d Drift) named(ctx context.Context, name string) (*installation, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	revisions, err := d.Releases.Revisions(ctx, name)
	if err != nil {
		return nil, err
	}
	f := d.read(ctx, revisions)
	return f, f.drift.Err
}

// read reads what a release with the given records has installed.
func (d Drift) read(ctx context.Context, revisions []storage.Record) *installation {
	newest := revisions[len(revisions)-1]
	f := &installation{drift: ReleaseDrift{Name: newest.Name, Namespace: newest.Namespace, Revision: newest.Revision}}
	h := &history{name: newest.Name, revisions: revisions}
	h.dropInvalid()
	if f.drift.Err = h.newest().Unsupported(); f.drift.Err != nil {
		return f
	}
	if f.drift.Err = h.read(ctx, d.Releases.In(newest.Namespace)); f.drift.Err == nil {
		f.drift.Err = f.set(h)
	}
	return f
}

// set sets f to what the revisions of h have installed.
func (f *installation) set(h *history) error {
	h.findDeployed()
	rel := h.current()
	if len(h.applied) == 0 {
		return &NotInstalledError{Name: h.name, Status: h.newest().Status}
	}
	f.drift = ReleaseDrift{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision,
		Installed: rel.Info.LastDeployed, Unfinished: h.last != h.deployed && checkRepairable(h) == nil}
	var err error
	f.request, err = h.driftRequest()
	return err
}

// driftRequest returns the request to compare the objects of the current revision.
func (h *history) driftRequest() (apply.DriftRequest, error) {
	rel := h.current()
	r := apply.DriftRequest{Owner: kube.Owner{Release: rel.Name, Namespace: rel.Namespace}}
	var err error
	if r.Installed, err = recordedObjects(rel); err != nil {
		return r, err
	}
	for _, other := range h.applied {
		if other == rel || other.Manifest == rel.Manifest {
			continue
		}
		var objects []*manifest.Object
		if objects, err = recordedObjects(other); err != nil {
			return r, err
		}
		r.Failed = append(r.Failed, objects)
	}
	return r, nil
}

// A NotInstalledError is returned if nothing of a release is installed.
type NotInstalledError struct {
	Name   string
	Status release.Status // of the newest revision
}

func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("release %q is %s: nothing of it is installed", e.Name, e.Status)
}

// Hint says how to install it again.
func (e *NotInstalledError) Hint() string {
	return fmt.Sprintf("helm rollback %s installs its last revision again", e.Name)
}
