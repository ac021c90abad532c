// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// DependencyStatus is what a chart's charts/ has of a dependency. The words are Helm's.
type DependencyStatus string

// The statuses.
const (
	DependencyOK       DependencyStatus = "ok"               // an archive in a version that is wanted
	DependencyUnpacked DependencyStatus = "unpacked"         // a directory in such a version
	DependencyMissing  DependencyStatus = "missing"          // nothing of the name
	DependencyWrong    DependencyStatus = "wrong version"    // none in a version that is wanted
	DependencyMany     DependencyStatus = "too many matches" // several archives, of which some have no entry of their own
	DependencyCorrupt  DependencyStatus = "corrupt"          // an archive or directory that cannot be read
	DependencyMisnamed DependencyStatus = "misnamed"         // an archive under its name that is another chart
	DependencyRange    DependencyStatus = "invalid version"  // what is wanted is not a version or a range
)

// ListedDependency is a dependency, or with Library a library, and what the
// chart has of it.
type ListedDependency struct {
	chart.Dependency
	Library bool
	Status  DependencyStatus
}

// DependencyList compares what a chart lists with what it has in charts/ and library/. It
// needs no Config.
type DependencyList struct{}

// Run tells of everything that v's chart lists, in its order, libraries last;
// and what else is in charts/.
func (DependencyList) Run(v ChartDirectory) (found []ListedDependency, unlisted []loader.Vendored) {
	m, held := v.Chart().Metadata, v.Vendored()
	deps := slices.DeleteFunc(slices.Clone(m.Dependencies), func(d *chart.Dependency) bool { return d == nil })
	libs := slices.DeleteFunc(slices.Clone(m.Libraries), func(d *chart.Dependency) bool { return d == nil })
	for _, d := range deps {
		found = append(found, ListedDependency{Dependency: *d, Status: dependencyStatus(d, deps, held, false)})
	}
	for _, d := range libs {
		found = append(found, ListedDependency{Dependency: *d, Library: true, Status: dependencyStatus(d, libs, held, true)})
	}
	for _, h := range held {
		if !h.Library &&
			!slices.ContainsFunc(deps,
				func(d *chart.Dependency) bool { return d.Name == h.Name || h.Err != nil && under(h, d.Name) }) {
			unlisted = append(unlisted, h)
		}
	}
	return found, unlisted
}

// under reports whether h is called as the chart of that name would be.
func under(h loader.Vendored, name string) bool {
	return h.File == name || strings.HasPrefix(h.File, name+"-") && strings.HasSuffix(h.File, ".tgz")
}

// dependencyStatus tells what held has of d. all are the entries beside it: they may want
// other versions of the same chart.
func dependencyStatus(
	d *chart.Dependency, all []*chart.Dependency, held []loader.Vendored, library bool,
) DependencyStatus {
	var archives, directories []loader.Vendored
	lost := DependencyMissing
	for _, h := range held {
		switch {
		case h.Library != library:
		case h.Err != nil && under(h, d.Name):
			lost = DependencyCorrupt
		case h.Err != nil:
		case h.Name != d.Name:
			if h.Archive && lost == DependencyMissing && h.File == d.Name+"-"+h.Version+".tgz" {
				lost = DependencyMisnamed
			}
		case h.Archive:
			archives = append(archives, h)
		default:
			directories = append(directories, h)
		}
	}
	switch {
	case len(archives) > 0 && strays(archives, d.Name, all):
		return DependencyMany
	case len(archives)+len(directories) > 0 && !isRange(d.Version, library):
		return DependencyRange
	case suits(archives, d):
		return DependencyOK
	case suits(directories, d):
		return DependencyUnpacked
	case len(archives)+len(directories) > 0:
		return DependencyWrong
	}
	return lost
}

// isRange reports whether want is a version or a range of versions. A dependency
// must want something, a library need not.
func isRange(want string, library bool) bool {
	if strings.TrimSpace(want) == "" {
		return library
	}
	_, err := dependency.Version([]string{"0.0.0"}, want, true)
	bad, ok := errors.AsType[*dependency.VersionError](err)
	return !ok || bad.Problem == ""
}

// suits reports whether one of held is a version that d wants.
func suits(held []loader.Vendored, d *chart.Dependency) bool {
	return slices.ContainsFunc(held, func(h loader.Vendored) bool {
		_, err := dependency.Version([]string{h.Version}, d.Version, true)
		return err == nil
	})
}

// strays reports whether there are more archives of a chart than entries that want
// one each.
func strays(archives []loader.Vendored, name string, all []*chart.Dependency) bool {
	if len(archives) < 2 {
		return false
	}
	for _, h := range archives {
		if !slices.ContainsFunc(all,
			func(d *chart.Dependency) bool { return d.Name == name && suits([]loader.Vendored{h}, d) }) {
			return true
		}
	}
	entries := 0
	for _, d := range all {
		if d.Name == name {
			entries++
		}
	}
	return len(archives) > entries
}
