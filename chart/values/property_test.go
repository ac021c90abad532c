// SPDX-License-Identifier: Apache-2.0

package values

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// wild returns a forest with all features.
func wild(seed int64) *forest {
	return &forest{Rand: rand.New(rand.NewSource(seed)), nulls: true, conflicts: true, imports: true, conditions: true, aliases: true, globals: true}
}

// trees calls fn with many random trees and user values.
func trees(t *testing.T, fn func(seed int64, c *chart.Chart, user map[string]any)) {
	for seed := range int64(300) {
		f := wild(seed)
		fn(seed, f.tree("root", 0), f.values(0))
	}
}

func TestMergeProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for seed := range int64(500) {
		f := wild(seed)
		a, b, c := f.values(0), f.values(0), f.values(0)
		before := dump(a) + dump(b)
		ab := Merge(a, b)
		if dump(a)+dump(b) != before {
			t.Fatalf("seed %d: the inputs were changed", seed)
		}
		if dump(Merge(a, a)) != dump(a) || dump(Merge(ab, b)) != dump(ab) {
			t.Fatalf("seed %d: merging again changes something", seed)
		}
		if dump(Merge(ab, c)) != dump(Merge(a, Merge(b, c))) && !contradict(a, b, c) {
			t.Fatalf("seed %d: the grouping of layers matters", seed)
		}
		for k, v := range b {
			if _, table := v.(map[string]any); !table && dump(ab[k]) != dump(v) {
				t.Fatalf("seed %d: %s of the later layer lost", seed, k)
			}
		}
		for k := range a {
			if _, there := ab[k]; !there {
				t.Fatalf("seed %d: %s is gone", seed, k)
			}
		}
	}
}

// contradict reports whether a path has a table in one layer and another value in another. Then
// layers cannot be merged in any order, because a scalar between two tables hides the lower
// one.
func contradict(layers ...map[string]any) bool {
	kinds := map[string]map[bool]bool{}
	var walk func(path string, m map[string]any)
	walk = func(path string, m map[string]any) {
		for k, v := range m {
			at := path + "\x00" + k
			table, ok := v.(map[string]any)
			if kinds[at] == nil {
				kinds[at] = map[bool]bool{}
			}
			kinds[at][ok] = true
			walk(at, table)
		}
	}
	for _, l := range layers {
		walk("", l)
	}
	for _, k := range kinds {
		if len(k) > 1 {
			return true
		}
	}
	return false
}

func TestResolveProperties(t *testing.T) {
	resolvedTrees := 0
	trees(t, func(seed int64, c *chart.Chart, user map[string]any) {
		before, userBefore := dumpTree(c), dump(user)
		r, err := Resolve(c, user)
		if dumpTree(c) != before || dump(user) != userBefore {
			t.Fatalf("seed %d: the inputs were changed", seed)
		}
		again, err2 := Resolve(c, user)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("seed %d: %v, then %v", seed, err, err2)
		}
		if err != nil {
			return
		}
		resolvedTrees++
		if dump(r.Values) != dump(again.Values) || names(r.Chart) != names(again.Chart) {
			t.Fatalf("seed %d: two answers", seed)
		}
		r.Chart.Walk(func(c *chart.Chart) {
			if !c.IsRoot() && c.Parent().Root() != r.Chart {
				t.Fatalf("seed %d: %s hangs in another tree", seed, c.Name())
			}
		})
	})
	if resolvedTrees < 200 {
		t.Errorf("only %d trees could be resolved", resolvedTrees)
	}
}

// dumpTree returns everything in a tree that Resolve may change.
func dumpTree(c *chart.Chart) string {
	var b strings.Builder
	c.Walk(func(c *chart.Chart) {
		b.WriteString(c.FullPath() + dump(c.Values))
		for _, d := range c.Metadata.Dependencies {
			b.WriteString(d.Name + d.Alias)
			if d.Enabled {
				b.WriteString("enabled")
			}
		}
	})
	return b.String()
}

func TestResolveRootNulls(t *testing.T) {
	trees(t, func(seed int64, c *chart.Chart, user map[string]any) {
		r, err := Resolve(c, nil)
		if err != nil {
			return
		}
		own := map[string]any{}
		for k, v := range r.Values {
			own[k] = v
		}
		for _, d := range r.Chart.Dependencies() {
			delete(own, d.Name())
		}
		var found traits
		if found.addTable(own); found.null {
			t.Fatalf("seed %d: %s", seed, dump(own))
		}
	})
}

