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

// DependencyUpdate makes a chart's charts/ and library/ what its Chart.yaml
// lists, in the newest versions that suit, and locks these.
type DependencyUpdate struct {
	Resolver DependencyResolver
	Events   *event.Bus    // nil runs no handlers
	Progress progress.Func // nil reports nothing; steps are Helm's lines
	Now      func() time.Time
}

// DependencyRequest says whose dependencies are meant.
type DependencyRequest struct {
	// Directory is the chart's.
	Directory   ChartDirectory
	SkipRefresh bool // takes what is known of repositories for new
}

// Run updates the dependencies. Until everything new is there and fits
// together, nothing is written; then the directory changes at once. A chart that
// lists nothing is left alone.
func (u DependencyUpdate) Run(ctx context.Context, req DependencyRequest) error {
	return u.run(ctx, req,
		func(list listing) ([]Dependency, error) { return wants(list.dependencies, list.libraries), nil }, u.newLock)
}

// listing is what a chart lists, its handlers heard.
type listing struct {
	dependencies, libraries []*chart.Dependency
	// changed reports that handlers have changed it.
	changed bool
}

// run is what update and build have in common. choose says what is to be had
// of a listing; lock what is to be written as the lock, nil for nothing.
func (u DependencyUpdate) run(ctx context.Context, req DependencyRequest, choose func(listing) ([]Dependency, error),
	lock func(ChartDirectory, supplies) ([]byte, error)) error {
	v := req.Directory
	if v == nil {
		return &RequestError{Operation: "update dependencies", Field: "Directory"}
	}
	payload, list, err := u.ask(ctx, v.Chart())
	late := err != nil && isLoading(err) && !complete(v.Chart())
	if late { // scripts require what is yet to be fetched: they are asked once it is there
		payload, list = nil, listed(v.Chart())
	} else if err != nil {
		return err
	}
	s, err := u.obtain(ctx, req, list, choose)
	if err != nil || s.wants == nil {
		return interrupted(ctx, err)
	}
	if late {
		if payload, list, err = u.askAhead(ctx, v, s); err != nil {
			return err
		}
		if list.changed {
			if s, err = u.obtain(ctx, req, list, choose); err != nil || s.wants == nil {
				return interrupted(ctx, err)
			}
		}
	}
	return u.write(ctx, v, payload, list, s, lock)
}

// interrupted is err, unless the user has ended what failed: then nothing else
// needs to be said, for nothing was written.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// obtain has everything that choose says brought. No wants means that there is
// nothing to do.
func (u DependencyUpdate) obtain(ctx context.Context, req DependencyRequest, list listing,
	choose func(listing) ([]Dependency, error)) (supplies, error) {
	all, err := choose(list)
	if err != nil || len(all) == 0 {
		return supplies{}, err
	}
	if u.Resolver == nil {
		return supplies{}, &ConfigError{Operation: "update dependencies", Field: "Resolver"}
	}
	if err := u.Resolver.Check(all); err != nil {
		return supplies{}, err
	}
	if !req.SkipRefresh {
		if err := u.Resolver.Refresh(ctx, all); err != nil {
			return supplies{}, err
		}
	}
	return u.supply(ctx, req.Directory, all)
}

// write puts what was found in place.
func (u DependencyUpdate) write(ctx context.Context, v ChartDirectory, payload *event.Payload, list listing, s supplies,
	lock func(ChartDirectory, supplies) ([]byte, error)) error {
	put, err := s.deliveries()
	if err != nil {
		return err
	}
	before := oldLock(v)
	drop := s.drop(v.Vendored(), before)
	if err := u.fits(v, s, put, drop); err != nil {
		return err
	}
	text, err := lock(v, s)
	if err != nil {
		return err
	}
	if payload != nil {
		md := *payload.Chart.Metadata
		md.Dependencies, md.Libraries = s.resolved(list.dependencies, false), s.resolved(list.libraries, true)
		payload.Chart.Metadata = &md
		if err := u.Events.Emit(ctx, &event.PostDependencyBuild{Payload: *payload}); err != nil {
			return err
		}
	}
	u.say("Deleting outdated charts")
	return v.Replace(ctx, put, drop, text)
}

