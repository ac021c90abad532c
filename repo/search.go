// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/repo/index"
)

// Search is a search for charts. The zero value finds the newest release of every chart.
type Search struct {
	// Word is a substring of the name, the description or a keyword, ignoring case. With
	// Regexp it is a case-sensitive regular expression.
	Word   string
	Regexp bool
	// Versions finds every version of a chart, not only the newest one.
	Versions bool
	// Want is a version range. If it is empty, all releases match, and with Devel
	// pre-releases too.
	Want  string
	Devel bool
}

// Found is a chart version that was found.
type Found struct {
	Name                             string // with its repository: "stable/web"
	Version, AppVersion, Description string
	Library                          bool // a library chart

	score   int
	version *semver.Version
}

// Query is a compiled [Search]. It is safe for concurrent use.
type Query struct {
	search     Search
	word       string // in lower case
	expr       *regexp.Regexp
	constraint *semver.Constraints // for Versions
}

// Query compiles the search. The error is that of an invalid regular expression, or a
// [*dependency.VersionError].
func (s Search) Query() (*Query, error) {
	q := &Query{search: s, word: strings.ToLower(s.Word)}
	if s.Regexp {
		expr, err := regexp.Compile(s.Word)
		if err != nil {
			return nil, err
		}
		q.expr = expr
	}
	var err error
	if q.constraint, err = dependency.Constraint(s.Want, s.Devel); err != nil {
		return nil, err
	}
	return q, nil
}

// In finds charts in the index of a repository. It decodes only entries that may match:
// the newest of each chart, unless Versions is set. It skips invalid entries.
func (q *Query) In(repository string, x *index.Index) ([]Found, error) {
	var found []Found
	for e, err := range x.Select(q.Choose) {
		var invalid *index.EntryError
		switch {
		case errors.As(err, &invalid):
			continue
		case err != nil:
			return nil, err
		}
		name := repository + "/" + e.Name
		if score, ok := q.score(name, e); ok {
			found = append(found, Found{
				Name: name, Version: e.Version, AppVersion: e.AppVersion, Description: e.Description,
				Library: e.Type == chart.TypeLibrary, score: score, version: version(e.Version),
			})
		}
	}
	return found, nil
}

// Choose returns those of the versions have of one chart that may match: the newest, or all if
// Versions is set. It reuses the memory of have.
func (q *Query) Choose(have []string) []string {
	if q.search.Versions {
		return slices.DeleteFunc(have, func(v string) bool {
			parsed := version(v)
			return parsed == nil || !q.constraint.Check(parsed)
		})
	}
	v, err := dependency.Version(have, q.search.Want, q.search.Devel)
	if err != nil {
		return nil // no version matches
	}
	return []string{v}
}

// version parses a version. It returns nil if text is not one.
func version(text string) *semver.Version {
	v, err := semver.NewVersion(text)
	if err != nil {
		return nil
	}
	return v
}

// separator separates the parts of the searched text. Regular expressions can match it, so it
// is the same as in Helm.
const separator = "\v"

// score reports whether an entry matches, and the first matching part: the chart's name,
// the name with the repository, the description, the keywords. A lower score is better.
func (q *Query) score(name string, e *index.Entry) (int, bool) {
	text := strings.Join([]string{e.Name, name, e.Description, strings.Join(e.Keywords, " ")}, separator)
	pos := 0
	if q.expr != nil {
		loc := q.expr.FindStringIndex(text)
		if loc == nil {
			return 0, false
		}
		pos = loc[0]
	} else {
		text = strings.ToLower(text)
		if pos = strings.Index(text, q.word); pos < 0 {
			return 0, false
		}
	}
	return strings.Count(text[:pos], separator), true
}

// SortFound sorts charts by score, then by name, then by version, the newest first.
func SortFound(found []Found) {
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.Name, b.Name), b.version.Compare(a.version))
	})
}
