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

// ChartDirectory is a chart's directory, as far as its dependencies go. [*loader.Folder]
// is one, whose methods say what they do.
type ChartDirectory interface {
	Chart() *chart.Chart
	Vendored() []loader.Vendored
	Lock() (name string, text []byte, err error)
	Preview(put []loader.New, drop []loader.Vendored) (*chart.Chart, error)
	Replace(ctx context.Context, put []loader.New, drop []loader.Vendored, lock []byte) error
}

var _ ChartDirectory = (*loader.Folder)(nil)

// Want is a dependency, or with Library a library, in a version or a range.
type Want struct {
	Name, Version, Repository string
	Library                   bool
	// Content is the digest of the archive that it must be, "sha256:<hex>"; ""
	// where none is known.
	Content string
}

func (w Want) String() string {
	return strings.Join(strings.Fields(w.Name+" "+w.Version), " ")
}

// Supply is what was found for a Want. Open may be called several times.
type Supply struct {
	// Name and Version are what the archive's Chart.yaml says.
	Name, Version string
	// Repository is where it comes from, as a lock has it: a URL also where the
	// Want has a name that only this machine knows.
	Repository string
	// Content is the archive's digest, "" for one that is made of a folder.
	Content string
	Open    func() (io.ReadCloser, error)
}

// Supplier brings dependencies from where they are. It is safe for concurrent use.
type Supplier interface {
	// Check refuses wants that cannot be had together. It asks nobody.
	Check(wants []Want) error
	// Refresh renews what is known of the repositories of wants, each once. One
	// that cannot be reached is told of, and is an error only where nothing can be
	// done without it.
	Refresh(ctx context.Context, wants []Want) error
	// Supply brings the newest version that w means.
	Supply(ctx context.Context, w Want) (Supply, error)
}

// DependencyError tells which dependency could not be had.
type DependencyError struct {
	Want Want
	Err  error
}

func (e *DependencyError) Error() string {
	from := ""
	if e.Want.Repository != "" {
		from = " from " + dependency.Shown(e.Want.Repository)
	}
	if want, ok := errors.AsType[*dependency.WantError](e.Err); ok && want.Problem == "" && e.Want.Version != "" {
		return fmt.Sprintf("can't get a valid version for 1 subchart(s): %q (repository %q, version %q): %v",
			e.Want.Name, dependency.Shown(e.Want.Repository), e.Want.Version, e.Err)
	}
	return fmt.Sprintf("dependency %s%s: %v", e.Want, from, e.Err)
}

func (e *DependencyError) Unwrap() error { return e.Err }

// RepublishedError tells that an archive is another than the one that was
// locked, although its version is the same.
type RepublishedError struct{ Locked, Got string }

func (e *RepublishedError) Error() string {
	return fmt.Sprintf("its archive has changed since it was locked, although its version has not: it was %s, it is %s", e.Locked, e.Got)
}

// UnsuppliedError tells that a dependency without a repository is not in charts/.
type UnsuppliedError struct {
	Place string   // "charts", "library"
	Have  []string // versions that are there and do not suit
}

func (e *UnsuppliedError) Error() string {
	if len(e.Have) > 0 {
		return fmt.Sprintf("it has no repository, and %s/ has only %s; put a version there that suits, or give it a repository", e.Place, strings.Join(e.Have, ", "))
	}
	return fmt.Sprintf("it has no repository, and is not in %s/; put it there, or give it a repository", e.Place)
}

// wants are the dependencies and libraries, in their order.
func wants(deps, libs []*chart.Dependency) []Want {
	var out []Want
	add := func(list []*chart.Dependency, library bool) {
		for _, d := range list {
			if d != nil {
				out = append(out, Want{Name: d.Name, Version: d.Version, Repository: d.Repository, Library: library})
			}
		}
	}
	add(deps, false)
	add(libs, true)
	return out
}

// lockedWants are what a lock asks for.
func lockedWants(l *dependency.Lock) []Want {
	var out []Want
	add := func(list []*dependency.Locked, library bool) {
		for _, d := range list {
			out = append(out, Want{Name: d.Name, Version: d.Version, Repository: d.Repository, Library: library, Content: d.Content})
		}
	}
	add(l.Dependencies, false)
	add(l.Libraries, true)
	return out
}

// listsFile is the file that a chart's dependencies stand in, as errors name it.
func listsFile(c *chart.Chart) string {
	if c.Metadata.APIVersion == chart.APIVersionV1 {
		return chart.FileRequirements
	}
	return chart.FileMetadata
}
