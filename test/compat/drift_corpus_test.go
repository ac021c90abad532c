// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDriftOfCorpus installs the public charts of the corpus, each by three-way merge and by
// server-side apply, and none may have drifted: neither at once nor after the controllers have had
// a moment. It takes minutes, and runs where MOONHELM_DRIFT_CORPUS is set.
func TestDriftOfCorpus(t *testing.T) {
	if os.Getenv("MOONHELM_DRIFT_CORPUS") == "" {
		t.Skip("MOONHELM_DRIFT_CORPUS=1 installs the charts of the corpus, for minutes")
	}
	charts, err := filepath.Glob(filepath.Join(root(t), "..", "shared", "corpus", "charts", "*"))
	if err != nil || len(charts) == 0 {
		t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
	}
	c, bin, home := connect(t), ours(t), t.TempDir()
	installed, objects, drifted := 0, 0, 0
	for _, chart := range charts {
		for _, serverSide := range []string{"false", "true"} {
			t.Run(filepath.Base(chart)+" "+serverSide, func(t *testing.T) {
				ns := c.namespace(t)
				in := func(args ...string) []string { return append(args, "--namespace", ns.name) }
				// Definitions would stay in the cluster, and hooks' images do not run in it.
				r := run(t, bin, home, in("install", "rel", chart, "--server-side="+serverSide, "--no-hooks", "--skip-crds")...)
				t.Cleanup(func() { run(t, bin, home, in("uninstall", "rel", "--no-hooks")...) })
				if r.err != nil {
					t.Skipf("it cannot be installed with its defaults: %s", r.stderr)
				}
				installed++
				for _, after := range []time.Duration{0, 2 * time.Second} {
					time.Sleep(after)
					report := run(t, bin, home, in("drift", "rel", "-o", "json")...)
					var doc struct {
						Drifted  bool
						Releases []struct{ Objects []json.RawMessage }
					}
					if err := json.Unmarshal([]byte(report.stdout), &doc); err != nil {
						t.Fatalf("%v\n%s%s", err, report.stdout, report.stderr)
					}
					if doc.Drifted || report.err != nil {
						drifted++
						t.Errorf("it has drifted: %s%s", report.stdout, report.stderr)
					}
				}
				objects += countObjects(must(t, bin, home, in("get", "manifest", "rel")...))
			})
		}
	}
	t.Logf("%d releases of %d charts installed, with %d objects; %d reports of drift", installed, len(charts), objects, drifted)
	if installed == 0 {
		t.Error("no chart could be installed")
	}
}

// countObjects returns the number of objects of a manifest.
func countObjects(manifest string) int {
	n := 0
	for line := range strings.SplitSeq(manifest, "\n") {
		if line == "---" {
			n++
		}
	}
	return n
}
