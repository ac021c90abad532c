// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// workloads creates the charts to measure with in dir.
func workloads(dir, ours, helm string, n sizes) ([]workload, error) {
	list := []workload{{name: "version", args: []string{"version"}}}
	if chart := largest(); chart != "" {
		list = append(list, workload{
			name: "template " + filepath.Base(chart) + " (the corpus's largest)",
			args: []string{"template", "rel", chart, "--namespace", "ns", "--kube-version", "1.36.0"},
		})
	}
	small := filepath.Join(dir, "svcxyz")
	if err := create(helm, small); err != nil {
		return nil, err
	}
	list = append(list, workload{name: "template a small chart, as helm create makes it",
		args: []string{"template", "rel", small}})
	patches := filepath.Join(dir, "patches.yaml")
	if err := os.WriteFile(patches, []byte(twentyPatches()), 0o644); err != nil {
		return nil, err
	}
	list = append(list, workload{name: "the same with 20 patches, Helm without", args: []string{"template", "rel", small},
		own: []string{"--patch", patches}})
	for _, u := range []struct {
		services int
		library  bool
	}{{50, false}, {200, false}, {1000, false}, {200, true}} {
		name := fmt.Sprintf("template umbrella of %d services", u.services)
		chart := filepath.Join(dir, fmt.Sprintf("umbrella%d", u.services))
		if u.library {
			name, chart = name+", each with a copy of a library", chart+"library"
		}
		if err := umbrella(chart, small, u.services, u.library); err != nil {
			return nil, err
		}
		list = append(list, workload{name: name, args: []string{"template", "rel", chart}})
	}
	written, err := chartWorkloads(dir, small, filepath.Join(dir, "umbrella200"))
	if err != nil {
		return nil, err
	}
	list = append(list, written...)
	shared := filepath.Join(dir, "shared64")
	if err := sharedLibrary(shared, 64); err != nil {
		return nil, err
	}
	list = append(list, workload{name: "template 64 charts sharing a library, tpl everywhere",
		args: []string{"template", "rel", shared}})
	scripts, err := scriptWorkloads(dir)
	if err != nil {
		return nil, err
	}
	list = append(list, scripts...)
	fetched, err := repositoryWorkloads(dir)
	if err != nil {
		return nil, err
	}
	list = append(list, fetched...)
	pushed, err := registryWorkloads(dir)
	if err != nil {
		return nil, err
	}
	list = append(list, pushed...)
	inCluster, err := clusterWorkloads(dir, ours, helm, n)
	return append(list, inCluster...), err
}

// create creates a chart with helm.
func create(helm, chart string) error {
	return quiet(helm, filepath.Dir(chart), []string{"create", chart})
}

// umbrella creates a chart with n subcharts, each a copy of the chart at base with a few hundred
// lines of values, as in large monorepos. With withLibrary, each has a copy of the same library.
func umbrella(dir, base string, n int, withLibrary bool) error {
	var settings strings.Builder
	settings.WriteString("settings:\n")
	for j := range 60 {
		fmt.Fprintf(&settings, "  section%d:\n    enabled: true\n    name: \"s%d\"\n    list: [a, b, c]\n"+
			"    nested: {x: %d, y: \"%d\", z: {q: 1}}\n", j, j, j, j)
	}
	var chart, vals strings.Builder
	chart.WriteString("apiVersion: v2\nname: umbrella\nversion: 0.1.0\ndependencies:\n")
	vals.WriteString("global: {env: prod}\n")
	for i := range n {
		name := fmt.Sprintf("svc%04d", i)
		to := filepath.Join(dir, "charts", name)
		if err := clone(base, to, filepath.Base(base), name); err != nil {
			return err
		}
		if withLibrary {
			if err := write(library(filepath.Join(to, "charts", "lib"))); err != nil {
				return err
			}
		}
		old, err := os.ReadFile(filepath.Join(to, "values.yaml"))
		if err != nil {
			return err
		}
		cm := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"%s.fullname\""+
			" . }}-settings\ndata:\n  settings.yaml: |\n{{ toYaml .Values.settings | indent 4 }}\n", name)
		if err := write(map[string]string{
			filepath.Join(to, "values.yaml"):       string(old) + settings.String(),
			filepath.Join(to, "templates/cm.yaml"): cm,
		}); err != nil {
			return err
		}
		fmt.Fprintf(&chart, "- {name: %s, version: 0.1.0, condition: %s.enabled, repository: \"\"}\n", name, name)
		fmt.Fprintf(&vals, "%s:\n  enabled: true\n  replicaCount: %d\n", name, i%5+1)
	}
	return write(map[string]string{filepath.Join(dir, "Chart.yaml"): chart.String(), filepath.Join(dir,
		"values.yaml"): vals.String()})
}

