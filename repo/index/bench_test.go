// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bigIndex returns an index like the large public ones: 15.7 MB for 100 charts with 154
// versions each.
func bigIndex(charts, versions int) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nentries:\n")
	for c := range charts {
		fmt.Fprintf(&b, "  app%03d:\n", c)
		for v := versions - 1; v >= 0; v-- {
			fmt.Fprintf(&b, `  - annotations:
      category: Infrastructure
      images: |
        - name: app%03[1]d
          image: docker.io/example/app%03[1]d:%[2]d-debian-12-r%[3]d
        - name: os-shell
          image: docker.io/example/os-shell:12-debian-12-r%[3]d
      licenses: Apache-2.0
    apiVersion: v2
    appVersion: 3.%[2]d.1
    created: "2026-0%[4]d-1%[3]dT10:20:30.123456789Z"
    dependencies:
    - name: common
      repository: oci://registry.example.com/charts
      tags:
      - infra-common
      version: 2.x.x
    description: app%03[1]d is an open source thing that does what its users expect from it, number %[1]d.
    digest: %064[2]d
    home: https://example.com/app%03[1]d
    icon: https://example.com/app%03[1]d.svg
    keywords:
    - app%03[1]d
    - database
    - sql
    maintainers:
    - name: Example Inc
      url: https://github.com/example/charts
    name: app%03[1]d
    sources:
    - https://github.com/example/charts/tree/main/app%03[1]d
    urls:
    - app%03[1]d-1.%[2]d.0.tgz
    version: 1.%[2]d.0
`, c, v, v%9, v%9+1)
		}
	}
	b.WriteString("generated: \"2026-11-01T00:00:00Z\"\n")
	return []byte(b.String())
}

func big(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "index.yaml")
	if err := os.WriteFile(path, bigIndex(100, 154), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

func bench(b *testing.B, do func(x *Index) error) {
	path := big(b)
	b.ReportAllocs()
	for b.Loop() {
		x, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := do(x); err != nil {
			b.Fatal(err)
		}
		_ = x.Close()
	}
}

func BenchmarkOpen(b *testing.B) { bench(b, func(x *Index) error { return nil }) }

func BenchmarkFind(b *testing.B) {
	bench(b, func(x *Index) error { _, err := x.Find("app077", "", false); return err })
}

func BenchmarkLatest(b *testing.B) {
	bench(b, func(x *Index) error {
		for _, err := range x.Latest(false) {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func BenchmarkAll(b *testing.B) {
	bench(b, func(x *Index) error {
		for _, err := range x.All() {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func BenchmarkCheck(b *testing.B) { bench(b, (*Index).Check) }
