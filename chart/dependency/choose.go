// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"cmp"
	"slices"

	"github.com/Masterminds/semver/v3"
)

// Ask is one chart's wish for a library.
type Ask struct {
	Library string
	// By is who asks: the chart's path from the root ("web/charts/db").
	By string
	// Range is a semantic version range; "" takes every version.
	Range string
	// Unlisted reports that By lists nothing, but has the library in library/.
	Unlisted bool
}

// Choose picks from have the highest version that is within the ranges of all
// asks. Of versions that are equal but for their build metadata it is the
// first. A version with a pre-release part is only within ranges that have one,
// and, where no one gives a range at all, the last choice.
//
// The error is a [*RangeError] for an ask that has no range, or a
// [*ConflictError] where no version suits.
func Choose(asks []Ask, have []string) (string, error) {
	ranked, err := (&judge{}).rank(asks, have)
	if err != nil {
		return "", err
	}
	return have[ranked[0]], nil
}

// judge reports whether versions are within ranges. It reads each of them once.
type judge struct {
	ranges   map[string]*semver.Constraints
	versions map[string]*semver.Version
	work     int // how many versions were held against a range
}

// rank are the indexes of the versions that suit, the best first: one at least
// where there is no error.
func (j *judge) rank(asks []Ask, have []string) ([]int, error) {
	free := true
	distinct := make(map[string]bool, len(asks))
	for _, a := range asks {
		if err := j.parse(a); err != nil {
			return nil, err
		}
		distinct[a.Range] = true
		free = free && a.Range == ""
	}
	var fit []int
	for i, version := range have {
		suits := true
		for text := range distinct {
			suits = suits && j.holds(text, version)
		}
		if suits {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		e := &ConflictError{Asks: slices.Clone(asks)}
		if len(asks) > 0 {
			e.Library = asks[0].Library
		}
		for _, text := range have {
			e.Have = append(e.Have, Candidate{Version: text})
		}
		return nil, e
	}
	slices.SortStableFunc(fit, func(a, b int) int { return compare(j.version(have[b]), j.version(have[a]), free) })
	return fit, nil
}

// parse reads the range of an ask into ranges; "" takes every version.
func (j *judge) parse(a Ask) error {
	if a.Range == "" || j.ranges[a.Range] != nil {
		return nil
	}
	c, err := semver.NewConstraint(a.Range)
	if err != nil {
		return &RangeError{Ask: a}
	}
	if j.ranges == nil {
		j.ranges = map[string]*semver.Constraints{}
	}
	j.ranges[a.Range] = c
	return nil
}

// version is nil for a text that is not a version.
func (j *judge) version(text string) *semver.Version {
	v, ok := j.versions[text]
	if ok {
		return v
	}
	v, err := semver.NewVersion(text)
	if err != nil {
		v = nil
	}
	if j.versions == nil {
		j.versions = map[string]*semver.Version{}
	}
	j.versions[text] = v
	return v
}

// holds reports whether a version is within a range that constraint has read.
func (j *judge) holds(text, version string) bool {
	if text == "" || text == version {
		return true
	}
	j.work++
	c, v := j.ranges[text], j.version(version)
	return c != nil && v != nil && c.Check(v)
}

// compare orders versions; with stable, those with a pre-release part come
// before all others.
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
