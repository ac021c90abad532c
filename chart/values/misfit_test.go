// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// A chart in charts/ with a version that matches no dependency is used under its own name, as
// in Helm (test/compat compares with Helm).
func TestResolveMisfits(t *testing.T) {
	const off = "x: {a: false}"
	dep := func(version, alias string) *chart.Dependency {
		return &chart.Dependency{Name: "db", Version: version, Alias: alias, Condition: "x.a", Tags: []string{"t"}}
	}
	versions := func(vs ...string) (subs []grove) {
		for _, v := range vs {
			subs = append(subs, grove{name: "db", version: v, values: "own: " + v + "\nexports: {data: {imported: " + v + "}}"})
		}
		return subs
	}
	for _, tc := range []struct {
		name     string
		deps     []*chart.Dependency
		subs     []grove
		user     string
		want     string
		warnings string // parts of the warnings in order, separated by "; "
	}{
		{"it fits", []*chart.Dependency{dep("^1", "")}, versions("1.0.0"), "", "root root.db", ""},
		{"on", []*chart.Dependency{dep("2.0.0", "")}, versions("1.0.0"), "", "root root.db", `the chart db in charts/ has version 1.0.0, but Chart.yaml wants "2.0.0"`},
		{"switched off by its name", []*chart.Dependency{dep("2.0.0", "")}, versions("1.0.0"), off, "root", ""},
		{"switched off by its tag", []*chart.Dependency{dep("2.0.0", "")}, versions("1.0.0"), "tags: {t: false}", "root", ""},
		{"an alias that is on", []*chart.Dependency{dep("2.0.0", "al")}, versions("1.0.0"), "", "root root.db", "without the alias, condition and tags of al"},
		{"an alias that is off", []*chart.Dependency{dep("2.0.0", "al")}, versions("1.0.0"), off, "root root.db", "without the alias, condition and tags of al"},
		{"a pre-release", []*chart.Dependency{dep(">=1", "al")}, versions("1.0.0-rc.1"), off, "root root.db", `has version 1.0.0-rc.1, but Chart.yaml wants ">=1"`},
		{"not a range", []*chart.Dependency{dep("nonsense", "al")}, versions("1.0.0"), off, "root root.db", `wants "nonsense"`},
		{"no version is wanted", []*chart.Dependency{dep("", "al")}, versions("1.0.0"), off, "root root.db", "has version 1.0.0, but Chart.yaml has no version for it"},
		{"no version is wanted, no alias", []*chart.Dependency{dep("", "")}, versions("1.0.0"), "", "root root.db", ""},
		{"beside one that fits", []*chart.Dependency{dep("1.0.0", "al")}, versions("1.0.0", "2.0.0"), "", "root root.db root.al", `has version 2.0.0, but Chart.yaml wants "1.0.0"`},
		{"beside one that fits and is off", []*chart.Dependency{dep("1.0.0", "al")}, versions("1.0.0", "2.0.0"), off, "root root.db", "has version 2.0.0"},
		{"two entries, one there", []*chart.Dependency{dep("1.0.0", "p"), dep("2.0.0", "q")}, versions("1.0.0"), "", "root root.p", ""},
		{"two entries, none there", []*chart.Dependency{dep("1.0.0", "p"), dep("2.0.0", "q")}, versions("3.0.0"), off, "root root.db", `wants "1.0.0" or "2.0.0": it is used as a chart that is not listed, under its own name, without the alias, condition and tags of p and q`},
		{"two entries without alias", []*chart.Dependency{dep("1.0.0", ""), {Name: "db", Version: "2.0.0", Condition: "x.b"}}, versions("1.0.0", "2.0.0"), off, "root", ""},
		{"an entry called as another chart", []*chart.Dependency{dep("2.0.0", "web"), {Name: "web", Version: "0.1.0"}}, append(versions("1.0.0"), grove{name: "web"}), off, "root root.db", "has version 1.0.0"},
		{"two that nothing wants", []*chart.Dependency{dep("9", "")}, versions("1.0.0", "2.0.0"), "", "root root.db root.db", "has version 1.0.0; has version 2.0.0"},
		{"what is not listed", []*chart.Dependency{{Name: "web", Version: "1"}}, versions("1.0.0"), off, "root root.db", ""},
		{"below", lists("mid"), []grove{{name: "mid", deps: []*chart.Dependency{dep("2.0.0", "al")}, subs: versions("1.0.0")}}, "", "root root.mid root.mid.db", "the chart mid.db in charts/ has version 1.0.0"},
		{"below one that nothing wants", []*chart.Dependency{{Name: "mid", Version: "2"}}, []grove{{name: "mid", deps: []*chart.Dependency{dep("1.0.0", "al")}, subs: versions("1.0.0")}}, "mid: {x: {a: false}}", "root root.mid", "the chart mid in charts/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := resolved(t, grove{name: "root", deps: tc.deps, subs: tc.subs}.chart(t), tc.user)
			if got := names(r.Chart); got != tc.want {
				t.Errorf("got the tree %s, want %s", got, tc.want)
			}
			var want []string
			if tc.warnings != "" {
				want = strings.Split(tc.warnings, "; ")
			}
			if len(r.Misfits) != len(want) {
				t.Fatalf("got the warnings %q, want %q", r.Misfits, want)
			}
			for i := range want {
				if !strings.Contains(r.Misfits[i], want[i]) {
					t.Errorf("got the warning %q, want %q in it", r.Misfits[i], want[i])
				}
			}
		})
	}
	t.Run("the file that lists is named", func(t *testing.T) {
		c := grove{name: "root", deps: []*chart.Dependency{dep("2.0.0", "")}, subs: versions("1.0.0")}.chart(t)
		c.Metadata.APIVersion = chart.APIVersionV1
		want := `has version 1.0.0, but requirements.yaml wants "2.0.0"`
		if r := resolved(t, c, ""); len(r.Misfits) != 1 || !strings.Contains(r.Misfits[0], want) {
			t.Errorf("got the warnings %q, want %q", r.Misfits, want)
		}
	})
	t.Run("values are imported by the name", func(t *testing.T) {
		imports := func(alias string) *chart.Chart {
			return grove{name: "root", deps: []*chart.Dependency{{Name: "db", Version: "2", Alias: alias, ImportValues: []any{"data"}}}, subs: versions("1.0.0")}.chart(t)
		}
		if got := resolved(t, imports(""), "").Values["imported"]; got != "1.0.0" {
			t.Errorf("without an alias: got %v", got)
		}
		if got := resolved(t, imports("al"), "").Values["imported"]; got != nil {
			t.Errorf("with an alias: got %v", got)
		}
	})
	t.Run("values are imported by the name below a chart that lists nothing", func(t *testing.T) {
		entries := []*chart.Dependency{{Name: "db", Version: "1", Alias: "al", ImportValues: []any{"data"}}}
		mid := grove{name: "mid", deps: entries, subs: versions("1.0.0")}
		r := resolved(t, grove{name: "root", subs: []grove{mid}}.chart(t), "")
		if got, err := Path(r.Values, "mid.imported"); err != nil || got != "1.0.0" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}
