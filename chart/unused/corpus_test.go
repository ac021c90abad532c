// SPDX-License-Identifier: Apache-2.0

package unused_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/unused"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
)

// corpus loads the charts of the corpus that can be rendered.
func corpus(t *testing.T) map[string]*chart.Chart {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "charts", "*"))
	out := map[string]*chart.Chart{}
	for _, dir := range dirs {
		if c, err := loader.Load(dir); err == nil && !c.IsLibrary() && len(c.Values) > 0 {
			out[dir] = c
		}
	}
	if len(out) == 0 {
		t.Skip("no corpus beside the project (../shared/corpus)")
	}
	return out
}

// TestMisspellings misspells keys of the values files of public charts, one at a time. A key is
// known if the charts say what belongs beside it: it is not in a table that a template
// hands on whole, or all keys of which it goes through. Only of those can a misspelling be found.
func TestMisspellings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	count := 60
	if n, err := strconv.Atoi(os.Getenv("MOONHELM_MISSPELLINGS")); err == nil {
		count = n
	}
	thorough := os.Getenv("MOONHELM_MISSPELLINGS") != "" // takes seconds for each of some charts
	charts := corpus(t)
	dirs := slices.Sorted(maps.Keys(charts))
	random := rand.New(rand.NewPCG(1, 2))
	known, reported, right, limited := 0, 0, 0, 0
	for i := range count {
		c := charts[dirs[i%len(dirs)]]
		path, wrong, user := misspell(random, c.Values)
		if path == nil {
			continue
		}
		found, err := unused.Find(context.Background(), c, user, unused.Options{Thorough: thorough})
		if errors.Is(err, engine.ErrUsageLimit) {
			limited++
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", dirs[i%len(dirs)], err)
		}
		bad := append(path[:len(path)-1:len(path)-1], wrong)
		at := slices.IndexFunc(found, func(k unused.Key) bool { return slices.Equal(k.Path, bad) })
		if at < 0 && !isKnown(t, c, path) {
			continue
		}
		known++
		switch {
		case at < 0:
			t.Logf("%s: %s for %s: not reported", c.Name(), strings.Join(bad, "."), path[len(path)-1])
		case !slices.Equal(found[at].Suggestion, path):
			reported++
			t.Logf("%s: %s", c.Name(), found[at])
		default:
			reported++
			right++
		}
	}
	t.Logf("%d misspellings, %d of them (%d%%) of keys that the charts name: %d reported, %d (%.1f%%) with the right "+
		"suggestion; %d in charts that are too large", count, known, 100*known/count, reported, right, 100*float64(right)/float64(known), limited)
	if 100*right < 95*known || 2*known < count {
		t.Errorf("%d of %d misspellings are reported with the right suggestion, want 95%%", right, known)
	}
}

// isKnown reports whether the templates name the keys of the table that has the last key of path.
func isKnown(t *testing.T, c *chart.Chart, path []string) bool {
	t.Helper()
	res, err := values.Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := engine.FindUsage(context.Background(), engine.Input{Chart: res.Chart, Values: res.Values, Thorough: true})
	if err != nil {
		t.Fatal(err)
	}
	nodes := []*engine.Usage{n}
	for _, key := range path[:len(path)-1] {
		var below []*engine.Usage
		for _, n := range nodes {
			if n.Whole || n.Any != nil {
				return false
			}
			if n.Keys[key] != nil {
				below = append(below, n.Keys[key])
			}
		}
		nodes = below
	}
	return !slices.ContainsFunc(nodes, func(n *engine.Usage) bool { return n.Whole || n.Any != nil })
}

// misspell returns the path of a random key of vals, another name for it, and vals with that name.
func misspell(r *rand.Rand, vals map[string]any) (path []string, wrong string, out map[string]any) {
	var paths [][]string
	var walk func(m map[string]any, path []string)
	walk = func(m map[string]any, path []string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			at := append(path[:len(path):len(path)], k)
			if len(k) > 2 {
				paths = append(paths, at)
			}
			if below, ok := m[k].(map[string]any); ok {
				walk(below, at)
			}
		}
	}
	if walk(vals, nil); len(paths) == 0 {
		return nil, "", nil
	}
	path = paths[r.IntN(len(paths))]
	out = values.Copy(vals)
	table := out
	for _, k := range path[:len(path)-1] {
		table = table[k].(map[string]any)
	}
	key := path[len(path)-1]
	for wrong = key; ; wrong = slip(r, key) {
		if _, taken := table[wrong]; !taken {
			break
		}
	}
	table[wrong] = table[key]
	delete(table, key)
	return path, wrong, out
}

