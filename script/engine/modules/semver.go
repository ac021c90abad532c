// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"math"

	"github.com/Masterminds/semver/v3"
)

// maxVersion is the maximum length of versions and ranges.
const maxVersion = 1024

func semverFunctions() []function {
	return []function{
		fn("semver.parse", "(version) → table", "The parts of a version: major, minor, patch (integers), prerelease, "+
			"metadata and text, the whole in its normal form. A leading v and missing parts are allowed, as in a chart.", 1,
			takesVersion(func(c *call, v *semver.Version) error {
				return c.giveData(map[string]any{
					"major": int64(v.Major()), "minor": int64(v.Minor()), "patch": int64(v.Patch()),
					"prerelease": v.Prerelease(), "metadata": v.Metadata(), "text": v.String(),
				})
			})),
		fn("semver.compare", "(a, b) → number", "-1, 0 or 1 as version a is lower than, equal to or higher than b.", 2,
			takesVersion(func(c *call, a *semver.Version) error {
				b, err := c.version(1)
				if err != nil {
					return err
				}
				return c.giveData(int64(a.Compare(b)))
			})),
		fn("semver.satisfies", "(version, range) → boolean", `Reports whether a version is in a range such as "^1.2" or `+
			`">=1.20-0 <2", by the rules of dependencies in Chart.yaml.`, 2, takesVersion((*call).satisfies)),
		fn("semver.valid", "(text) → boolean", "Reports whether a text is a version.", 1,
			takesText(func(c *call, text string) error {
				return c.giveData(len(text) <= maxVersion && c.parseVersion(text) != nil)
			})),
	}
}

// takesVersion returns a function whose first argument is a version.
func takesVersion(do func(*call, *semver.Version) error) func(*call) error {
	return func(c *call) error {
		v, err := c.version(0)
		if err != nil {
			return err
		}
		return do(c, v)
	}
}

func (c *call) satisfies(v *semver.Version) error {
	text, err := c.versionText(1)
	if err != nil {
		return err
	}
	r, err := semver.NewConstraint(text)
	if err != nil {
		return c.fail("%q is not a range of versions", short(text))
	}
	return c.giveData(r.Check(v))
}

func (c *call) versionText(i int) (string, error) {
	text, err := c.text(i)
	if err != nil {
		return "", err
	}
	if len(text) > maxVersion {
		return "", c.wrong(i, "at most %d characters expected, got %d", maxVersion, len(text))
	}
	c.spend(64 + 40*uint64(len(text)))
	c.borrow(512 + 64*uint64(len(text)))
	return text, nil
}

func (c *call) version(i int) (*semver.Version, error) {
	text, err := c.versionText(i)
	if err != nil {
		return nil, err
	}
	v := c.parseVersion(text)
	if v == nil {
		return nil, c.fail("%q is not a version such as 1.2.3", short(text))
	}
	return v, nil
}

// parseVersion returns nil for text that is not a version, or whose parts exceed Lua's
// integers.
func (c *call) parseVersion(text string) *semver.Version {
	c.spend(64 + 8*uint64(len(text)))
	v, err := semver.NewVersion(text)
	if err != nil || max(v.Major(), v.Minor(), v.Patch()) > math.MaxInt64 {
		return nil
	}
	return v
}
