// SPDX-License-Identifier: Apache-2.0

package dependency_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
)

// tree builds charts from lines such as
//
//	web                          the root
//	web/library/common 2.0.0     a vendored library
//	web/charts/db uses common ^1.0.0, base as b
//
// A chart's line comes after its parent's.
func tree(t *testing.T, text string) *chart.Chart {
	t.Helper()
	byPath := map[string]*chart.Chart{}
	var root *chart.Chart
	for line := range strings.Lines(text) {
		head, uses, _ := strings.Cut(strings.TrimSpace(line), " uses ")
		if head == "" {
			continue
		}
		fields := append(strings.Fields(head), "1.0.0")
		at, version := fields[0], fields[1]
		place, name := "", at
		if i := strings.LastIndex(at, "/"); i >= 0 {
			place, name = at[:i], at[i+1:]
		}
		name, _, _ = strings.Cut(name, "@") // web/library/common@2: another chart with that name
		c := &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: version}, Values: map[string]any{}}
		for _, use := range strings.Split(uses, ", ") {
			if use == "" {
				continue
			}
			use, alias, _ := strings.Cut(use, " as ")
			lib, want, _ := strings.Cut(use, " ")
			c.Metadata.Libraries = append(c.Metadata.Libraries, &chart.Dependency{Name: lib, Version: want, Alias: alias})
		}
		byPath[at] = c
		if place == "" {
			root = c
			continue
		}
		i := strings.LastIndex(place, "/")
		parent := byPath[place[:i]]
		if parent == nil {
			t.Fatalf("%s has no parent", at)
		}
		c.FromLibrary = place[i+1:] == chart.DirLibrary
		parent.SetDependencies(append(slices.Clone(parent.Dependencies()), c)...)
	}
	return root
}

// paths returns the paths of all charts below c, with the versions of libraries.
func paths(c *chart.Chart) []string {
	var out []string
	c.Walk(func(x *chart.Chart) {
		text := x.FullPath()
		if x.FromLibrary {
			text += " " + x.Version()
		}
		if x != c {
			out = append(out, text)
		}
	})
	return out
}

