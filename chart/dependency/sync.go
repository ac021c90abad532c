// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// A SyncError is returned if a lock does not match the dependencies that its chart lists.
type SyncError struct {
	Lock, Lists string // the files' names
	// Differences has a message for each dependency that differs: "mysql: Chart.yaml
	// wants ^2.0.0, the lock has 1.9.1".
	Differences []string
}

func (e *SyncError) Error() string {
	// It begins with Helm's message, which scripts look for.
	text := fmt.Sprintf("the lock file (%s) is out of sync with the dependencies file (%s)", e.Lock, e.Lists)
	if len(e.Differences) > 0 {
		text += ":\n  " + strings.Join(e.Differences, "\n  ")
	}
	return text
}

// Check returns a [*SyncError] if the lock does not match the dependencies and libraries that
// m lists. lock and lists are the names of the two files.
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

// Fits returns a [*SyncError] if one of the dependencies want is not locked, or is locked
// to a version that does not satisfy it. Unlike [Lock.Check], it is for dependencies that a
// script has changed.
func (l *Lock) Fits(lock string, want []*chart.Dependency) error {
	if diffs := differences("the chart's script", want, l.Dependencies); diffs != nil {
		return &SyncError{Lock: lock, Lists: "as the chart's script changed it", Differences: diffs}
	}
	return nil
}

// differences describes how the locked dependencies differ from the listed ones. Entries
// with the same name are matched in their order.
func differences(lists string, want []*chart.Dependency, have []*Locked) []string {
	var out []string
	add := func(name, format string, args ...any) {
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
		matching := left[w.Name]
		if len(matching) == 0 {
			add(w.Name, "%s lists it%s, the lock does not have it", lists, inVersion(w.Version))
			continue
		}
		h := matching[0]
		left[w.Name] = matching[1:]
		switch _, err := Version([]string{h.Version}, w.Version, true); {
		case err != nil:
			add(w.Name, "%s wants %s, the lock has %s", lists, w.Version, h.Version)
		case !sameRepository(w.Repository, h.Repository):
			add(w.Name, "%s says the repository is %q, the lock has it from %q", lists,
				RedactURL(w.Repository), RedactURL(h.Repository))
		}
	}
	for _, h := range have {
		for _, l := range left[h.Name] {
			if l == h {
				add(h.Name, "the lock has %s, %s does not list it", h.Version, lists)
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

// sameRepository reports whether a and b can be the same repository. A chart may have a
// repository's name, for which a lock has the URL.
func sameRepository(a, b string) bool {
	return isRepositoryName(a) || isRepositoryName(b) || strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// RedactURL returns a repository's URL without credentials: without the user, the password and
// the query.
func RedactURL(repository string) string {
	u, err := url.Parse(repository)
	if err != nil {
		scheme, rest, ok := strings.Cut(repository, "://")
		if ok && strings.ContainsAny(rest, "@?") {
			return scheme + "://..." // malformed, so the credentials may be anywhere
		}
		return repository
	}
	if u.User == nil && u.RawQuery == "" {
		return repository
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
