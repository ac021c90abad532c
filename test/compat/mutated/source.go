// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// Source is a chart from which cases are generated.
type Source struct {
	Name string
	Dir  string

	loaded *chart.Chart
	files  []*chart.File
	text   []byte         // values.yaml
	tree   map[string]any // values of the chart, with those of its subcharts under their names
	paths  [][]string     // paths of the values in tree, including maps
	bools  [][]string     // paths of booleans
	mined  [][]string     // paths in templates
	tags   []string
	subs   []string
}

// Open reads a chart.
func Open(dir string) (*Source, error) {
	s := &Source{Name: filepath.Base(dir), Dir: dir}
	var err error
	if s.loaded, err = loader.Load(dir); err != nil {
		return nil, err
	}
	if s.files, err = loader.Flatten(s.loaded); err != nil {
		return nil, err
	}
	if s.text, err = os.ReadFile(filepath.Join(dir, "values.yaml")); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	s.tree = values(s.loaded)
	s.collect(nil, s.tree)
	s.mine(s.loaded, nil)
	return s, nil
}

// values returns a chart's defaults with those of its subcharts under their names.
func values(c *chart.Chart) map[string]any {
	out := map[string]any{}
	for _, f := range c.Raw {
		if f.Name == "values.yaml" && yaml.Unmarshal(f.Data, &out) != nil {
			out = map[string]any{}
		}
	}
	out, _ = stringKeys(out).(map[string]any)
	for _, sub := range c.Dependencies() {
		for _, name := range names(c, sub) {
			section, _ := out[name].(map[string]any)
			out[name] = over(values(sub), section)
		}
	}
	return out
}

// names returns the names of a chart as a subchart: its own, and its aliases.
func names(c, sub *chart.Chart) []string {
	out := []string{sub.Name()}
	for _, d := range c.Metadata.Dependencies {
		if d.Name == sub.Name() && d.Alias != "" {
			out = append(out, d.Alias)
		}
	}
	return out
}

// stringKeys converts maps with other keys, which YAML allows, to map[string]any.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = stringKeys(e)
		}
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			if k, ok := k.(string); ok {
				out[k] = stringKeys(e)
			}
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = stringKeys(e)
		}
	}
	return v
}

func over(base, top map[string]any) map[string]any {
	for k, v := range top {
		sub, ok1 := v.(map[string]any)
		below, ok2 := base[k].(map[string]any)
		if ok1 && ok2 {
			v = over(below, sub)
		}
		base[k] = v
	}
	return base
}

func (s *Source) collect(path []string, m map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p := append(path[:len(path):len(path)], k)
		s.paths = append(s.paths, p)
		switch v := m[k].(type) {
		case map[string]any:
			s.collect(p, v)
		case bool:
			s.bools = append(s.bools, p)
		}
	}
}

var reference = regexp.MustCompile(`\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// mine finds the paths of values in templates, whether or not values.yaml has them.
func (s *Source) mine(c *chart.Chart, below []string) {
	found := map[string]bool{}
	for _, f := range c.Templates {
		for _, m := range reference.FindAllSubmatch(f.Data, -1) {
			found[strings.TrimPrefix(string(m[1]), ".")] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		path := strings.Split(name, ".")
		if path[0] != chart.DirTemplates {
			s.mined = append(s.mined, append(below[:len(below):len(below)], path...))
		}
	}
	for _, d := range c.Metadata.Dependencies {
		s.tags = append(s.tags, d.Tags...)
		for _, condition := range strings.Split(d.Condition, ",") {
			if condition != "" {
				s.bools = append(s.bools, append(below[:len(below):len(below)], strings.Split(condition, ".")...))
			}
		}
	}
	for _, sub := range c.Dependencies() {
		for _, name := range names(c, sub) {
			s.subs = append(s.subs, name)
			s.mine(sub, append(below[:len(below):len(below)], name))
		}
	}
}

// at returns the value at a path and whether it exists.
func (s *Source) at(path []string) (any, bool) {
	var v any = s.tree
	for _, k := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[k]; !ok {
			return nil, false
		}
	}
	return v, true
}

// defaults returns values.yaml with edits.
func (s *Source) defaults(edits []Edit, w *writer) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(s.text, &doc); err != nil {
		return "", err
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if len(doc.Content) > 0 && doc.Content[0].Kind == yaml.MappingNode {
		root = doc.Content[0]
	}
	r := w.random()
	for _, e := range edits {
		edit(r, root, e.Path, e.Value)
	}
	return encode(root, r)
}
