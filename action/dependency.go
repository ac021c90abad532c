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

// ChartDirectory is a chart's directory, as far as its dependencies go. [*loader.Directory]
// is one, whose methods say what they do.
type ChartDirectory interface {
	Chart() *chart.Chart
	Vendored() []loader.Vendored
	Lock() (name string, text []byte, err error)
	Preview(put []loader.NewArchive, drop []loader.Vendored) (*chart.Chart, error)
	Replace(ctx context.Context, put []loader.NewArchive, drop []loader.Vendored, lock []byte) error
}

var _ ChartDirectory = (*loader.Directory)(nil)

// A Dependency is what a chart's Chart.yaml or lock asks for, in a version or a range.
type Dependency struct {
	Name, Version, Repository string
	Library                   bool // of libraries:, which goes to library/
	// Content is the digest of the archive that it must be, "sha256:<hex>"; ""
	// where none is known.
	Content string
}

func (w Dependency) String() string {
	return strings.Join(strings.Fields(w.Name+" "+w.Version), " ")
}

// A ResolvedDependency is the archive found for a [Dependency]. Open may be called several
// times.
type ResolvedDependency struct {
	// Name and Version are what the archive's Chart.yaml says.
	Name, Version string
	// Repository is where it comes from, as a lock has it: a URL also where the
	// Dependency has a name that only this machine knows.
	Repository string
	// Content is the archive's digest, "" for one that is made of a directory.
	Content string
	Open    func() (io.ReadCloser, error)
}

// A DependencyResolver finds and fetches dependencies. It is safe for concurrent use.
type DependencyResolver interface {
	// Check refuses dependencies that cannot be resolved together. It makes no request.
	Check(all []Dependency) error
	// Refresh fetches the indexes of the repositories of all, each once. One that cannot
	// be reached is reported as progress, and is an error only where nothing can be done
	// without it.
	Refresh(ctx context.Context, all []Dependency) error
	// Resolve fetches the newest version that fits d.
	Resolve(ctx context.Context, d Dependency) (ResolvedDependency, error)
}

// A DependencyError is returned for a dependency that could not be resolved.
type DependencyError struct {
	Dependency Dependency
	Err        error
}

func (e *DependencyError) Error() string {
	from := ""
	if e.Dependency.Repository != "" {
		from = " from " + dependency.Shown(e.Dependency.Repository)
	}
	if want, ok := errors.AsType[*dependency.VersionError](e.Err); ok && want.Problem == "" && e.Dependency.Version != "" {
		return fmt.Sprintf("can't get a valid version for 1 subchart(s): %q (repository %q, version %q): %v",
			e.Dependency.Name, dependency.Shown(e.Dependency.Repository), e.Dependency.Version, e.Err)
	}
	return fmt.Sprintf("dependency %s%s: %v", e.Dependency, from, e.Err)
}

func (e *DependencyError) Unwrap() error { return e.Err }

// A RepublishedError is returned when an archive differs from the locked one, although its
// version is the same.
type RepublishedError struct{ Locked, Got string }

func (e *RepublishedError) Error() string {
	return fmt.Sprintf("its archive has changed since it was locked, although its version has not: it was %s, it is %s",
		e.Locked, e.Got)
}

// An UnresolvedError is returned for a dependency without a repository that is not in
// charts/ or library/.
type UnresolvedError struct {
	Place string   // "charts", "library"
	Have  []string // versions that are there and do not suit
}

func (e *UnresolvedError) Error() string {
	if len(e.Have) > 0 {
		return fmt.Sprintf("it has no repository, and %s/ has only %s; put a version there that suits, "+
			"or give it a repository", e.Place, strings.Join(e.Have, ", "))
	}
	return fmt.Sprintf("it has no repository, and is not in %s/; put it there, or give it a repository", e.Place)
}

// wants are the dependencies and libraries, in their order.
func wants(deps, libs []*chart.Dependency) []Dependency {
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

// lockedWants are what a lock asks for.
func lockedWants(l *dependency.Lock) []Dependency {
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

// listsFile is the file that a chart's dependencies are in, as errors name it.
func listsFile(c *chart.Chart) string {
	if c.Metadata.APIVersion == chart.APIVersionV1 {
		return chart.FileRequirements
	}
	return chart.FileMetadata
}