// fits sees whether the chart will load with its new charts, and whether its
// libraries suit everyone. What else may keep it from being rendered is told.
func (u DependencyUpdate) fits(v ChartDirectory, s supplies, put []loader.NewArchive, drop []loader.Vendored) error {
	c, err := v.Preview(put, drop)
	if err != nil {
		return err
	}
	for _, h := range v.Vendored() {
		if !h.Archive && h.Err == nil && s.delivers(h) {
			u.warn("%s is a directory beside the archive of the same chart, and both count; remove one of them", h.Path())
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

// delivers reports whether an archive of the chart h was found.
func (s supplies) delivers(h loader.Vendored) bool {
	for i, found := range s.found {
		if found.Open != nil && found.Name == h.Name && s.wants[i].Library == h.Library {
			return true
		}
	}
	return false
}

// resolved are entries with the versions that were found.
func (s supplies) resolved(entries []*chart.Dependency, library bool) []*chart.Dependency {
	var found []ResolvedDependency
	for i, w := range s.wants {
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

// newLock is the lock of what was found, nil where the old one says it all.
func (u DependencyUpdate) newLock(v ChartDirectory, s supplies) ([]byte, error) {
	l := &dependency.Lock{Generated: u.now(), Dependencies: s.locked(false), Libraries: s.locked(true)}
	if l.Dependencies == nil {
		l.Dependencies = []*dependency.Locked{} // as it will be read
	}
	var err error
	// The digest is over what the files list, so that Helm finds it right.
	if l.Digest, err = dependency.LockDigest(v.Chart().Metadata.Dependencies, l.Dependencies); err != nil {
		return nil, err
	}
	if old := oldLock(v); old != nil {
		u.noteRepublished(old, l)
		if old.Same(l) {
			return nil, nil
		}
	}
	return l.Text()
}

// noteRepublished warns of archives that have changed under their versions.
func (u DependencyUpdate) noteRepublished(old, now *dependency.Lock) {
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
	compare(old.Dependencies, now.Dependencies)
	compare(old.Libraries, now.Libraries)
}

func (u DependencyUpdate) now() time.Time {
	if u.Now == nil {
		return time.Now()
	}
	return u.Now()
}

// oldLock is the lock that the directory has, nil where it has none to be read.
func oldLock(v ChartDirectory) *dependency.Lock {
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

// listed is what the chart's files list.
func listed(c *chart.Chart) listing {
	return listing{dependencies: c.Metadata.Dependencies, libraries: c.Metadata.Libraries}
}

// ask lets handlers change what a chart lists. The payload is what they see.
func (u DependencyUpdate) ask(ctx context.Context, c *chart.Chart) (*event.Payload, listing, error) {
	if u.Events == nil {
		return nil, listed(c), nil
	}
	resolved, err := values.Resolve(c, nil)
	if err != nil {
		return nil, listing{}, err
	}
	seen := resolved.Chart
	// Libraries may be missing: getting them is what this is for.
	_, _ = dependency.Libraries(seen)
	md := *seen.Metadata
	md.Dependencies, md.Libraries = copied(c.Metadata.Dependencies), c.Metadata.Libraries
	seen.Metadata = &md
	op := operation("dependency", false, engine.Release{}, engine.DefaultCapabilities(), nil)
	payload, err := load(ctx, u.Events, op, seen, resolved.Values)
	if err != nil {
		return nil, listing{}, err
	}
	pre := &event.PreDependencyBuild{Payload: payload}
	if err := u.Events.Emit(ctx, pre); err != nil {
		return nil, listing{}, err
	}
	list := listing{dependencies: pre.Chart.Metadata.Dependencies, libraries: c.Metadata.Libraries}
	list.changed = !reflect.DeepEqual(list.dependencies, copied(c.Metadata.Dependencies))
	return &pre.Payload, list, nil
}

// copied returns copies of the entries.
func copied(deps []*chart.Dependency) []*chart.Dependency {
	var out []*chart.Dependency
	for _, d := range deps {
		if d != nil {
			c := *d
			out = append(out, &c)
		}
	}
	return out
}

// askAhead is ask of the chart as it will be.
func (u DependencyUpdate) askAhead(ctx context.Context, v ChartDirectory, s supplies) (*event.Payload, listing, error) {
	put, err := s.deliveries()
	if err != nil {
		return nil, listing{}, err
	}
	c, err := v.Preview(put, s.drop(v.Vendored(), oldLock(v)))
	if err != nil {
		return nil, listing{}, err
	}
	return u.ask(ctx, c)
}

// complete reports whether a chart has all that it lists.
func complete(c *chart.Chart) bool {
	if len(values.Missing(c)) > 0 {
		return false
	}
	_, err := dependency.Libraries(copyTree(c))
	return err == nil
}

// isLoading reports whether scripts could not be loaded at all, as when they
// require a file of a chart that is missing.
func isLoading(err error) bool {
	var loading interface{ Loading() bool }
	return errors.As(err, &loading) && loading.Loading()
}
