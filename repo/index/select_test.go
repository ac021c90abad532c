// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/dependency"
)

func TestFindChooses(t *testing.T) {
	text := index("  web:\n", entry("1.2.0"), entry("1.10.0"), entry("2.0.0-rc.1"), entry("v1.3"), entry("1.4.0+b"), "  zoo:\n", entry("1.0.0-alpha"), "  none: []\n")
	inAllForms(t, text, func(t *testing.T, x *Index) {
		if got := x.Names(); !slices.Equal(got, []string{"none", "web", "zoo"}) {
			t.Error(got)
		}
		if got := x.Versions("web"); !slices.Equal(got, []string{"1.2.0", "1.10.0", "2.0.0-rc.1", "v1.3", "1.4.0+b"}) {
			t.Error(got)
		}
		for _, c := range []struct {
			name, chart, version string
			devel                bool
			want                 string // "" for a VersionError
		}{
			{"the newest that is stable", "web", "", false, "1.10.0"},
			{"the newest with devel", "web", "", true, "2.0.0-rc.1"},
			{"a tilde range", "web", "~1.2", false, "1.2.0"},
			{"two constraints", "web", "^1.3 <1.4", false, "v1.3"},
			{"a version with a v", "web", "1.3", false, "v1.3"},
			{"a version with build metadata", "web", "1.4.0+b", false, "1.4.0+b"},
			{"a range with prereleases", "web", ">=2.0.0-0", false, "2.0.0-rc.1"},
			{"a version that is not there", "web", "3", false, ""},
			{"an invalid constraint", "web", "what", false, ""},
			{"prereleases only", "zoo", "", false, ""},
			{"prereleases only with devel", "zoo", "", true, "1.0.0-alpha"},
			{"no versions", "none", "", false, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				e, err := x.Find(c.chart, c.version, c.devel)
				if c.want != "" && (err != nil || e.Version != c.want) {
					t.Errorf("got %+v, %v, want version %s", e, err, c.want)
				}
				if _, ok := errors.AsType[*dependency.VersionError](err); c.want == "" && (!ok || !strings.Contains(err.Error(), "chart "+c.chart)) {
					t.Errorf("got %+v, %v, want a VersionError of chart %s", e, err, c.chart)
				}
			})
		}
		_, err := x.Find("wbe", "", false)
		if none, ok := errors.AsType[*NotFoundError](err); !ok || none.Suggestion != "" && none.Suggestion != "web" {
			t.Error(err)
		}
		if _, err = x.Find("Web", "", false); !strings.Contains(fmt.Sprint(err), `did you mean "web"`) {
			t.Error(err)
		}
	})
}

func TestSelect(t *testing.T) {
	inAllForms(t, index("  zoo:\n", entry("1.0.0"), "  web:\n", entry("1.0.0"), entry("what"), entry("3.0.0"), entry("1.0.0", "home: second")), func(t *testing.T, x *Index) {
		list := func(seq func(func(*Entry, error) bool)) (got []string) {
			for e, err := range seq {
				if err != nil {
					got = append(got, "error")
					continue
				}
				got = append(got, e.Name+" "+e.Version+e.Home)
			}
			return got
		}
		for _, c := range []struct {
			name string
			got  []string
			want string
		}{
			{"all", list(x.All()), "web 1.0.0,error,web 3.0.0,web 1.0.0second,zoo 1.0.0"},
			{"the latest", list(x.Latest(false)), "web 3.0.0,zoo 1.0.0"},
			{"none", list(x.Select(func([]string) []string { return nil })), ""},
			{"one that is not there and one twice", list(x.Select(func(have []string) []string { return []string{"gone", have[0], have[0]} })), "web 1.0.0,web 1.0.0second,zoo 1.0.0"},
			{"the last two", list(x.Select(func(have []string) []string { return have[max(0, len(have)-2):] })), "web 3.0.0,web 1.0.0,zoo 1.0.0"},
		} {
			t.Run(c.name, func(t *testing.T) {
				if got := strings.Join(c.got, ","); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
		for range x.All() {
			break // without a panic
		}
	})
}