// sharedLibrary creates an umbrella chart of n charts, each with its own copy of a library with 150
// definitions, whose values contain templates.
func sharedLibrary(dir string, n int) error {
	var body strings.Builder
	for i := range 150 {
		fmt.Fprintf(&body, "  {{- include \"lib.part%d\" . | nindent 2 }}\n", i)
	}
	files := map[string]string{filepath.Join(dir, "Chart.yaml"): "apiVersion: v2\nname: shared\nversion: 0.1.0\n"}
	for i := range n {
		name := fmt.Sprintf("app%02d", i)
		path := func(parts ...string) string {
			return filepath.Join(append([]string{dir, "charts", name}, parts...)...)
		}
		files[path("Chart.yaml")] = "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n"
		files[path("values.yaml")] =
			"text: '{{ .Release.Name }} in {{ .Release.Namespace }} has {{ .Values.count }}'\ncount: 3\n"
		files[path("templates", "cm.yaml")] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"" +
			"lib.name\" . }}\ndata:\n" + body.String()
		maps.Copy(files, library(path("charts", "lib")))
	}
	return write(files)
}

// library returns the files of a library chart with 150 definitions.
func library(dir string) map[string]string {
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, "{{- define \"lib.part%d\" -}}\npart%d: {{ tpl (.Values.text | default \"x\") . | quote }}\n"+
			"name%d: {{ include \"lib.name\" . }}\n{{- end }}\n", i, i, i)
	}
	b.WriteString("{{- define \"lib.name\" -}}{{ tpl \"{{ .Release.Name }}-{{ .Chart.Name }}\"" +
		" . | trunc 63 }}{{- end }}\n")
	return map[string]string{
		filepath.Join(dir, "Chart.yaml"):            "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
		filepath.Join(dir, "templates", "_lib.tpl"): b.String(),
	}
}

// manyObjects creates a chart with n small objects of four kinds. Five of eight depend on the value
// v.
func manyObjects(dir string, n int) error {
	return write(map[string]string{
		filepath.Join(dir, "Chart.yaml"):  "apiVersion: v2\nname: objects\nversion: 0.1.0\n",
		filepath.Join(dir, "values.yaml"): "v: 0\n",
		filepath.Join(dir, "templates", "all.yaml"): fmt.Sprintf(`{{- range $i := until %d }}
{{- $meta := dict "name" (printf "%%s-%%d" $.Release.Name $i) }}
{{- if lt $i %d }}{{ $_ := set $meta "annotations" (dict "v" (toString $.Values.v)) }}{{ end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {{ toJson $meta }}
data: {key: "value {{ $i }}"}
---
apiVersion: v1
kind: Secret
metadata: {{ toJson $meta }}
stringData: {key: "value {{ $i }}"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{ toJson $meta }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{ toJson $meta }}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
{{- end }}
`, n/4, n*5/32),
	})
}

// twentyPatches returns patches of the chart that helm create makes.
func twentyPatches() string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "- target: {kind: Deployment}\n  patch: |-\n    spec:\n      template:\n        metadata:\n"+
			"          annotations:\n            a%d: b\n", i)
		fmt.Fprintf(&b, "- target: {kind: Service}\n  patch: |-\n    - op: add\n      path: /metadata/labels/l%d\n"+
			"      value: b\n", i)
	}
	return b.String()
}

// largest returns the chart of the corpus with the largest output of Helm, or "" if there is no
// corpus.
func largest() string {
	files, err := filepath.Glob("../../shared/corpus/expected/*.yaml")
	if err != nil {
		return ""
	}
	var best string
	var size int64
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Size() > size {
			best, size = f, info.Size()
		}
	}
	if best == "" {
		return ""
	}
	return filepath.Join("../../shared/corpus/charts", strings.TrimSuffix(filepath.Base(best), ".yaml"))
}

func clone(from, to, old, replacement string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return write(map[string]string{filepath.Join(to, below): strings.ReplaceAll(string(text), old, replacement)})
	})
}

func write(files map[string]string) error {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
