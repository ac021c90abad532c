// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// Public charts rarely use the difficult features of dependencies: conditions, tags, aliases,
// imported values, and versions that match no entry. Umbrella charts of them do.

// The keys to which an umbrella imports values, and those of its subcharts from which it
// imports. No template reads them, so that decisions about imported values affect only the
// values that an umbrella prints.
const (
	ImportedBelow = "imported"
	ExportedBelow = "exported"
)

// Umbrellas writes count charts to dir that have some of the sources as subcharts.
func Umbrellas(dir string, sources []*Source, count int) ([]*Source, error) {
	r := rand.New(rand.NewPCG(1, 2))
	var fit []*Source
	for _, s := range sources {
		if out := Ours(s, &call{Name: "rel", Namespace: "ns", KubeVersion: "1.36.0"}); out.Error == "" &&
			len(s.tree) > 0 && s.loaded.Name() != "tags" {
			fit = append(fit, s)
		}
	}
	var out []*Source
	for i := range count {
		path := filepath.Join(dir, fmt.Sprintf("umbrella-%d", i))
		if err := umbrella(r, path, fit); err != nil {
			return nil, err
		}
		s, err := Open(path)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func umbrella(r *rand.Rand, target string, fit []*Source) error {
	meta := &chart.Metadata{APIVersion: "v2", Name: filepath.Base(target), Version: "0.1.0"}
	vals := map[string]any{
		"global": map[string]any{"on": true}, "tags": map[string]any{"front": r.IntN(2) > 0},
		ImportedBelow: map[string]any{"own": 1, "shared": "parent", "deep": map[string]any{"shared": "parent"}},
	}
	for _, i := range r.Perm(len(fit))[:2+r.IntN(3)] {
		sub := fit[i]
		if err := addSubchart(filepath.Join(target, chart.DirCharts, sub.loaded.Name()), sub); err != nil {
			return err
		}
		if r.IntN(8) == 0 {
			continue // in charts/ but not in Chart.yaml
		}
		d := dependency(r, sub)
		subVals := map[string]any{"enabled": r.IntN(4) > 0}
		for range r.IntN(3) {
			if path := sub.paths[r.IntN(len(sub.paths))]; path[0] != "global" {
				v, _ := sub.at(path)
				subVals = set(subVals, path, clone(v))
			}
		}
		key := d.Name
		if d.Alias != "" {
			key = d.Alias
		}
		vals[key] = subVals
		meta.Dependencies = append(meta.Dependencies, d)
		if r.IntN(4) == 0 { // the same chart twice
			twin := *d
			twin.Alias = "twin" + strings.ReplaceAll(d.Name, "-", "")
			twin.Condition = twin.Alias + ".enabled"
			meta.Dependencies = append(meta.Dependencies, &twin)
		}
	}
	return writeUmbrella(target, meta, vals)
}

// addSubchart copies a chart and adds values to import that no template reads.
func addSubchart(path string, sub *Source) error {
	if err := os.CopyFS(path, os.DirFS(sub.Dir)); err != nil {
		return err
	}
	name := sub.loaded.Name()
	text := fmt.Appendf(slices.Clone(sub.text), "\n%s: {by: %q, shared: %q, table: {%q: 1}, none: null, list: [%q]}\n"+
		"exports: {data: {%s: {exports: %q, kept: {%q: 2}}}}\n", ExportedBelow, name, name, name, name,
		ImportedBelow, name, name)
	return os.WriteFile(filepath.Join(path, "values.yaml"), text, 0o644)
}

// dependency returns an entry of Chart.yaml for a chart.
func dependency(r *rand.Rand, sub *Source) *chart.Dependency {
	d := &chart.Dependency{Name: sub.loaded.Name(), Version: "*", Repository: "https://charts.example.com"}
	switch r.IntN(8) {
	case 0, 1:
		d.Version = sub.loaded.Version()
	case 2, 3:
		d.Version = ">=0.0.0-0"
	case 4:
		d.Version = "99.0.0" // matches no chart in charts/
	}
	key := d.Name
	if r.IntN(3) == 0 {
		d.Alias = "al" + strings.ReplaceAll(d.Name, "-", "")
		key = d.Alias
	}
	switch r.IntN(4) {
	case 0:
		d.Condition = key + ".enabled"
	case 1:
		d.Condition = "global.on," + key + ".enabled"
	case 2:
		d.Condition = "absent.enabled," + key + ".enabled"
	}
	if r.IntN(2) == 0 {
		d.Tags = []string{[]string{"front", "back"}[r.IntN(2)]}
	}
	for range r.IntN(4) {
		d.ImportValues = append(d.ImportValues, []any{
			"data",
			map[string]any{"child": ExportedBelow, "parent": ImportedBelow},
			map[string]any{"child": ExportedBelow, "parent": ImportedBelow + ".deep"},
			map[string]any{"child": ExportedBelow + ".table", "parent": ImportedBelow + ".deep.table"},
		}[r.IntN(4)])
	}
	return d
}

// shownValues is a template that prints its values.
const shownValues = `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-values"}
values: {{ toJson .Values }}
subcharts: {{ keys .Subcharts | sortAlpha | toJson }}
`

func writeUmbrella(path string, meta *chart.Metadata, vals map[string]any) error {
	if err := os.MkdirAll(filepath.Join(path, chart.DirTemplates), 0o755); err != nil {
		return err
	}
	about, err := yaml.Marshal(map[string]any{
		"apiVersion": meta.APIVersion, "name": meta.Name, "version": meta.Version,
		"dependencies": entries(meta.Dependencies),
	})
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(vals)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"Chart.yaml": about, "values.yaml": text, filepath.Join(chart.DirTemplates, "values.yaml"): []byte(shownValues),
	} {
		if err := os.WriteFile(filepath.Join(path, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func entries(deps []*chart.Dependency) []any {
	var out []any
	for _, d := range deps {
		e := map[string]any{"name": d.Name, "version": d.Version, "repository": d.Repository}
		if d.Alias != "" {
			e["alias"] = d.Alias
		}
		if d.Condition != "" {
			e["condition"] = d.Condition
		}
		if d.Tags != nil {
			e["tags"] = d.Tags
		}
		if d.ImportValues != nil {
			e["import-values"] = d.ImportValues
		}
		out = append(out, e)
	}
	return out
}
