// SPDX-License-Identifier: Apache-2.0

package dependency_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart/dependency"
)

func asks(ranges ...string) []dependency.Ask {
	var out []dependency.Ask
	for _, r := range ranges {
		out = append(out, dependency.Ask{Library: "common", By: "web", Range: r})
	}
	return out
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ranges string // separated by ";"
		have   string // separated by spaces
		want   string // "" if no version satisfies the range
	}{
		{"the highest, as versions compare", "^1.0.0", "1.9.0 1.10.0 1.2.0", "1.10.0"},
		{"everybody is heard", "^1.0.0;<1.10.0", "1.9.0 1.10.0", "1.9.0"},
		{"no one cares", ";", "1.0.0 2.0.0", "2.0.0"},
		{"a pre-release is not what ^ means", "^1.0.0", "1.0.0 1.1.0-rc.1", "1.0.0"},
		{"but may be asked for", "^1.0.0-0", "1.0.0 1.1.0-rc.1", "1.1.0-rc.1"},
		{"or be named", "1.1.0-rc.1", "1.0.0 1.1.0-rc.1", "1.1.0-rc.1"},
		{"no one cares, and a pre-release is the last choice", "", "2.0.0-beta 1.0.0", "1.0.0"},
		{"which it is where nothing else is there", "", "2.0.0-beta 2.0.0-alpha", "2.0.0-beta"},
		{"short versions", "^1", "v1 1.2", "1.2"},
		{"build metadata makes no difference: the first", "^1.0.0", "1.0.0+b 1.0.0+a", "1.0.0+b"},
		{"but can be named", "1.0.0+a", "1.0.0+a 0.9.0", "1.0.0+a"},
		{"what is not a version suits who names it", "main", "1.0.0 main", ""}, // "main" is not a range
		{"nothing is there", "^1.0.0", "", ""},
		{"nothing is there and no one asks", "", "", ""},
		{"a hyphen range", "1.2 - 1.4.5", "1.4.6 1.4.5 1.1.0", "1.4.5"},
		{"alternatives", "^1.0.0 || ^3.0.0;>=2.0.0", "1.0.0 2.0.0 3.1.0", "3.1.0"},
		{"nothing suits all", "^1.0.0;^2.0.0", "1.0.0 2.0.0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := dependency.Choose(asks(strings.Split(tc.ranges, ";")...), strings.Fields(tc.have))
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s: got %q, %v, want %q", tc.name, got, err, tc.want)
			}
		})
	}
}

// FuzzChoose checks the documentation of Choose: the result satisfies all ranges, and no higher
// version does.
func FuzzChoose(f *testing.F) {
	f.Add("^1.0.0;<1.5", "1.2.0 1.6.0 1.4.9")
	f.Add(";>=0.0.0-0", "1.0.0-rc.1 0.9 v1")
	f.Add("~1 || 2.x, !=2.1.0", "2.1.0 2.0.9 1")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, ranges, versions string) {
		if len(ranges)+len(versions) > 1000 {
			return
		}
		as, have := asks(strings.Split(ranges, ";")...), strings.Fields(versions)
		got, err := dependency.Choose(as, have)
		if err != nil {
			var conflict *dependency.ConflictError
			var bad *dependency.RangeError
			if errors.As(err, &bad) {
				if _, err := semver.NewConstraint(bad.Ask.Range); err == nil {
					t.Fatalf("%q is a range", bad.Ask.Range)
				}
			} else if !errors.As(err, &conflict) || err.Error() == "" {
				t.Fatal(err)
			}
			for _, v := range have {
				if bad == nil && fits(as, v) {
					t.Fatalf("%q fits %q, and was not chosen: %v", v, ranges, err)
				}
			}
			return
		}
		if !fits(as, got) {
			t.Fatalf("%q does not fit %q", got, ranges)
		}
		best, err := semver.NewVersion(got)
		if err != nil {
			return
		}
		for _, text := range have {
			v, err := semver.NewVersion(text)
			if err == nil && fits(as, text) && v.GreaterThan(best) && (v.Prerelease() == "") == (best.Prerelease() == "") {
				t.Fatalf("%q was chosen before %q for %q", got, text, ranges)
			}
		}
	})
}

func fits(as []dependency.Ask, version string) bool {
	for _, a := range as {
		if a.Range == "" || a.Range == version {
			continue
		}
		c, err := semver.NewConstraint(a.Range)
		if err != nil {
			return false
		}
		v, err := semver.NewVersion(version)
		if err != nil || !c.Check(v) {
			return false
		}
	}
	return true
}
