// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// serviceValues returns the values of a service in a large umbrella chart, about 300 lines.
func serviceValues() string {
	var b strings.Builder
	b.WriteString("enabled: true\nreplicaCount: 1\nimage:\n  repository: nginx\n  pullPolicy: IfNotPresent\n  tag: \"\"\nsettings:\n")
	for j := range 60 {
		fmt.Fprintf(&b, "  section%d:\n    enabled: true\n    name: \"s%d\"\n    list: [a, b, c]\n    nested: {x: %d, y: \"%d\", z: {q: 1}}\n", j, j, j, j)
	}
	return b.String()
}

// umbrella returns a chart with n services, each with a condition.
func umbrella(n int) *chart.Chart {
	root := &chart.Chart{Metadata: &chart.Metadata{Name: "umbrella"}, Values: map[string]any{"global": map[string]any{"env": "prod"}}}
	var subs []*chart.Chart
	for i := range n {
		name := fmt.Sprintf("svc%03d", i)
		vals, err := Parse("values.yaml", []byte(serviceValues()))
		if err != nil {
			panic(err)
		}
		subs = append(subs, &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "0.1.0"}, Values: vals})
		root.Metadata.Dependencies = append(root.Metadata.Dependencies, &chart.Dependency{Name: name, Version: "0.1.0", Condition: name + ".enabled"})
		root.Values[name] = map[string]any{"enabled": true, "replicaCount": float64(i%5 + 1)}
	}
	root.SetDependencies(subs...)
	return root
}

func BenchmarkParse(b *testing.B) {
	text := []byte(serviceValues())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("values.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResolve shows that the time is proportional to the number of services.
func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{200, 1000} {
		c := umbrella(n)
		user := map[string]any{"global": map[string]any{"env": "dev"}, "svc001": map[string]any{"replicaCount": int64(9)}}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Resolve(c, user); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