func TestLibraries(t *testing.T) {
	for _, tc := range []struct {
		name, tree string
		want       []string // the charts below the root after resolving
		err        []string // or parts of the error
	}{
		{
			"a chart without libraries stays as it is",
			`web
			 web/charts/db
			 web/charts/db/charts/x`,
			[]string{"web/charts/db", "web/charts/db/charts/x"}, nil,
		},
		{
			"a subchart's library moves to the root, before the subcharts, which keep their order",
			`web
			 web/charts/b
			 web/charts/a uses common ^1.0.0
			 web/charts/a/library/common 1.2.0`,
			[]string{"web/library/common 1.2.0", "web/charts/b", "web/charts/a"}, nil,
		},
		{
			"of two versions the highest is used by both",
			`web
			 web/charts/a uses common ^1.0.0
			 web/charts/a/library/common 1.2.0
			 web/charts/b uses common ^1.1.0
			 web/charts/b/library/common 1.10.0`,
			[]string{"web/library/common 1.10.0", "web/charts/a", "web/charts/b"}, nil,
		},
		{
			"the highest that satisfies everyone, not the highest",
			`web uses common >=1.0.0
			 web/library/common 3.0.0
			 web/charts/a uses common <2.0.0
			 web/charts/a/library/common 1.2.0
			 web/charts/a/charts/deep uses common ^1.0.0 || ^3.0.0
			 web/charts/a/charts/deep/library/common 1.1.0`,
			[]string{"web/library/common 1.2.0", "web/charts/a", "web/charts/a/charts/deep"}, nil,
		},
		{
			"nothing satisfies everyone: who wants what, and what is there",
			`web uses common ^2.0.0
			 web/library/common 2.1.0
			 web/charts/db uses common ~1.4.0
			 web/charts/db/library/common 1.4.2
			 web/charts/other
			 web/charts/other/library/common 1.0.0`,
			nil, []string{"no version of the library common suits all charts that use it:\n  web wants ^2.0.0\n  web/charts/db wants ~1.4.0\n",
				"there is 2.1.0 (web/library/common), 1.4.2 (web/charts/db/library/common) and 1.0.0 (web/charts/other/library/common); change a range under libraries: in Chart.yaml"},
		},
		{
			"one chart alone may want what is not there",
			`web uses common ^2.0.0
			 web/library/common 1.9.0`,
			nil, []string{"web wants the library common in version ^2.0.0, but there is 1.9.0 (web/library/common); change the range"},
		},
		{
			"a listed library that no directory has is missing; all that are, are named at once",
			`web uses common ^2.0.0, base
			 web/charts/db uses common ^1.0.0`,
			nil, []string{"the library common is missing: it is listed under libraries: by web (^2.0.0), web/charts/db (^1.0.0), but no library/ directory has it; put the chart into library/common",
				"the library base is missing: it is listed under libraries: by web,"},
		},
		{
			"a dependency is not a library",
			`web uses common
			 web/charts/common`,
			nil, []string{"(web/charts/common is a dependency and does not count as a library)"},
		},
		{
			"a chart may use the library of the chart above, or beside it",
			`web
			 web/library/common 1.0.0
			 web/charts/a uses common ^1.0.0, base 0.1.0
			 web/charts/b
			 web/charts/b/library/base 0.1.0`,
			[]string{"web/library/common 1.0.0", "web/library/base 0.1.0", "web/charts/a", "web/charts/b"}, nil,
		},
		{
			"no one lists it: it takes part, and what others want decides",
			`web
			 web/library/common 3.0.0
			 web/library/tools 0.1.0
			 web/charts/a uses common ^1.0.0
			 web/charts/a/library/common 1.2.0`,
			[]string{"web/library/common 1.2.0", "web/library/tools 0.1.0", "web/charts/a"}, nil,
		},
		{
			"libraries of libraries are hoisted too, and come before those that use them",
			`web uses common
			 web/library/common 1.0.0 uses base ^1.0.0
			 web/library/common/library/base 1.5.0 uses ground
			 web/library/common/library/base/library/ground 0.1.0
			 web/charts/a uses base <1.4.0
			 web/charts/a/library/base 1.3.0`,
			// web/library/.../ground is below a version of base that is dropped.
			[]string{"web/library/base 1.3.0", "web/library/common 1.0.0", "web/charts/a"}, nil,
		},
		{
			"what a dropped version wants does not matter",
			`web uses common ^2.0.0
			 web/library/common 2.0.0 uses base ^2.0.0
			 web/library/base 2.0.0
			 web/charts/a uses common
			 web/charts/a/library/common 1.0.0 uses base ^1.0.0, gone not-a-range`,
			[]string{"web/library/base 2.0.0", "web/library/common 2.0.0", "web/charts/a"}, nil,
		},
		{
			"a lower version is taken where the highest wants something that suits no one",
			`web uses common, base ^1.0.0
			 web/library/base 1.0.0
			 web/library/common 2.0.0 uses base ^2.0.0
			 web/charts/a
			 web/charts/a/library/common 1.0.0 uses base ^1.0.0`,
			[]string{"web/library/base 1.0.0", "web/library/common 1.0.0", "web/charts/a"}, nil,
		},
		{
			"and where there is no lower one, the message tells who wants what",
			`web uses common, base ^1.0.0
			 web/library/base 1.0.0
			 web/library/common 2.0.0 uses base ^2.0.0`,
			nil, []string{"suits all charts that use it:\n  web wants ^1.0.0\n  web/library/common wants ^2.0.0"},
		},
		{
			"libraries that use each other",
			`web uses a
			 web/library/a uses b
			 web/library/b uses a`,
			[]string{"web/library/b 1.0.0", "web/library/a 1.0.0"}, nil,
		},
		{
			"a library that wants another version of itself",
			`web uses a
			 web/library/a uses a ^2.0.0`,
			nil, []string{"web/library/a wants the library a in version ^2.0.0, but there is 1.0.0"},
		},
		{
			"what is below a library in charts/ comes along",
			`web
			 web/charts/a uses mysql
			 web/charts/a/library/mysql 8.0.0
			 web/charts/a/library/mysql/charts/common uses base
			 web/charts/a/library/mysql/charts/common/library/base 0.2.0`,
			[]string{"web/library/base 0.2.0", "web/library/mysql 8.0.0", "web/library/mysql/charts/common", "web/charts/a"}, nil,
		},
		{
			"a range that is none",
			`web uses common one-point-two
			 web/library/common 1.2.0`,
			nil, []string{`web wants the library common in version "one-point-two", which is neither a version nor a range`},
		},
		{
			"the same version twice is used once: the one nearest to the root",
			`web
			 web/charts/a uses common
			 web/charts/a/library/common 1.0.0
			 web/library/common 1.0.0 uses base
			 web/library/base`,
			[]string{"web/library/base 1.0.0", "web/library/common 1.0.0", "web/charts/a"}, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tree(t, tc.tree)
			before := paths(c)
			_, err := dependency.Libraries(c)
			if tc.err != nil {
				for _, part := range tc.err {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("got  %v\nwant %s", err, part)
					}
				}
				if after := paths(c); !slices.Equal(before, after) {
					t.Errorf("an error changed the tree to %q", after)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := paths(c); !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
			// Resolving a resolved chart changes nothing: the chart of a record may
			// be resolved again.
			if _, err := dependency.Libraries(c); err != nil {
				t.Fatal(err)
			}
			if got := paths(c); !slices.Equal(got, tc.want) {
				t.Errorf("again, got %q\nwant %q", got, tc.want)
			}
		})
	}
}

