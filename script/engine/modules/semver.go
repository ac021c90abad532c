// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"math"

	"github.com/Masterminds/semver/v3"
)

// maxVersion is the maximum length of versions and ranges.
const maxVersion = 1024

func (m *module) semverFunctions() []function {
	return []function{
		{
			Function: Function{Name: "semver.parse", Signature: "semver.parse(version) → table",
				Text: "The parts of a version: major, minor, patch (integers), prerelease, metadata and text, the whole in its " +
					"normal form. A leading v and missing parts are allowed, as in a chart."},
			args: 1, do: func(c *call) error {
				v, err := c.version(0)
				if err != nil {
					return err
				}
				return c.giveData(map[string]any{
					"major": int64(v.Major()), "minor": int64(v.Minor()), "patch": int64(v.Patch()),
					"prerelease": v.Prerelease(), "metadata": v.Metadata(), "text": v.String(),
				})
			},
		},
		{
			Function: Function{Name: "semver.compare", Signature: "semver.compare(a, b) → number",
				Text: "-1, 0 or 1 as version a is lower than, equal to or higher than b."},
			args: 2, do: func(c *call) error {
				a, err := c.version(0)
				if err != nil {
					return err
				}
				b, err := c.version(1)
				if err != nil {
					return err
				}
				return c.giveData(int64(a.Compare(b)))
			},
		},
		{
			Function: Function{Name: "semver.satisfies", Signature: "semver.satisfies(version, range) → boolean",
				Text: `Reports whether a version is in a range such as "^1.2" or ">=1.20-0 <2", by the rules of dependencies in Chart.yaml.`},
			args: 2, do: func(c *call) error {
				v, err := c.version(0)
				if err != nil {
					return err
				}
				text, err := c.versionText(1)
				if err != nil {
					return err
				}
				r, err := semver.NewConstraint(text)
				if err != nil {
					return c.fail("%q is not a range of versions", short(text))
				}
				return c.giveData(r.Check(v))
			},
		},
		{
			Function: Function{Name: "semver.valid", Signature: "semver.valid(text) → boolean",
				Text: "Reports whether a text is a version."},
			args: 1, do: func(c *call) error {
				text, err := c.text(0)
				if err != nil {
					return err
				}
				if len(text) > maxVersion {
					return c.giveData(false)
				}
				return c.giveData(c.parseVersion(text) != nil)
			},
		},
	}
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
