// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/internal/peertest"
)

// chartWorkloads returns the workloads of those who write charts: patches, values, tests, READMEs, lint.
// small is a chart as helm create makes it, and large an umbrella of 200 of them.
func chartWorkloads(dir, small, large string) ([]workload, error) {
	patched, patches, given := filepath.Join(dir, "patched"), filepath.Join(dir, "twenty.yaml"),
		filepath.Join(dir, "given.yaml")
	tested, documented := filepath.Join(dir, "tested"), filepath.Join(dir, "documented")
	var values strings.Builder
	for i := range 200 {
		fmt.Fprintf(&values, "svc%04d: {replicaCount: 3, image: {tag: \"%d\"}, service: {port: 8080}}\n", i, i)
	}
	for _, err := range []error{
		write(map[string]string{
			filepath.Join(patched, "Chart.yaml"):         "apiVersion: v2\nname: patched\nversion: 0.1.0\n",
			filepath.Join(patched, "templates/all.yaml"): manyDeployments(20),
			patches: patchesOfEach(20),
			given:   values.String(),
		}),
		clone(small, tested, "svcxyz", "tested"),
		write(manySuites(tested, 40, 25)),
		clone(small, documented, "svcxyz", "documented"),
		write(map[string]string{filepath.Join(documented, "values.yaml"): describedValues(500)}),
	} {
		if err != nil {
			return nil, err
		}
	}
	return []workload{
		{name: "template 20 Deployments", args: []string{"template", "rel", patched}},
		{name: "the same with a patch of each, Helm without", args: []string{"template", "rel", patched},
			own: []string{"--patch", patches}},
		{name: "template the umbrella of 200 services, values with one that is never read",
			args: []string{"template", "rel", large, "--values", given}},
		{name: "values of the umbrella of 200 services", alone: true, args: []string{"values", large, "--values", given}},
		{name: "values --origin of the same", alone: true,
			args: []string{"values", large, "--values", given, "--origin"}},
		{name: "values --unused of the same", alone: true,
			args: []string{"values", large, "--values", given, "--unused"}},
		{name: "lint --kube-version, Helm without schemas", args: []string{"lint", small, "--kube-version", "1.35"}},
		{name: "lint --kube-version the umbrella of 200 services, Helm without schemas",
			args: []string{"lint", large, "--kube-version", "1.35"}},
		{name: "unittest 1,000 tests, helm-unittest", args: []string{"unittest", tested}, theirs: []string{tested},
			peer: peertest.HelmUnittest},
		{name: "readme of 500 values, helm-docs", args: []string{"readme", documented},
			theirs: []string{"--chart-search-root", documented, "--dry-run", "--log-level", "warning"}, peer: peertest.HelmDocs},
	}, nil
}

// manyDeployments returns a template with n Deployments.
func manyDeployments(n int) string {
	one := strings.Replace(deployment, `"{{ .Release.Name }}-{{ .Chart.Name }}"`, "web{{ $i }}", 1)
	one = strings.NewReplacer("{{ .Values.replicas }}", "2", "{{ .Values.image.repository }}:{{ .Values.image.tag }}",
		"nginx:1.27", "{{ .Values.port }}", "8080", "{{ .Chart.Name }}", "web{{ $i }}").Replace(one)
	return fmt.Sprintf("{{- range $i := until %d }}\n---\n%s{{- end }}\n", n, one)
}

// patchesOfEach returns a patch for each of the Deployments of manyDeployments.
func patchesOfEach(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- target: {kind: Deployment, name: web%d}\n  patch: |-\n    spec:\n      template:\n        spec:\n"+
			"          containers:\n          - name: main\n            env: [{name: A, value: b}]\n", i)
	}
	return b.String()
}

// manySuites returns suites with tests of a chart as helm create makes it.
func manySuites(dir string, suites, tests int) map[string]string {
	files := map[string]string{}
	for s := range suites {
		var b strings.Builder
		fmt.Fprintf(&b, "suite: suite %d\ntemplates: [templates/deployment.yaml, templates/service.yaml]\ntests:\n", s)
		for t := range tests {
			fmt.Fprintf(&b, `- it: case %[1]d
  set: {replicaCount: %[1]d, image.tag: "v%[2]d", service.port: %[3]d}
  asserts:
  - equal: {path: spec.replicas, value: %[1]d}
    template: templates/deployment.yaml
  - matchRegex: {path: "spec.template.spec.containers[0].image", pattern: "^nginx:v%[2]d$"}
    template: templates/deployment.yaml
  - contains: {path: spec.ports, content: {port: %[3]d}, any: true}
    template: templates/service.yaml
`, t+1, s, 8000+t)
		}
		files[filepath.Join(dir, "tests", fmt.Sprintf("suite%02d_test.yaml", s))] = b.String()
	}
	return files
}

// describedValues returns a values file with n values that helm-docs' comments describe.
func describedValues(n int) string {
	var b strings.Builder
	for i := range n / 5 {
		fmt.Fprintf(&b, "section%d:\n  # -- Whether section %d is enabled\n  enabled: true\n  # -- The name of section %d\n"+
			"  name: \"s%d\"\n  # -- How many there are\n  count: %d\n  # -- What to run\n  args: [a, b]\n"+
			"  nested:\n    # -- (string) A value that has no default\n    x:\n", i, i, i, i, i)
	}
	return b.String()
}
