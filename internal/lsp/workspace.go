// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// rootOf returns the directory of the chart to which a file belongs, or "": for a file of a
// subchart that of the chart at the top.
func rootOf(file string) string {
	found := ""
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		switch {
		case isFile(filepath.Join(dir, chart.FileMetadata)):
			found = dir
			if base := filepath.Base(filepath.Dir(dir)); base != chart.DirCharts && base != chart.DirLibrary {
				return found
			}
		case found != "" && !isCharts(dir):
			return found
		}
		if filepath.Dir(dir) == dir {
			return found
		}
	}
}

func isCharts(dir string) bool {
	base := filepath.Base(dir)
	return base == chart.DirCharts || base == chart.DirLibrary
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// tree is a chart as it is in the editor: its files with what is not saved.
type tree struct {
	dir     string
	chart   *chart.Chart   // as loaded; nil if it cannot be
	values  map[string]any // final values, of the root
	origins *values.Origins
	schemas map[*chart.Chart]map[string]any
	texts   map[string]*text // by the path in the tree
	scans   map[string]*scan
	request action.LintRequest
}

// load loads a tree. edited are the open documents below dir, by their paths in the tree.
func load(l loader.Loader, dir string, edited map[string]string) (*tree, error) {
	overlay := make(map[string][]byte, len(edited))
	for name, data := range edited {
		overlay[name] = []byte(data)
	}
	req, err := action.LoadEdited(l, dir, overlay)
	if err != nil {
		return nil, err
	}
	t := &tree{dir: dir, chart: req.Chart, request: req, schemas: map[*chart.Chart]map[string]any{},
		texts: map[string]*text{}, scans: map[string]*scan{}}
	if t.chart == nil {
		t.chart = req.Repaired
	}
	for _, f := range req.Files {
		t.texts[f.Name] = newText(string(f.Data))
	}
	if t.chart == nil {
		return t, nil
	}
	if res, err := values.Resolve(t.chart, nil); err == nil {
		t.values = values.Rounded(res.Values)
		t.origins, _ = values.Explain(t.chart, values.Options{}, nil)
	} else {
		t.values = t.chart.Values
	}
	return t, nil
}

// scan returns what is known about a template of the tree.
func (t *tree) scan(name string) *scan {
	if t.scans[name] == nil {
		t.scans[name] = scanTemplate(t.texts[name].data)
	}
	return t.scans[name]
}

// templates returns the names of all files that are templates, sorted.
func (t *tree) templates() []string {
	var out []string
	for name := range t.texts {
		if isTemplate(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func isTemplate(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if path.Base(dir) == chart.DirTemplates {
			return true
		}
	}
	return false
}

// chartOf returns the chart to which a file of the tree belongs, and its directory in the tree.
func (t *tree) chartOf(name string) (c *chart.Chart, dir string) {
	c = t.chart
	for rest := name; ; {
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) < 3 || parts[0] != chart.DirCharts && parts[0] != chart.DirLibrary || c == nil {
			return c, dir
		}
		dir = path.Join(dir, parts[0], parts[1])
		c, rest = subchart(c, parts[1]), parts[2]
	}
}

// subchart returns the chart of c in a directory of charts/ or library/.
func subchart(c *chart.Chart, dir string) *chart.Chart {
	for _, sub := range c.Dependencies() {
		if sub.Name() == dir || sub.Unaliased == dir {
			return sub
		}
	}
	return nil
}

// valuesPath returns the path in the root's values of a path in those of c.
func valuesPath(c *chart.Chart, path []string) []string {
	var out []string
	for ; c != nil && c.Parent() != nil; c = c.Parent() {
		out = append(out, c.Name())
	}
	slices.Reverse(out)
	return append(out, path...)
}

// at returns the value at a path; "*" is any item.
func at(v any, path []string) (any, bool) {
	for _, key := range path {
		switch of := v.(type) {
		case map[string]any:
			item, ok := of[key]
			if !ok && key == each && len(of) > 0 {
				item, ok = of[slices.Sorted(maps.Keys(of))[0]], true
			}
			if !ok {
				return nil, false
			}
			v = item
		case []any:
			if key != each || len(of) == 0 {
				return nil, false
			}
			v = of[0]
		default:
			return nil, false
		}
	}
	return v, true
}

// maxDerived is the size of the largest values.yaml of which a schema is derived, in bytes: an editor asks at every
// key, and a file of 250 KB takes a second. Of a larger one only the schema that the chart has is known.
const maxDerived = 256 << 10

// schemaOf returns the schema of a chart, with what its values and their comments say.
func (t *tree) schemaOf(c *chart.Chart) map[string]any {
	if s, ok := t.schemas[c]; ok {
		return s
	}
	var text []byte
	if f := c.File(chart.FileValues); f != nil {
		text = f.Data
	}
	existing, _ := schema.Of(c)
	var out map[string]any
	if len(text) > maxDerived {
		text = nil
	}
	if derived, err := (schema.Options{Chart: c}).Derive(text, existing); err == nil {
		if yaml.UnmarshalV3(derived, &out) != nil {
			out = nil
		}
	}
	t.schemas[c] = out
	return out
}

// schemaAt returns the schema of a path, or nil.
func schemaAt(root map[string]any, path []string) map[string]any {
	s := resolved(root, root)
	for _, key := range path {
		if s == nil {
			return nil
		}
		properties, _ := s["properties"].(map[string]any)
		next, _ := properties[key].(map[string]any)
		if next == nil && key == each {
			if next, _ = s["items"].(map[string]any); next == nil {
				next, _ = s["additionalProperties"].(map[string]any)
			}
		}
		s = resolved(root, next)
	}
	return s
}

// maxReferences limits a chain of "$ref".
const maxReferences = 20

// resolved follows the references of a schema inside its file.
func resolved(root, s map[string]any) map[string]any {
	for range maxReferences {
		ref, ok := s["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#/") {
			return s
		}
		var v any = root
		for key := range strings.SplitSeq(ref[2:], "/") {
			m, _ := v.(map[string]any)
			v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		}
		s, _ = v.(map[string]any)
	}
	return s
}

// lint returns the findings about the tree.
func (t *tree) lint(ctx context.Context, verb action.Lint, namespace string) ([]finding, error) {
	req := t.request
	req.Namespace = namespace
	found, err := verb.Run(ctx, req)
	if err != nil {
		return nil, err
	}
	out := make([]finding, 0, len(found))
	for _, f := range found {
		out = append(out, findingOf(f))
	}
	return out, nil
}
