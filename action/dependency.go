// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// A ChartDirectory reads and replaces the vendored dependencies of a chart.
// [*loader.Directory] implements it and documents the methods.
type ChartDirectory interface {
	Chart() *chart.Chart
	Vendored() []loader.Vendored
	Lock() (name string, text []byte, err error)
	Preview(put []loader.NewArchive, drop []loader.Vendored) (*chart.Chart, error)
	Replace(ctx context.Context, put []loader.NewArchive, drop []loader.Vendored, lock []byte) error
}

var _ ChartDirectory = (*loader.Directory)(nil)

// A Dependency is an entry of a chart's Chart.yaml, with a version range, or of its lock.
type Dependency struct {
	Name, Version, Repository string
	Library                   bool // an entry of libraries:, vendored in library/
	// Content is the locked digest of the archive, "sha256:<hex>", or "" if there is none.
	Content string
}

// String returns the name, followed by the version if there is one.
func (d Dependency) String() string {
	return strings.Join(strings.Fields(d.Name+" "+d.Version), " ")
}

// A ResolvedDependency is the archive found for a [Dependency]. Open may be called several
// times.
type ResolvedDependency struct {
	// Name and Version are those in the archive's Chart.yaml.
	Name, Version string
	// Repository is the entry for a lock: the repository's URL, even if the Dependency
	// has a name from the local repositories file ("@stable").
	Repository string
	// Content is the archive's digest, or "" if it was packed from a directory.
	Content string
	Open    func() (io.ReadCloser, error)
}

// A DependencyResolver finds and fetches dependencies. It is safe for concurrent use.
type DependencyResolver interface {
	// Check returns an error if the dependencies cannot be resolved together. It makes no
	// request.
	Check(all []Dependency) error
	// Refresh fetches the index of each repository of all. It reports an index that it
	// cannot fetch as progress: Resolve fails if it needs that index.
	Refresh(ctx context.Context, all []Dependency) error
	// Resolve fetches the newest version that satisfies d.
	Resolve(ctx context.Context, d Dependency) (ResolvedDependency, error)
}

// A DependencyError is returned if a dependency cannot be resolved.
type DependencyError struct {
	Dependency Dependency
	Err        error
}

func (e *DependencyError) Error() string {
	from := ""
	if e.Dependency.Repository != "" {
		from = " from " + dependency.RedactURL(e.Dependency.Repository)
	}
	if want, ok := errors.AsType[*dependency.VersionError](e.Err); ok && want.Problem == "" && e.Dependency.Version != "" {
		return fmt.Sprintf("can't get a valid version for 1 subchart(s): %q (repository %q, version %q): %v",
			e.Dependency.Name, dependency.RedactURL(e.Dependency.Repository), e.Dependency.Version, e.Err)
	}
	return fmt.Sprintf("dependency %s%s: %v", e.Dependency, from, e.Err)
}

func (e *DependencyError) Unwrap() error { return e.Err }

// A DependenciesError is returned if several dependencies cannot be resolved.
type DependenciesError struct {
	Total  int // the number of dependencies of the chart
	Errors []*DependencyError
}

func (e *DependenciesError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d dependencies cannot be resolved:", len(e.Errors), e.Total)
	for _, err := range e.Errors {
		b.WriteString("\n  " + strings.ReplaceAll(err.Error(), "\n", "\n    "))
	}
	return b.String()
}

// Unwrap returns the errors.
func (e *DependenciesError) Unwrap() []error {
	out := make([]error, len(e.Errors))
	for i, err := range e.Errors {
		out[i] = err
	}
	return out
}

// A RepublishedError is returned if an archive differs from the locked one of the same
// version.
type RepublishedError struct{ Locked, Got string }

func (e *RepublishedError) Error() string {
	return fmt.Sprintf("its archive has changed since it was locked, although its version has not: it was %s, it is %s",
		e.Locked, e.Got)
}

// An UnresolvedError is returned if a dependency without a repository is not in charts/ or
// library/.
type UnresolvedError struct {
	Directory string   // "charts" or "library"
	Have      []string // the vendored versions, none of which is in the range
}

func (e *UnresolvedError) Error() string {
	if len(e.Have) > 0 {
		return fmt.Sprintf("it has no repository, and %s/ has only %s; add a matching version there, "+
			"or set its repository", e.Directory, strings.Join(e.Have, ", "))
	}
	return fmt.Sprintf("it has no repository, and is not in %s/; add it there, or set its repository", e.Directory)
}

// dependenciesOf returns the dependencies and libraries of a chart, in order.
func dependenciesOf(deps, libs []*chart.Dependency) []Dependency {
	var out []Dependency
	add := func(list []*chart.Dependency, library bool) {
		for _, d := range list {
			if d != nil {
				out = append(out, Dependency{Name: d.Name, Version: d.Version, Repository: d.Repository, Library: library})
			}
		}
	}
	add(deps, false)
	add(libs, true)
	return out
}

// lockedDependencies returns the dependencies of a lock, in the locked versions.
func lockedDependencies(l *dependency.Lock) []Dependency {
	var out []Dependency
	add := func(list []*dependency.Locked, library bool) {
		for _, d := range list {
			out = append(out,
				Dependency{Name: d.Name, Version: d.Version, Repository: d.Repository, Library: library, Content: d.Content})
		}
	}
	add(l.Dependencies, false)
	add(l.Libraries, true)
	return out
}

// dependenciesFile returns the name of the file that lists a chart's dependencies.
func dependenciesFile(c *chart.Chart) string {
	if c.Metadata.APIVersion == chart.APIVersionV1 {
		return chart.FileRequirements
	}
	return chart.FileMetadata
}
