// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Versions returns the semantic versions in list, newest first, without the other strings.
// Versions that differ only in build metadata are in descending order of their text, so
// that the result does not depend on the order of list.
func Versions(list []string) []string {
	sorted := parseAll(list)
	out := make([]string, len(sorted))
	for i, v := range sorted {
		out[i] = v.Original()
	}
	return out
}

// Version returns the version in list that want selects: the version that is equal to want,
// with or without a leading v, or otherwise the newest version in the range want ("^1.2",
// "~1.2", "1.x", ">=1 <3", "1.2 || 2.x"). If want is "", it returns the newest release or,
// if devel is set, the newest version. A range includes pre-releases only if it has one
// itself.
//
// Errors are of type [*VersionError].
func Version(list []string, want string, devel bool) (string, error) {
	want = strings.TrimSpace(want)
	if want != "" {
		if i := slices.Index(list, want); i >= 0 {
			return list[i], nil
		}
	}
	c, err := Constraint(want, devel)
	if err != nil {
		return "", err
	}
	sorted := parseAll(list)
	if v, err := semver.StrictNewVersion(strings.TrimPrefix(want, "v")); err == nil {
		for _, have := range sorted { // a complete version must also have the same build metadata
			if have.Equal(v) && have.Metadata() == v.Metadata() {
				return have.Original(), nil
			}
		}
	}
	for _, v := range sorted {
		if c.Check(v) {
			return v.Original(), nil
		}
	}
	return "", &VersionError{Want: want, Have: originals(sorted)}
}

// Constraint parses a version range. If want is "", all releases satisfy it, and all versions if devel
// is set. Errors are of type [*VersionError].
func Constraint(want string, devel bool) (*semver.Constraints, error) {
	want = strings.TrimSpace(want)
	text := want
	switch {
	case want == "" && devel:
		text = ">0.0.0-0"
	case want == "":
		text = "*"
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return nil, &VersionError{Want: want, Problem: "is neither a version nor a range such as 1.2.3, " +
			"^1.2, ~1.2, 1.x or >=1 <3"}
	}
	return c, nil
}

// A VersionError is returned if no version satisfies Want, or if Want is not valid.
type VersionError struct {
	Want string // "" for the newest
	// Problem is the reason why Want is not valid, or "" if it is.
	Problem string
	// Have are the available versions, newest first.
	Have []string
}

func (e *VersionError) Error() string {
	switch {
	case e.Problem != "":
		return fmt.Sprintf("improper constraint: %q %s", e.Want, e.Problem)
	case len(e.Have) == 0:
		return "there is no version of it"
	case e.Want == "":
		return fmt.Sprintf("there is no release of it, only pre-releases: %s", few(e.Have))
	}
	return fmt.Sprintf("no version of it is %s; there is %s", e.Want, few(e.Have))
}

// few returns the first versions as a list.
func few(versions []string) string {
	const most = 5
	if len(versions) <= most {
		return strings.Join(versions, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(versions[:most], ", "), len(versions)-most)
}

func originals(vs []*semver.Version) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = v.Original()
	}
	return out
}

func parseAll(list []string) []*semver.Version {
	out := make([]*semver.Version, 0, len(list))
	for _, text := range list {
		if v, err := semver.NewVersion(text); err == nil {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *semver.Version) int {
		if c := b.Compare(a); c != 0 {
			return c
		}
		return strings.Compare(b.Original(), a.Original())
	})
	return out
}
