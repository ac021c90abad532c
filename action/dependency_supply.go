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

// parallelSupplies is how many archives are fetched at once.
const parallelSupplies = 8

// supplies are what was found for wants, in their order.
type supplies struct {
	wants []Dependency
	found []ResolvedDependency // Open is nil for what is in the chart's directory already
}

// supply finds all wants: those without a repository in the directory, the others
// by way of the supplier, each once.
func (u DependencyUpdate) supply(ctx context.Context, v ChartDirectory, all []Dependency) (supplies, error) {
	s := supplies{wants: all, found: make([]ResolvedDependency, len(all))}
	for _, w := range all {
		if err := chart.ValidateName(w.Name); err != nil { // CVE-2024-25620
			return s, fmt.Errorf("the name of a dependency %w", err)
		}
	}
	u.tell(all)
	errs := make([]error, len(all))
	type result struct {
		supply ResolvedDependency
		err    error
	}
	results := map[Dependency]func() result{}
	turn := make(chan struct{}, parallelSupplies)
	var wg sync.WaitGroup
	for i, w := range all {
		if w.Repository == "" {
			s.found[i], errs[i] = inFolder(v.Vendored(), w)
			continue
		}
		once := results[w]
		if once == nil {
			once = sync.OnceValue(func() result {
				turn <- struct{}{}
				defer func() { <-turn }()
				found, err := u.supplyOne(ctx, w)
				return result{found, err}
			})
			results[w] = once
		}
		wg.Go(func() {
			r := once()
			s.found[i], errs[i] = r.supply, r.err
		})
	}
	wg.Wait()
	return s, told(all, errs)
}

// told joins what went wrong, each with what it went wrong for, and once.
func told(all []Dependency, errs []error) error {
	var out []error
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
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

// tell says what is about to be done, in Helm's words.
func (u DependencyUpdate) tell(all []Dependency) {
	u.say("Saving %d charts", len(all))
	for _, w := range all {
		switch {
		case w.Repository == "":
			place := chart.DirCharts
			if w.Library {
				place = chart.DirLibrary
			}
			u.say("Dependency %s did not declare a repository. Assuming it exists in the %s directory", w.Name, place)
		case !strings.HasPrefix(w.Repository, "file://"):
			u.say("Downloading %s from repo %s", w.Name, dependency.Shown(w.Repository))
		}
	}
}

func (u DependencyUpdate) say(format string, args ...any) {
	u.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf(format, args...)})
}

func (u DependencyUpdate) warn(format string, args ...any) {
	u.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf(format, args...)})
}

// supplyOne brings one archive, and sees whether it is what was asked for.
func (u DependencyUpdate) supplyOne(ctx context.Context, w Dependency) (ResolvedDependency, error) {
	if err := ctx.Err(); err != nil {
		return ResolvedDependency{}, err
	}
	s, err := u.Resolver.Resolve(ctx, w)
	if err != nil {
		return s, err
	}
	if s.Name != w.Name {
		return s, fmt.Errorf("what is there is the chart %q", s.Name)
	}
	if _, err := dependency.Version([]string{s.Version}, w.Version, true); err != nil {
		return s, err
	}
	if w.Content != "" && s.Content != "" && w.Content != s.Content {
		return s, &RepublishedError{Locked: w.Content, Got: s.Content}
	}
	return s, nil
}

// inFolder finds a dependency that has no repository: the newest that is held
// and suits.
func inFolder(held []loader.Vendored, w Dependency) (ResolvedDependency, error) {
	var have []string
	for _, h := range held {
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
		return ResolvedDependency{}, &UnresolvedError{Place: place, Have: have}
	}
	return ResolvedDependency{Name: w.Name, Version: version}, nil
}

// deliveries are the archives to be written. Two that would be one file must be
// the same.
func (s supplies) deliveries() ([]loader.NewArchive, error) {
	var out []loader.NewArchive
	for i, found := range s.found {
		if found.Open == nil {
			continue
		}
		d := loader.NewArchive{Library: s.wants[i].Library, File: found.file(), Open: found.Open}
		at := slices.IndexFunc(out, func(o loader.NewArchive) bool { return o.Library == d.Library && o.File == d.File })
		if at < 0 {
			out = append(out, d)
			continue
		}
		if same, err := alike(out[at], d); err != nil {
			return nil, err
		} else if !same {
			return nil, fmt.Errorf("two repositories have a chart %s %s, and not the same; a chart can use one of them only",
				found.Name, found.Version)
		}
	}
	return out, nil
}

func (s ResolvedDependency) file() string { return s.Name + "-" + s.Version + ".tgz" }

func alike(a, b loader.NewArchive) (bool, error) {
	x, err := a.Read()
	if err != nil {
		return false, err
	}
	y, err := b.Read()
	return bytes.Equal(x, y), err
}

// locked are what was found as a lock has it.
func (s supplies) locked(library bool) []*dependency.Locked {
	var out []*dependency.Locked
	for i, found := range s.found {
		if s.wants[i].Library != library {
			continue
		}
		version := found.Version
		if found.Open == nil {
			version = s.wants[i].Version // what a hand puts there may change within the range, as with Helm
		}
		out = append(out, &dependency.Locked{
			Dependency: chart.Dependency{Name: found.Name, Version: version, Repository: found.Repository},
			Content:    found.Content,
		})
	}
	return out
}

// drop are the archives of the directory that no one wants any more: in charts/
// all that are charts, as with Helm, and those that are broken and seem to be
// of a dependency; in library/ those of libraries that are or were listed.
func (s supplies) drop(held []loader.Vendored, before *dependency.Lock) []loader.Vendored {
	wanted := map[loader.Vendored]bool{}
	names := map[Dependency]bool{}
	for i, w := range s.wants {
		names[Dependency{Name: w.Name, Library: w.Library}] = true
		wanted[loader.Vendored{Library: w.Library, Name: w.Name, Version: s.found[i].Version}] = true
	}
	if before != nil {
		for _, l := range before.Libraries {
			names[Dependency{Name: l.Name, Library: true}] = true
		}
	}
	var out []loader.Vendored
	for _, h := range held {
		switch {
		case !h.Archive, h.Err == nil && wanted[loader.Vendored{Library: h.Library, Name: h.Name, Version: h.Version}] &&
			s.expected(h):
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

// expected reports whether an archive that is wanted is called as it should be;
// one without a repository may be called anything.
func (s supplies) expected(h loader.Vendored) bool {
	for i, found := range s.found {
		if s.wants[i].Library == h.Library && found.Name == h.Name && found.Version == h.Version &&
			(found.Open == nil || found.file() == h.File) {
			return true
		}
	}
	return false
}
