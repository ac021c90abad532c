// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"cmp"
	"slices"

	"github.com/Masterminds/semver/v3"
)

// Requirement is a version range of a library that a chart requires.
type Requirement struct {
	Library string
	// By is the path of the chart that requires the library: "web/charts/db".
	By string
	// Range is a semantic version range. Every version satisfies "".
	Range string
	// Unlisted is set if By has the library in library/ without listing it.
	Unlisted bool
}

// Choose returns the highest version in have that satisfies the ranges of all requirements. If
// versions differ only in build metadata, it returns the first. A pre-release satisfies only
// ranges with a pre-release; if no requirement has a range, it is chosen only if there is no release.
//
// Choose returns a [*RangeError] for a requirement with an invalid range, and a [*ConflictError] if
// no version satisfies all requirements.
func Choose(requirements []Requirement, have []string) (string, error) {
	ranked, err := (&matcher{}).rank(requirements, have)
	if err != nil {
		return "", err
	}
	return have[ranked[0]], nil
}

// matcher reports whether versions satisfy ranges. It parses each of them once.
type matcher struct {
	ranges   map[string]*semver.Constraints
	versions map[string]*semver.Version
	checks   int // the number of versions checked against a range
}

// rank returns the indexes of the versions that satisfy all requirements, best first. It returns an
// error if there are none.
func (m *matcher) rank(requirements []Requirement, have []string) ([]int, error) {
	free := true
	distinct := make(map[string]bool, len(requirements))
	for _, r := range requirements {
		if err := m.parse(r); err != nil {
			return nil, err
		}
		distinct[r.Range] = true
		free = free && r.Range == ""
	}
	var fit []int
	for i, version := range have {
		suits := true
		for text := range distinct {
			suits = suits && m.satisfies(text, version)
		}
		if suits {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		e := &ConflictError{Requirements: slices.Clone(requirements)}
		if len(requirements) > 0 {
			e.Library = requirements[0].Library
		}
		for _, text := range have {
			e.Have = append(e.Have, Candidate{Version: text})
		}
		return nil, e
	}
	slices.SortStableFunc(fit, func(a, b int) int { return compare(m.version(have[b]), m.version(have[a]), free) })
	return fit, nil
}

// parse parses the range of a requirement and adds it to ranges.
func (m *matcher) parse(r Requirement) error {
	if r.Range == "" || m.ranges[r.Range] != nil {
		return nil
	}
	c, err := semver.NewConstraint(r.Range)
	if err != nil {
		return &RangeError{Requirement: r}
	}
	if m.ranges == nil {
		m.ranges = map[string]*semver.Constraints{}
	}
	m.ranges[r.Range] = c
	return nil
}

// version returns the parsed version, or nil if text is not a version.
func (m *matcher) version(text string) *semver.Version {
	v, ok := m.versions[text]
	if ok {
		return v
	}
	v, err := semver.NewVersion(text)
	if err != nil {
		v = nil
	}
	if m.versions == nil {
		m.versions = map[string]*semver.Version{}
	}
	m.versions[text] = v
	return v
}

// satisfies reports whether version satisfies the range text, which must have been parsed.
func (m *matcher) satisfies(text, version string) bool {
	if text == "" || text == version {
		return true
	}
	m.checks++
	c, v := m.ranges[text], m.version(version)
	return c != nil && v != nil && c.Check(v)
}

// compare compares versions. If stable is set, pre-releases are lower than releases.
func compare(a, b *semver.Version, stable bool) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(known(a), known(b))
	case stable && (a.Prerelease() == "") != (b.Prerelease() == ""):
		return -cmp.Compare(len(a.Prerelease()), len(b.Prerelease()))
	}
	return a.Compare(b)
}

func known(v *semver.Version) int {
	if v == nil {
		return 0
	}
	return 1
}