func TestResolveSubchartIsolation(t *testing.T) {
	trees(t, func(seed int64, c *chart.Chart, user map[string]any) {
		for _, d := range c.Metadata.Dependencies {
			d.Condition, d.Tags, d.ImportValues = "", nil, nil
		}
		before, err := Resolve(c, user)
		if err != nil || len(before.Chart.Dependencies()) < 2 {
			return
		}
		// Values of one subchart or of the root do not affect others.
		first := before.Chart.Dependencies()[0]
		other := Merge(user, map[string]any{first.Name(): map[string]any{"only-here": "x"}, "only-root": "y"})
		after, err := Resolve(c, other)
		if err != nil {
			return
		}
		for i, d := range before.Chart.Dependencies()[1:] {
			b, a := Scope(before.Values, d), Scope(after.Values, after.Chart.Dependencies()[i+1])
			if !reflect.DeepEqual(b, a) {
				t.Fatalf("seed %d: %s sees %s", seed, d.Name(), differences(a, b, ""))
			}
		}
		if got := Scope(after.Values, after.Chart.Dependencies()[0])["only-here"]; got != "x" {
			if _, table := user[first.Name()].(map[string]any); table || user[first.Name()] == nil {
				t.Fatalf("seed %d: %s sees %v", seed, first.Name(), got)
			}
		}
	})
}

func TestResolveGlobals(t *testing.T) {
	trees(t, func(seed int64, c *chart.Chart, user map[string]any) {
		c.Walk(func(c *chart.Chart) {
			for _, d := range c.Metadata.Dependencies {
				d.Condition, d.Tags, d.ImportValues = "", nil, nil
			}
			if _, table := c.Values[Global].(map[string]any); !table {
				delete(c.Values, Global)
			}
			c.Values = Merge(c.Values, map[string]any{Global: map[string]any{"deep": map[string]any{"of-" + c.Name(): true}}})
		})
		r, err := Resolve(c, map[string]any{Global: map[string]any{"from": "user"}})
		if err != nil {
			return
		}
		r.Chart.Walk(func(c *chart.Chart) {
			global, _ := Scope(r.Values, c)[Global].(map[string]any)
			for up := c; up.Parent() != nil; up = up.Parent() {
				if _, table := Scope(r.Values, up)[Global].(map[string]any); !table {
					return // a default in between sets global to another type
				}
			}
			if global == nil {
				return
			}
			if global["from"] != "user" {
				t.Fatalf("seed %d: %s does not see the user's global: %s", seed, c.ChartPath(), dump(global))
			}
			deep, _ := global["deep"].(map[string]any)
			for k := range deep {
				if name := strings.TrimPrefix(k, "of-"); !onTheWay(c, name) {
					t.Fatalf("seed %d: %s sees the global of %s", seed, c.ChartPath(), name)
				}
			}
		})
	})
}

// onTheWay reports whether c or a chart above it has that name or alias.
func onTheWay(c *chart.Chart, name string) bool {
	for ; c != nil; c = c.Parent() {
		if c.Name() == name || strings.HasPrefix(c.Name(), "al") {
			return true
		}
	}
	return false
}

func TestCopy(t *testing.T) {
	for seed := range int64(50) {
		a := wild(seed).values(0)
		before := dump(a)
		b := Copy(a)
		if dump(b) != before {
			t.Fatalf("seed %d: not a copy", seed)
		}
		ruin(b)
		if dump(a) != before {
			t.Fatalf("seed %d: the original changed with the copy", seed)
		}
	}
}

func ruin(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			ruin(e)
			v[k] = "ruined"
		}
	case []any:
		for i, e := range v {
			ruin(e)
			v[i] = "ruined"
		}
	}
}

func TestPath(t *testing.T) {
	vals := map[string]any{"a": map[string]any{"b": nil, "c": 5.0}}
	if v, err := Path(vals, "a.c"); err != nil || v != 5.0 {
		t.Errorf("got %v, %v", v, err)
	}
	if v, err := Path(vals, "a.b"); err != nil || v != nil {
		t.Errorf("got %v, %v", v, err)
	}
	for path, want := range map[string]string{
		"a.x":   `values have no "a.x"`,
		"x.y.z": `values have no "x.y.z": there is no "x"`,
		"a.c.d": `values have no "a.c.d": "a.c" is a number`,
		"":      `values have no ""`,
	} {
		t.Run(path, func(t *testing.T) {
			if _, err := Path(vals, path); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
