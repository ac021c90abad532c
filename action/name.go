// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/lazy"
)

// MaxNameLength is the maximum length of a release name. Names of objects that are derived
// from it, with suffixes, must have at most 63 characters.
const MaxNameLength = 53

var namePattern = lazy.Regexp(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// ErrNoName is returned for an operation on a release whose name is "".
var ErrNoName error = noNameError{}

type noNameError struct{}

func (noNameError) Error() string { return "a release needs a name" }
func (noNameError) Hint() string  { return "give one, or --generate-name" }

// CheckName returns an error if name is not a valid release name, and [ErrNoName] if it is "".
// The error says which rule is violated, and has no type of its own.
func CheckName(name string) error {
	switch {
	case name == "":
		return ErrNoName
	case len(name) > MaxNameLength:
		return fmt.Errorf("%s: it has %d characters", nameProblem(name), len(name))
	case !namePattern().MatchString(name):
		return fmt.Errorf("%s: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit",
			nameProblem(name))
	}
	return nil
}

// checkNamespaceName returns an error if name is not a valid name of a namespace. The names that objects
// and records say are untrusted.
func checkNamespaceName(name string) error {
	const most = 63
	if len(name) > most || strings.Contains(name, ".") || !namePattern().MatchString(name) {
		return fmt.Errorf("namespace %q: use at most %d lower-case letters, digits and '-', beginning and ending with a "+
			"letter or digit", name, most)
	}
	return nil
}

// nameProblem returns the message that Helm returns for an invalid release name.
func nameProblem(name string) string {
	return fmt.Sprintf("release name %q: invalid release name, must match regex %s and the length must not be longer "+
		"than %d (release name is invalid: %[1]s)", name, namePattern(), MaxNameLength)
}

// GenerateName returns a release name for the chart that reference names, such as
// "mysql-1763700000".
func GenerateName(reference string, now time.Time) string {
	base := reference
	if i := strings.LastIndexAny(base, `/\`); i >= 0 {
		base = base[i+1:]
	}
	base = strings.TrimSuffix(base, ".tgz")
	base = strings.ToLower(base)
	base = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, base)
	base = strings.Trim(base, "-")
	if base == "" {
		base = "chart"
	}
	if limit := MaxNameLength - 11; len(base) > limit {
		base = strings.TrimRight(base[:limit], "-")
	}
	return fmt.Sprintf("%s-%d", base, now.Unix())
}
