// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
)

// No public chart may use more than a fiftieth of any limit.
func TestCorpusStaysFarFromLimits(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "corpus", "charts")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the corpus is not here:", err)
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	const headroom = 50
	top := map[string]int64{}
	for _, dir := range dirs {
		c, err := loader.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		r, err := values.Resolve(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Chart: r.Chart, Values: r.Values, Capabilities: DefaultCapabilities(), Release: Release{Name: "rel", Namespace: "ns", Revision: 1, IsInstall: true}}
		e := newEngine(&in)
		jobs := e.jobs(false)
		if err := e.parse(jobs); err != nil {
			t.Fatal(err)
		}
		_ = e.runJobs(context.Background(), jobs) // some need values
		var output, largest, depth int64
		for _, j := range jobs {
			output += int64(len(j.output))
			largest = max(largest, int64(len(j.output)))
			_, d := measure(j.text)
			depth = max(depth, int64(d))
		}
		for what, used := range map[string]struct{ n, limit int64 }{
			"steps": {e.spent.steps.Load(), maxSteps}, "bytes made": {e.spent.made.Load(), maxHeld}, "bytes of code": {e.code.Load(), maxCode},
			"bytes of one file": {largest, maxText}, "bytes of all files": {output, maxHeld}, "blocks in each other": {depth, maxBlocks},
		} {
			top[what] = max(top[what], used.n)
			if used.n*headroom > used.limit {
				t.Errorf("%s takes %d %s of %d", filepath.Base(dir), used.n, what, used.limit)
			}
		}
	}
	t.Logf("the most that any chart takes: %v", top)
}
