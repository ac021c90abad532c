// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/progress"
)

// DependencyUpdate vendors the dependencies of a chart's Chart.yaml, in the newest versions of
// their ranges, and locks these.
type DependencyUpdate struct {
	Resolver DependencyResolver
	Events   *event.Bus    // nil runs no handlers
	Progress progress.Func // may be nil; steps are the lines that Helm prints
	Now      func() time.Time
}

// A DependencyRequest selects a chart.
type DependencyRequest struct {
	// Directory is the chart's directory.
	Directory   ChartDirectory
	SkipRefresh bool // uses the cached indexes of repositories
}

// Run updates the dependencies. It fetches and checks all archives before it replaces
// charts/ and library/. It does nothing if the chart has no dependencies. Errors:
// [*ConfigError], [*RequestError], [*DependencyError] and [*UnresolvedError] for a dependency
// that cannot be resolved, and those of the Resolver.
func (u DependencyUpdate) Run(ctx context.Context, req DependencyRequest) error {
	return u.run(ctx, req, func(list listing) ([]Dependency, error) {
		return dependenciesOf(list.dependencies, list.libraries), nil
	}, u.newLock)
}

// listing contains the dependencies of a chart, as event handlers have changed them.
type listing struct {
	dependencies, libraries []*chart.Dependency
	// changed reports whether handlers have changed the dependencies.
	changed bool
}

// run implements update and build. choose returns the dependencies to resolve; lock returns
// the lock file to write, or nil to keep the old one.
func (u DependencyUpdate) run(ctx context.Context, req DependencyRequest, choose func(listing) ([]Dependency, error),
	lock func(ChartDirectory, resolution) ([]byte, error)) error {
	v := req.Directory
	if v == nil {
		return &RequestError{Operation: "update dependencies", Field: "Directory"}
	}
	payload, list, err := u.emitPre(ctx, v.Chart())
	retry := err != nil && isLoading(err) && !isComplete(v.Chart())
	if retry { // scripts require files of dependencies: emit the event again once these are fetched
		payload, list = nil, listingOf(v.Chart())
	} else if err != nil {
		return err
	}
	s, err := u.fetch(ctx, req, list, choose)
	if err != nil || s.dependencies == nil {
		return orCanceled(ctx, err)
	}
	if retry {
		if payload, list, err = u.emitPreWith(ctx, v, s); err != nil {
			return err
		}
		if list.changed {
			if s, err = u.fetch(ctx, req, list, choose); err != nil || s.dependencies == nil {
				return orCanceled(ctx, err)
			}
		}
	}
	return u.write(ctx, v, payload, list, s, lock)
}

// orCanceled returns err, or the error of ctx if ctx has ended: the errors of interrupted
// requests do not help.
func orCanceled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// fetch resolves the dependencies that choose returns. Without any, it returns the zero
// resolution.
func (u DependencyUpdate) fetch(ctx context.Context, req DependencyRequest, list listing,
	choose func(listing) ([]Dependency, error)) (resolution, error) {
	all, err := choose(list)
	if err != nil || len(all) == 0 {
		return resolution{}, err
	}
	if u.Resolver == nil {
		return resolution{}, &ConfigError{Operation: "update dependencies", Field: "Resolver"}
	}
	if err := u.Resolver.Check(all); err != nil {
		return resolution{}, err
	}
	if !req.SkipRefresh {
		if err := u.Resolver.Refresh(ctx, all); err != nil {
			return resolution{}, err
		}
	}
	return u.resolveAll(ctx, req.Directory, all)
}

// write checks the fetched archives, emits the event of the built dependencies, and writes the
// archives and the lock.
func (u DependencyUpdate) write(ctx context.Context, v ChartDirectory, payload *event.Payload, list listing,
	s resolution, lock func(ChartDirectory, resolution) ([]byte, error)) error {
	put, err := s.archives()
	if err != nil {
		return err
	}
	drop := s.outdated(v.Vendored(), readLock(v))
	if err := u.check(v, s, put, drop); err != nil {
		return err
	}
	text, err := lock(v, s)
	if err != nil {
		return err
	}
	if payload != nil {
		md := *payload.Chart.Metadata
		md.Dependencies, md.Libraries = s.withVersions(list.dependencies, false), s.withVersions(list.libraries, true)
		payload.Chart.Metadata = &md
		if err := u.Events.Emit(ctx, &event.PostDependencyBuild{Payload: *payload}); err != nil {
			return err
		}
	}
	u.step("Deleting outdated charts")
	return v.Replace(ctx, put, drop, text)
}

// check returns an error if the chart will not load with its new dependencies, or if charts
// require conflicting versions of a library. It warns of problems that prevent only rendering.
func (u DependencyUpdate) check(v ChartDirectory, s resolution, put []loader.NewArchive,
	drop []loader.Vendored) error {
	c, err := v.Preview(put, drop)
	if err != nil {
		return err
	}
	for _, h := range v.Vendored() {
		if !h.Archive && h.Err == nil && s.hasArchiveOf(h) {
			u.warn("%s is a directory next to an archive of the same chart, and both are loaded; remove one of them", h.Path())
		}
	}
	resolved, err := values.Resolve(c, nil)
	if err != nil {
		u.warn("%v", err)
		return nil
	}
	_, err = dependency.Libraries(resolved.Chart)
	var conflict *dependency.ConflictError
	var bad *dependency.RangeError
	if errors.As(err, &conflict) || errors.As(err, &bad) {
		return err
	}
	if err != nil {
		u.warn("%v", err)
	}
	return nil
}

