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

// A DependencyStatus is the status of a dependency in charts/ or library/, as Helm prints it.
type DependencyStatus string

// The statuses.
const (
	DependencyOK       DependencyStatus = "ok"               // there is an archive in a version of the range
	DependencyUnpacked DependencyStatus = "unpacked"         // there is a directory in a version of the range
	DependencyMissing  DependencyStatus = "missing"          // there is no chart of the name
	DependencyWrong    DependencyStatus = "wrong version"    // there are only versions outside the range
	DependencyMany     DependencyStatus = "too many matches" // there are more archives than entries for them
	DependencyCorrupt  DependencyStatus = "corrupt"          // the archive or directory cannot be read
	DependencyMisnamed DependencyStatus = "misnamed"         // the archive of the name has another chart
	DependencyRange    DependencyStatus = "invalid version"  // the entry's version is not a version or a range
)

// A ListedDependency is a dependency, or a library if Library is set, and its status.
type ListedDependency struct {
	chart.Dependency
	Library bool
	Status  DependencyStatus
}

// DependencyList compares a chart's dependencies with its charts/ and library/. It needs no
// Config.
type DependencyList struct{}

// Run returns the dependencies of v's chart in order, followed by its libraries, and the
// charts in charts/ that are not listed.
func (DependencyList) Run(v ChartDirectory) (found []ListedDependency, unlisted []loader.Vendored) {
	m, vendored := v.Chart().Metadata, v.Vendored()
	deps := slices.DeleteFunc(slices.Clone(m.Dependencies), func(d *chart.Dependency) bool { return d == nil })
	libs := slices.DeleteFunc(slices.Clone(m.Libraries), func(d *chart.Dependency) bool { return d == nil })
	for _, d := range deps {
		found = append(found, ListedDependency{Dependency: *d, Status: dependencyStatus(d, deps, vendored, false)})
	}
	for _, d := range libs {
		found = append(found,
			ListedDependency{Dependency: *d, Library: true, Status: dependencyStatus(d, libs, vendored, true)})
	}
	for _, h := range vendored {
		if !h.Library &&
			!slices.ContainsFunc(deps,
				func(d *chart.Dependency) bool { return d.Name == h.Name || h.Err != nil && hasFileNameOf(h, d.Name) }) {
			unlisted = append(unlisted, h)
		}
	}
	return found, unlisted
}

// hasFileNameOf reports whether h has the file name of a chart's archive or directory.
func hasFileNameOf(h loader.Vendored, name string) bool {
	return h.File == name || strings.HasPrefix(h.File, name+"-") && strings.HasSuffix(h.File, ".tgz")
}

// dependencyStatus returns the status of d among the vendored charts. all are the entries
// of the chart, d included: others may ask for other versions of the same chart.
func dependencyStatus(
	d *chart.Dependency, all []*chart.Dependency, vendored []loader.Vendored, library bool,
) DependencyStatus {
	var archives, directories []loader.Vendored
	ifAbsent := DependencyMissing
	for _, h := range vendored {
		switch {
		case h.Library != library:
		case h.Err != nil && hasFileNameOf(h, d.Name):
			ifAbsent = DependencyCorrupt
		case h.Err != nil:
		case h.Name != d.Name:
			if h.Archive && ifAbsent == DependencyMissing && h.File == d.Name+"-"+h.Version+".tgz" {
				ifAbsent = DependencyMisnamed
			}
		case h.Archive:
			archives = append(archives, h)
		default:
			directories = append(directories, h)
		}
	}
	switch {
	case len(archives) > 0 && hasUnlisted(archives, d.Name, all):
		return DependencyMany
	case len(archives)+len(directories) > 0 && !isRange(d.Version, library):
		return DependencyRange
	case anySatisfies(archives, d):
		return DependencyOK
	case anySatisfies(directories, d):
		return DependencyUnpacked
	case len(archives)+len(directories) > 0:
		return DependencyWrong
	}
	return ifAbsent
}

// isRange reports whether want is a version or a range of versions. It may be empty for a
// library only.
func isRange(want string, library bool) bool {
	if strings.TrimSpace(want) == "" {
		return library
	}
	_, err := dependency.Version([]string{"0.0.0"}, want, true)
	bad, ok := errors.AsType[*dependency.VersionError](err)
	return !ok || bad.Problem == ""
}

// anySatisfies reports whether one of the vendored charts is in d's version range.
func anySatisfies(vendored []loader.Vendored, d *chart.Dependency) bool {
	return slices.ContainsFunc(vendored, func(h loader.Vendored) bool {
		_, err := dependency.Version([]string{h.Version}, d.Version, true)
		return err == nil
	})
}

// hasUnlisted reports whether there are several archives of a chart, and one of them is not
// in the range of any entry or there are more than entries.
func hasUnlisted(archives []loader.Vendored, name string, all []*chart.Dependency) bool {
	if len(archives) < 2 {
		return false
	}
	for _, h := range archives {
		if !slices.ContainsFunc(all,
			func(d *chart.Dependency) bool { return d.Name == name && anySatisfies([]loader.Vendored{h}, d) }) {
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
