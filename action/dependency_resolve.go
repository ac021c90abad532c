// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/progress"
)

// parallelResolves is the number of dependencies that are resolved concurrently.
const parallelResolves = 8

// resolution is a list of dependencies, each with the archive found for it.
type resolution struct {
	dependencies []Dependency
	found        []ResolvedDependency // Open is nil if the chart is already vendored
}

// resolveAll resolves all dependencies: those without a repository from the chart's
// directory, the others with u.Resolver, duplicates only once.
func (u DependencyUpdate) resolveAll(ctx context.Context, v ChartDirectory, all []Dependency) (resolution, error) {
	s := resolution{dependencies: all, found: make([]ResolvedDependency, len(all))}
	for _, w := range all {
		if err := chart.ValidateName(w.Name); err != nil { // CVE-2024-25620
			return s, fmt.Errorf("the name of a dependency %w", err)
		}
	}
	u.reportStart(all)
	errs := make([]error, len(all))
	type result struct {
		found ResolvedDependency
		err   error
	}
	results := map[Dependency]func() result{}
	slots := make(chan struct{}, parallelResolves)
	var wg sync.WaitGroup
	for i, w := range all {
		if w.Repository == "" {
			s.found[i], errs[i] = findVendored(v.Vendored(), w)
			continue
		}
		once := results[w]
		if once == nil {
			once = sync.OnceValue(func() result {
				slots <- struct{}{}
				defer func() { <-slots }()
				found, err := u.resolveOne(ctx, w)
				return result{found, err}
			})
			results[w] = once
		}
		wg.Go(func() {
			r := once()
			s.found[i], errs[i] = r.found, r.err
		})
	}
	wg.Wait()
	return s, joinErrors(all, errs)
}

// joinErrors returns errs, one per dependency, as a [*DependencyError] or, if there are several, a
// [*DependenciesError] without duplicates.
func joinErrors(all []Dependency, errs []error) error {
	var out []*DependencyError
	seen := map[Dependency]bool{}
	for i, err := range errs {
		switch {
		case err == nil || seen[all[i]]:
		case errors.Is(err, context.Canceled):
			return err
		default:
			seen[all[i]] = true
			out = append(out, &DependencyError{Dependency: all[i], Err: err})
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return &DependenciesError{Total: len(all), Errors: out}
}

// reportStart reports as progress, in Helm's words, where the dependencies come from.
func (u DependencyUpdate) reportStart(all []Dependency) {
	u.step("Saving %d charts", len(all))
	for _, w := range all {
		switch {
		case w.Repository == "":
			place := chart.DirCharts
			if w.Library {
				place = chart.DirLibrary
			}
			u.step("Dependency %s did not declare a repository. Assuming it exists in the %s directory", w.Name, place)
		case !strings.HasPrefix(w.Repository, "file://"):
			u.step("Downloading %s from repo %s", w.Name, dependency.RedactURL(w.Repository))
		}
	}
}

func (u DependencyUpdate) step(format string, args ...any) {
	u.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf(format, args...)})
}

func (u DependencyUpdate) warn(format string, args ...any) {
	u.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf(format, args...)})
}

// resolveOne resolves one dependency, and checks the name, version and digest of its archive.
func (u DependencyUpdate) resolveOne(ctx context.Context, w Dependency) (ResolvedDependency, error) {
	if err := ctx.Err(); err != nil {
		return ResolvedDependency{}, err
	}
	s, err := u.Resolver.Resolve(ctx, w)
	if err != nil {
		return s, err
	}
	if s.Name != w.Name {
		return s, fmt.Errorf("the archive contains the chart %q", s.Name)
	}
	if _, err := dependency.Version([]string{s.Version}, w.Version, true); err != nil {
		return s, err
	}
	if w.Content != "" && s.Content != "" && w.Content != s.Content {
		return s, &RepublishedError{Locked: w.Content, Got: s.Content}
	}
	return s, nil
}