// Every chart finds the libraries that it has listed or vendored, and no others.
func TestNamed(t *testing.T) {
	c := tree(t, `web uses common as c
		web/library/common 2.0.0 uses base
		web/library/base
		web/charts/a uses base, common ^2.0.0
		web/charts/a/library/base
		web/charts/a/library/tools
		web/charts/a/charts/base
		web/charts/b`)
	if _, err := dependency.Libraries(c); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	c.Walk(func(x *chart.Chart) {
		for name, d := range dependency.Named(x) {
			got[x.FullPath()] = append(got[x.FullPath()], name+"="+d.FullPath())
		}
		slices.Sort(got[x.FullPath()])
	})
	want := map[string][]string{
		"web":                {"a=web/charts/a", "b=web/charts/b", "base=web/library/base", "c=web/library/common", "common=web/library/common"},
		"web/library/common": {"base=web/library/base"},
		"web/charts/a":       {"base=web/charts/a/charts/base", "common=web/library/common", "tools=web/library/tools"},
	}
	for path := range got {
		t.Run(path, func(t *testing.T) {
			if !slices.Equal(got[path], want[path]) {
				t.Errorf("%s may name %q, want %q", path, got[path], want[path])
			}
		})
	}
}

func TestLibrariesErrorTypes(t *testing.T) {
	var missing *dependency.MissingError
	var conflict *dependency.ConflictError
	var bad *dependency.RangeError
	_, err := dependency.Libraries(tree(t, "web uses a, b"))
	if !errors.As(err, &missing) || missing.Library != "a" {
		t.Error(err)
	}
	_, err = dependency.Libraries(tree(t, "web uses a 2.0.0\nweb/library/a"))
	if !errors.As(err, &conflict) || len(conflict.Requirements) != 1 || !slices.Equal(conflict.Have, []dependency.Candidate{{Version: "1.0.0", Path: "web/library/a"}}) {
		t.Error(err)
	}
	_, err = dependency.Libraries(tree(t, "web uses a x.y.z\nweb/library/a"))
	if !errors.As(err, &bad) || bad.Requirement.By != "web" {
		t.Error(err)
	}
}

// Charts that would require trying every combination are resolved quickly.
func TestSearchLimits(t *testing.T) {
	text := func(final string) string {
		var b strings.Builder
		b.WriteString("web uses ")
		for i := range 30 {
			fmt.Fprintf(&b, "l%d, ", i)
		}
		b.WriteString("last ^2.0.0\nweb/library/last 2.0.0\n")
		for i := range 30 {
			wants := "uses last >=1.0.0"
			if i == 29 {
				wants = final
			}
			for v := range 9 {
				fmt.Fprintf(&b, "web/library/l%d@%d %d.0.0 %s\n", i, v, v+1, wants)
			}
		}
		return b.String()
	}
	if _, err := dependency.Libraries(tree(t, text("uses last <3.0.0"))); err != nil {
		t.Error(err)
	}
	start := time.Now()
	var conflict *dependency.ConflictError
	if _, err := dependency.Libraries(tree(t, text("uses last ^1.0.0"))); !errors.As(err, &conflict) || conflict.Library != "last" {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