// hasArchiveOf reports whether s contains an archive of the chart h.
func (s resolution) hasArchiveOf(h loader.Vendored) bool {
	for i, found := range s.found {
		if found.Open != nil && found.Name == h.Name && s.dependencies[i].Library == h.Library {
			return true
		}
	}
	return false
}

// withVersions returns copies of entries, with the resolved versions instead of ranges.
func (s resolution) withVersions(entries []*chart.Dependency, library bool) []*chart.Dependency {
	var found []ResolvedDependency
	for i, w := range s.dependencies {
		if w.Library == library {
			found = append(found, s.found[i])
		}
	}
	var out []*chart.Dependency
	for _, e := range entries {
		if e == nil {
			continue
		}
		d := *e
		for i, f := range found {
			if f.Name == e.Name {
				d.Version = f.Version
				found = append(found[:i:i], found[i+1:]...)
				break
			}
		}
		out = append(out, &d)
	}
	return out
}

// newLock returns the lock file for s, or nil if the old one has the same entries.
func (u DependencyUpdate) newLock(v ChartDirectory, s resolution) ([]byte, error) {
	l := &dependency.Lock{Generated: u.now(), Dependencies: s.locked(false), Libraries: s.locked(true)}
	if l.Dependencies == nil {
		l.Dependencies = []*dependency.Locked{} // as ParseLock returns it
	}
	var err error
	// Helm computes the digest of the files' entries, without changes by handlers.
	if l.Digest, err = dependency.LockDigest(v.Chart().Metadata.Dependencies, l.Dependencies); err != nil {
		return nil, err
	}
	if old := readLock(v); old != nil {
		u.warnRepublished(old, l)
		if old.Same(l) {
			return nil, nil
		}
	}
	return l.Text()
}

// warnRepublished warns of archives that differ from the locked ones of the same version.
func (u DependencyUpdate) warnRepublished(old, updated *dependency.Lock) {
	compare := func(was, is []*dependency.Locked) {
		for _, n := range is {
			for _, o := range was {
				if o.Name == n.Name && o.Version == n.Version && o.Repository == n.Repository && o.Content != n.Content &&
					o.Content != "" && n.Content != "" {
					u.warn("%s %s has been published again since it was locked: its archive was %s, it is %s", n.Name, n.Version,
						o.Content, n.Content)
				}
			}
		}
	}
	compare(old.Dependencies, updated.Dependencies)
	compare(old.Libraries, updated.Libraries)
}

func (u DependencyUpdate) now() time.Time {
	if u.Now == nil {
		return time.Now()
	}
	return u.Now()
}

// readLock returns the lock of the directory, or nil if there is none or it cannot be read.
func readLock(v ChartDirectory) *dependency.Lock {
	name, text, _ := v.Lock()
	if text == nil {
		return nil
	}
	l, err := dependency.ParseLock(name, text)
	if err != nil {
		return nil
	}
	return l
}

// listingOf returns the listing of the chart's files.
func listingOf(c *chart.Chart) listing {
	return listing{dependencies: c.Metadata.Dependencies, libraries: c.Metadata.Libraries}
}

// emitPre emits the event before dependencies are built, whose handlers may change them. It
// returns the payload that handlers have seen, or nil without u.Events.
func (u DependencyUpdate) emitPre(ctx context.Context, c *chart.Chart) (*event.Payload, listing, error) {
	if u.Events == nil {
		return nil, listingOf(c), nil
	}
	resolved, err := values.Resolve(c, nil)
	if err != nil {
		return nil, listing{}, err
	}
	seen := resolved.Chart
	// Libraries may be missing until they are fetched.
	_, _ = dependency.Libraries(seen)
	md := *seen.Metadata
	md.Dependencies, md.Libraries = copyEntries(c.Metadata.Dependencies), c.Metadata.Libraries
	seen.Metadata = &md
	op := newOperation("dependency", false, engine.Release{}, engine.DefaultCapabilities(), nil)
	payload, err := emitLoaded(ctx, u.Events, op, seen, resolved.Values)
	if err != nil {
		return nil, listing{}, err
	}
	pre := &event.PreDependencyBuild{Payload: payload}
	if err := u.Events.Emit(ctx, pre); err != nil {
		return nil, listing{}, err
	}
	list := listing{dependencies: pre.Chart.Metadata.Dependencies, libraries: c.Metadata.Libraries}
	list.changed = !reflect.DeepEqual(list.dependencies, copyEntries(c.Metadata.Dependencies))
	return &pre.Payload, list, nil
}

// copyEntries returns a deep copy of deps, without nil entries.
func copyEntries(deps []*chart.Dependency) []*chart.Dependency {
	var out []*chart.Dependency
	for _, d := range deps {
		if d != nil {
			c := *d
			out = append(out, &c)
		}
	}
	return out
}

// emitPreWith emits the event for the chart with the dependencies of s.
func (u DependencyUpdate) emitPreWith(ctx context.Context, v ChartDirectory, s resolution) (
	*event.Payload, listing, error) {
	put, err := s.archives()
	if err != nil {
		return nil, listing{}, err
	}
	c, err := v.Preview(put, s.outdated(v.Vendored(), readLock(v)))
	if err != nil {
		return nil, listing{}, err
	}
	return u.emitPre(ctx, c)
}

// isComplete reports whether all dependencies and libraries of a chart are vendored.
func isComplete(c *chart.Chart) bool {
	if len(values.Missing(c)) > 0 {
		return false
	}
	_, err := dependency.Libraries(c.CopyTree())
	return err == nil
}

// isLoading reports whether scripts could not be loaded, as when they require a file of a
// missing chart.
func isLoading(err error) bool {
	var loading interface{ Loading() bool }
	return errors.As(err, &loading) && loading.Loading()
}
