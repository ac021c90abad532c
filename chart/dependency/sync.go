// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// A SyncError is returned when a lock is not the lock of what its chart lists.
type SyncError struct {
	Lock, Lists string // the files' names
	// Differences are clauses, one for each dependency: "mysql: Chart.yaml wants
	// ^2.0.0, the lock has 1.9.1".
	Differences []string
}

func (e *SyncError) Error() string {
	// Helm's words first, which scripts look for.
	text := fmt.Sprintf("the lock file (%s) is out of sync with the dependencies file (%s)", e.Lock, e.Lists)
	if len(e.Differences) > 0 {
		text += ":\n  " + strings.Join(e.Differences, "\n  ")
	}
	return text
}

// Check reports whether the lock is the one of what m lists: a [*SyncError] where
// it is not. lock and lists name the two files.
func (l *Lock) Check(lock, lists string, m *chart.Metadata) error {
	diffs := differences(lists, m.Libraries, l.Libraries)
	sum, err := LockDigest(m.Dependencies, l.Dependencies)
	if err != nil {
		return err
	}
	inStep := sum == l.Digest
	if !inStep {
		plain, err := plainDigest(m.Dependencies, l.Dependencies)
		inStep = err == nil && plain == l.Digest
	}
	if !inStep && m.APIVersion == chart.APIVersionV1 {
		old, err := legacyDigest(m.Dependencies)
		inStep = err == nil && old == l.Digest
	}
	if !inStep {
		more := differences(lists, m.Dependencies, l.Dependencies)
		if more == nil {
			more = []string{fmt.Sprintf("the versions fit, but entries have changed otherwise since (ranges, conditions, "+
				"tags, aliases, import-values, repositories, order), or %s was edited", lock)}
		}
		diffs = append(more, diffs...)
	}
	if len(diffs) > 0 {
		return &SyncError{Lock: lock, Lists: lists, Differences: diffs}
	}
	return nil
}

// Fits reports whether the lock can serve other dependencies than those that its
// chart lists in its files (scripts may change them): a [*SyncError] where one
// of them is not locked, or not in a version that is wanted.
func (l *Lock) Fits(lock string, want []*chart.Dependency) error {
	if diffs := differences("the chart's script", want, l.Dependencies); diffs != nil {
		return &SyncError{Lock: lock, Lists: "as the chart's script changed it", Differences: diffs}
	}
	return nil
}

// differences says how what is locked differs from what is listed. Several
// entries of one name go together in their order.
func differences(lists string, want []*chart.Dependency, have []*Locked) []string {
	var out []string
	say := func(name, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: ", name)+fmt.Sprintf(format, args...))
	}
	left := map[string][]*Locked{}
	for _, h := range have {
		left[h.Name] = append(left[h.Name], h)
	}
	for _, w := range want {
		if w == nil {
			continue
		}
		of := left[w.Name]
		if len(of) == 0 {
			say(w.Name, "%s lists it%s, the lock does not have it", lists, inVersion(w.Version))
			continue
		}
		h := of[0]
		left[w.Name] = of[1:]
		switch _, err := Version([]string{h.Version}, w.Version, true); {
		case err != nil:
			say(w.Name, "%s wants %s, the lock has %s", lists, w.Version, h.Version)
		case !sameRepository(w.Repository, h.Repository):
			say(w.Name, "%s says the repository is %q, the lock has it from %q", lists, Shown(w.Repository), Shown(h.Repository))
		}
	}
	for _, h := range have {
		for _, l := range left[h.Name] {
			if l == h {
				say(h.Name, "the lock has %s, %s does not list it", h.Version, lists)
			}
		}
	}
	return out
}

func inVersion(version string) string {
	if version == "" {
		return ""
	}
	return " (" + version + ")"
}

// sameRepository reports whether two may be one. A lock holds URLs where the
// chart says what the repository is called on some machine.
func sameRepository(a, b string) bool {
	return isName(a) || isName(b) || strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// Shown is a repository as it may be shown to anybody: without what its URL may
// hold of user, password and token.
func Shown(repository string) string {
	u, err := url.Parse(repository)
	if err != nil {
		scheme, rest, ok := strings.Cut(repository, "://")
		if ok && strings.ContainsAny(rest, "@?") {
			return scheme + "://..." // malformed, and no one knows where the secret is
		}
		return repository
	}
	if u.User == nil && u.RawQuery == "" {
		return repository
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