// slip returns key with a letter that is left out, added, replaced or swapped with the next.
func slip(r *rand.Rand, key string) string {
	i, letter := r.IntN(len(key)), string(rune('a'+r.IntN(26)))
	switch r.IntN(4) {
	case 0:
		return key[:i] + key[i+1:]
	case 1:
		return key[:i] + letter + key[i:]
	case 2:
		return key[:i] + letter + key[i+1:]
	}
	i = min(i, len(key)-2)
	return key[:i] + key[i+1:i+2] + key[i:i+1] + key[i+2:]
}

// TestFilesAsTheyAre counts the keys that are reported in the values files that charts bring for
// their own tests, and in copies of their values.yaml.
func TestFilesAsTheyAre(t *testing.T) {
	files, keys, wrong := 0, 0, 0
	charts := corpus(t)
	for _, dir := range slices.Sorted(maps.Keys(charts)) {
		c := charts[dir]
		names := []string{filepath.Join(dir, chart.FileValues)}
		for _, pattern := range []string{"ci/*.yaml", "*values*.yaml", "examples/*values*.yaml"} {
			more, _ := filepath.Glob(filepath.Join(dir, pattern))
			names = append(names, more...)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			user, err := values.Parse(name, text)
			if err != nil {
				continue
			}
			found, err := unused.Find(context.Background(), c, user, unused.Options{})
			if err != nil {
				t.Fatal(err)
			}
			files, keys, wrong = files+1, keys+countKeys(user), wrong+len(found)
			for _, k := range found {
				t.Logf("%s: %s", strings.TrimPrefix(name, filepath.Dir(dir)+"/"), k)
			}
		}
	}
	t.Logf("%d files with %d keys: %d reported", files, keys, wrong)
	if 100*wrong > keys {
		t.Errorf("%d of %d keys are reported, want at most 1%%", wrong, keys)
	}
}

// TestKeysThatMatter changes values of public charts, one at a time. One that changes what the
// chart renders to must not be reported, in whatever way the templates read it.
func TestKeysThatMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	count := 60
	if n, err := strconv.Atoi(os.Getenv("MOONHELM_MISSPELLINGS")); err == nil {
		count = n
	}
	charts := corpus(t)
	dirs := slices.Sorted(maps.Keys(charts))
	random := rand.New(rand.NewPCG(3, 4))
	tried, matter := 0, 0
	for i := range count {
		c := charts[dirs[i%len(dirs)]]
		before := renderText(c, nil)
		if before != renderText(c, nil) {
			continue // it has random parts
		}
		path, user := change(random, c.Values)
		if path == nil {
			continue
		}
		tried++
		if renderText(c, user) == before {
			continue
		}
		matter++
		found, err := unused.Find(context.Background(), c, user, unused.Options{Defaults: true})
		if err != nil && !errors.Is(err, engine.ErrUsageLimit) {
			t.Fatal(err)
		}
		for _, k := range found {
			t.Errorf("%s: %s, but what it renders to depends on %s", c.Name(), k, strings.Join(path, "."))
		}
	}
	t.Logf("%d values changed: %d of them change what the chart renders to", tried, matter)
	if tried > 20 && matter == 0 {
		t.Error("no value changes what a chart renders to")
	}
}

// renderText returns all that a chart renders to with the values of a user, or the error.
func renderText(c *chart.Chart, user map[string]any) string {
	res, err := values.Resolve(c, user)
	if err != nil {
		return err.Error()
	}
	out, err := engine.Render(context.Background(), engine.Input{Chart: res.Chart, Values: res.Values,
		Release: engine.Release{Name: "web", Namespace: "shop", Revision: 1, IsInstall: true}})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, f := range append(out.Files, out.Notes...) {
		b.WriteString(f.Name + "\n" + f.Content)
	}
	return b.String()
}

// change returns the path of a random scalar of vals, and values that change it alone.
func change(r *rand.Rand, vals map[string]any) (path []string, user map[string]any) {
	user = map[string]any{}
	for table := user; len(vals) > 0; {
		keys := slices.Sorted(maps.Keys(vals))
		key := keys[r.IntN(len(keys))]
		path = append(path, key)
		switch v := vals[key].(type) {
		case map[string]any:
			below := map[string]any{}
			table[key], table, vals = below, below, v
			continue
		case bool:
			table[key] = !v
		case string, nil:
			table[key] = "changed"
		case []any:
			table[key] = []any{"changed"}
		default:
			table[key] = 12345
		}
		return path, user
	}
	return nil, nil
}

func countKeys(m map[string]any) int {
	n := len(m)
	for _, v := range m {
		if below, ok := v.(map[string]any); ok {
			n += countKeys(below)
		}
	}
	return n
}
