// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/peertest"
)

// corpus returns the charts of the corpus.
func corpus(t *testing.T) []*Source {
	t.Helper()
	dir, err := filepath.Abs("../../../../shared/corpus/charts")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(charts) == 0 {
		t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
	}
	var out []*Source
	for _, c := range charts {
		s, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func peerProgram(t *testing.T) string {
	t.Helper()
	bin, err := peertest.SDK(filepath.Join("..", "helm4"))
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// finding is the first case of a class of differences.
type finding struct {
	number uint64
	first  Difference
	count  int
	charts map[string]bool
}

// summary counts the results of cases.
type summary struct {
	sync.Mutex
	cases, equal, fail, differ, gone, random int
	decided                                  map[string]int
	refused, tried                           map[string]int // by chart
	classes                                  map[string]*finding
}

func (a *summary) add(t *testing.T, c *Case, n uint64, v *Verdict) {
	a.Lock()
	defer a.Unlock()
	if a.cases++; a.cases%2000 == 0 {
		t.Logf("%d cases: %d equal, %d refused by both, %d differ", a.cases, a.equal, a.fail, a.differ)
	}
	a.tried[c.Chart.Name]++
	a.random += v.Random
	switch {
	case v.Gone:
		a.gone++
	case len(v.Differences) > 0:
		a.differ++
	case v.Fails:
		a.fail++
		a.refused[c.Chart.Name]++
	default:
		a.equal++
	}
	for _, name := range v.Decided {
		a.decided[name]++
	}
	if len(v.Differences) == 0 {
		return
	}
	class := v.Differences[0].class()
	f := a.classes[class]
	if f == nil {
		f = &finding{number: n, first: v.Differences[0], charts: map[string]bool{}}
		a.classes[class] = f
		t.Logf("case %d of %s differs: %s", n, c.Chart.Name, f.first) // reduced at the end
	}
	f.count++
	f.charts[c.Chart.Name] = true
}

// shown is the maximum number of classes of differences that are reduced and printed.
const shown = 200

// TestMutatedValues compares the renderings of charts of the corpus with mutated values:
// MOONHELM_MUTATIONS cases, or a few hundred by default.
func TestMutatedValues(t *testing.T) {
	charts, bin := corpus(t), peerProgram(t)
	seed, from, count := peertest.EnvNumber(t, "MOONHELM_MUTATION_SEED", 11), uint64(0), peertest.EnvNumber(t, "MOONHELM_MUTATIONS", 312)
	dir := os.Getenv("MOONHELM_MUTATION_CHARTS") // keeps the generated charts
	if dir == "" {
		dir = t.TempDir()
	}
	umbrellas, err := Umbrellas(dir, charts, 12)
	if err != nil {
		t.Fatal(err)
	}
	generate := func(n uint64) *Case { return Generate(charts, umbrellas, seed, n) }
	if one := os.Getenv("MOONHELM_MUTATION"); one != "" {
		if _, err := fmt.Sscanf(one, "%d/%d", &seed, &from); err != nil {
			t.Fatalf("MOONHELM_MUTATION: %v; want SEED/NUMBER", err)
		}
		count = 1
	}
	all := &summary{decided: map[string]int{}, refused: map[string]int{}, tried: map[string]int{},
		classes: map[string]*finding{}}
	numbers := make(chan uint64)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), int(count)) {
		k := &Checker{Dir: t.TempDir(), Peer: NewPeer(bin)}
		t.Cleanup(k.Peer.Close)
		workers.Go(func() {
			for n := range numbers {
				c := generate(n)
				v, err := k.Check(c, n)
				if err != nil {
					t.Errorf("case %d/%d, %s: %v", seed, n, c.Chart.Name, err)
					continue
				}
				all.add(t, c, n, v)
			}
		})
	}
	start := time.Now()
	for n := from; n < from+count; n++ {
		numbers <- n
	}
	close(numbers)
	workers.Wait()
	report(t, all, generate, seed, bin)
	t.Logf("%d cases in %s: %d equal, %d refused by both, %d differ, Helm does not survive %d; "+
		"%d random values; decided: %v",
		all.cases, time.Since(start).Round(time.Second), all.equal, all.fail, all.differ, all.gone, all.random, all.decided)
	for name, n := range all.refused {
		t.Logf("%s: both refuse %d of %d", name, n, all.tried[name])
	}
}

// report reduces the first case of each class of differences and fails the test with it.
func report(t *testing.T, all *summary, generate func(uint64) *Case, seed uint64, bin string) {
	k := &Checker{Dir: t.TempDir(), Peer: NewPeer(bin)}
	defer k.Peer.Close()
	classes := make([]string, 0, len(all.classes))
	for class := range all.classes {
		classes = append(classes, class)
	}
	slices.SortFunc(classes, func(a, b string) int {
		if n := all.classes[b].count - all.classes[a].count; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	for i, class := range classes {
		f := all.classes[class]
		if i == shown {
			t.Errorf("%d more classes of differences", len(classes)-i)
			return
		}
		small, err := k.Reduce(generate(f.number), f.number, class)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Errorf("MOONHELM_MUTATION=%d/%d (%d cases of %d charts):\n%s\n%s\n", seed, f.number, f.count,
			len(f.charts), small.Describe(f.number), f.first)
	}
}