// findVendored returns the newest vendored chart that satisfies w, a dependency without a
// repository.
func findVendored(vendored []loader.Vendored, w Dependency) (ResolvedDependency, error) {
	var have []string
	for _, h := range vendored {
		if h.Library == w.Library && h.Err == nil && h.Name == w.Name {
			have = append(have, h.Version)
		}
	}
	version, err := dependency.Version(have, w.Version, true)
	if err != nil {
		var wrong *dependency.VersionError
		if errors.As(err, &wrong) && wrong.Problem != "" {
			return ResolvedDependency{}, err
		}
		place := chart.DirCharts
		if w.Library {
			place = chart.DirLibrary
		}
		return ResolvedDependency{}, &UnresolvedError{Directory: place, Have: have}
	}
	return ResolvedDependency{Name: w.Name, Version: version}, nil
}

// archives returns the archives to write. It returns an error if two different archives
// have the same file name.
func (s resolution) archives() ([]loader.NewArchive, error) {
	var out []loader.NewArchive
	for i, found := range s.found {
		if found.Open == nil {
			continue
		}
		d := loader.NewArchive{Library: s.dependencies[i].Library, File: found.file(), Open: found.Open}
		index := slices.IndexFunc(out, func(o loader.NewArchive) bool { return o.Library == d.Library && o.File == d.File })
		if index < 0 {
			out = append(out, d)
			continue
		}
		if same, err := sameContent(out[index], d); err != nil {
			return nil, err
		} else if !same {
			return nil, fmt.Errorf("two repositories have a chart %s %s, and they differ; a chart can use one of them only",
				found.Name, found.Version)
		}
	}
	return out, nil
}

func (s ResolvedDependency) file() string { return s.Name + "-" + s.Version + ".tgz" }

func sameContent(a, b loader.NewArchive) (bool, error) {
	x, err := a.Read()
	if err != nil {
		return false, err
	}
	y, err := b.Read()
	return bytes.Equal(x, y), err
}

// locked returns the entries for a lock: those of the libraries, or of other dependencies.
func (s resolution) locked(library bool) []*dependency.Locked {
	var out []*dependency.Locked
	for i, found := range s.found {
		if s.dependencies[i].Library != library {
			continue
		}
		version := found.Version
		if found.Open == nil {
			version = s.dependencies[i].Version // as Helm does: users update such a chart by hand, within the range
		}
		out = append(out, &dependency.Locked{
			Dependency: chart.Dependency{Name: found.Name, Version: version, Repository: found.Repository},
			Content:    found.Content,
		})
	}
	return out
}

// outdated returns the vendored archives to remove: in charts/ all other charts, as Helm
// does; in library/ other versions of libraries that are listed or in the old lock; in both
// corrupt archives with the file name of a dependency.
func (s resolution) outdated(vendored []loader.Vendored, oldLock *dependency.Lock) []loader.Vendored {
	wanted := map[loader.Vendored]bool{}
	names := map[Dependency]bool{}
	for i, w := range s.dependencies {
		names[Dependency{Name: w.Name, Library: w.Library}] = true
		wanted[loader.Vendored{Library: w.Library, Name: w.Name, Version: s.found[i].Version}] = true
	}
	if oldLock != nil {
		for _, l := range oldLock.Libraries {
			names[Dependency{Name: l.Name, Library: true}] = true
		}
	}
	var out []loader.Vendored
	for _, h := range vendored {
		switch {
		case !h.Archive, h.Err == nil && wanted[loader.Vendored{Library: h.Library, Name: h.Name, Version: h.Version}] &&
			s.hasExpectedFile(h):
		case h.Err == nil && (!h.Library || names[Dependency{Name: h.Name, Library: true}]):
			out = append(out, h)
		case h.Err != nil && strings.HasSuffix(h.File, ".tgz"):
			for n := range names {
				if n.Library == h.Library && strings.HasPrefix(h.File, n.Name+"-") {
					out = append(out, h)
					break
				}
			}
		}
	}
	return out
}

// hasExpectedFile reports whether the archive of a dependency has the file name NAME-VERSION.tgz.
// The archive of a dependency without a repository may have any name.
func (s resolution) hasExpectedFile(h loader.Vendored) bool {
	for i, found := range s.found {
		if s.dependencies[i].Library == h.Library && found.Name == h.Name && found.Version == h.Version &&
			(found.Open == nil || found.file() == h.File) {
			return true
		}
	}
	return false
}
