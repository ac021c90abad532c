// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"os"
	"testing"

	"github.com/moonhelm/moonhelm/chart/unittest"
)

// BenchmarkRun runs all suites of the chart at MOONHELM_BENCH_CHART.
func BenchmarkRun(b *testing.B) {
	path := os.Getenv("MOONHELM_BENCH_CHART")
	if path == "" {
		b.Skip("MOONHELM_BENCH_CHART is not set")
	}
	for b.Loop() {
		c, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		found, err := c.FindAll([]string{"tests/*_test.yaml"})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range found {
			if r := s.Run(b.Context(), unittest.Options{}); !r.Status().OK() {
				b.Fatal(r.File, r.Err)
			}
		}
	}
}
